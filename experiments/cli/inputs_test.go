package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// changed is features(600) with each array of the name put through do.
func changed(name string, do func(*mat.Dense)) []data.Array {
	arrays := features(600)
	for _, a := range arrays {
		if strings.HasSuffix(a.Name, name) {
			do(a.Value.(*mat.Dense))
		}
	}
	return arrays
}

func softmax(m *mat.Dense) {
	n, _ := m.Dims()
	for i := range n {
		row := m.RawRowView(i)
		floats.AddConst(-floats.LogSumExp(row), row)
		for j, v := range row {
			row[j] = math.Exp(v)
		}
	}
}

func exchange(a, b int) func(*mat.Dense) {
	return func(m *mat.Dense) {
		n, _ := m.Dims()
		for i := range n {
			row := m.RawRowView(i)
			row[a], row[b] = row[b], row[a]
		}
	}
}

// TestProbabilitiesInThePlaceOfLogits: their logarithms are taken, which is said; the model
// refuses the other.
func TestProbabilitiesInThePlaceOfLogits(t *testing.T) {
	dir := t.TempDir()
	logits, probabilities := write(t, features(600)), write(t, changed("_logits", softmax))
	mixed, logs := write(t, changed("test_logits", softmax)), write(t, changed("_logits", func(m *mat.Dense) {
		softmax(m)
		m.Apply(func(_, _ int, p float64) float64 { return math.Log(math.Max(p, 0x1p-126)) }, m)
	}))
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"fit", "--in", logits, "--out", at("logits")}, 0, ""},
		{[]string{"fit", "--in", logs, "--out", at("logs")}, 0, ""},
		{[]string{"fit", "--in", probabilities, "--out", at("probabilities")}, 0, "holds probabilities, not logits: their logarithms are taken (--logits if they are logits)"},
		{[]string{"fit", "--in", probabilities, "--probabilities", "--out", at("told")}, 0, "their logarithms are taken"},
		{[]string{"fit", "--in", probabilities, "--logits", "--out", at("as-logits")}, 0, ""},
		{[]string{"fit", "--in", mixed, "--out", at("refused")}, exitUsage, "cal_logits holds logits and test_logits holds probabilities; hand over the same of all rows, or say which by --scores"},
		{[]string{"fit", "--in", logits, "--probabilities", "--out", at("refused")}, exitUsage, "which is no probability; hand over probabilities, or logits alone"},
		{[]string{"apply", "--model", at("logits"), "--in", probabilities, "--out", at("refused.npz")}, exitUsage, "test_logits holds probabilities and the model was fitted on logits; hand over logits, or fit on probabilities (--logits if these are logits)"},
		{[]string{"apply", "--model", at("logits"), "--in", probabilities, "--out", at("refused.parquet")}, exitUsage, "test_logits holds probabilities and the model was fitted on logits"},
		{[]string{"apply", "--model", at("logits"), "--in", probabilities, "--logits", "--accept-shift", "--out", at("forced.npz")}, 0, "look scaled otherwise"},
		{[]string{"apply", "--model", at("probabilities"), "--in", logits, "--out", at("refused.npz")}, exitUsage, "test_logits holds logits and the model was fitted on probabilities; hand over probabilities, or fit on logits"},
		{[]string{"apply", "--model", at("probabilities"), "--in", probabilities, "--out", at("a.npz")}, 0, ""},
		{[]string{"apply", "--model", at("probabilities"), "--in", probabilities, "--out", at("a.parquet")}, 0, ""},
		{[]string{"apply", "--model", at("logs"), "--in", logs, "--out", at("b.npz")}, 0, ""},
		{[]string{"compare", "--in", probabilities, "--methods", "nc,ts", "--seeds", "1", "--out", at("compare")}, 0, "holds probabilities, not logits: their logarithms are taken"},
	} {
		if c.args[0] == "fit" {
			c.args = append(c.args, "--method", "ts")
		}
		code, _, stderr := calibra(t, c.args...)
		if code != c.code || !strings.Contains(stderr, c.want) || c.want == "" && strings.Contains(stderr, "probabilities") {
			t.Errorf("%v exits %d: %s\nwant %s", c.args, code, stderr, c.want)
		}
	}
	if left, _ := filepath.Glob(at("refused*")); left != nil {
		t.Errorf("what was refused left %v", left)
	}
	var said [3]*mat.Dense
	for i, name := range []string{"a.npz", "a.parquet", "b.npz"} {
		p, err := data.ReadPredictions(at(name))
		if err != nil {
			t.Fatal(err)
		}
		said[i] = p.LogProbs
	}
	if !mat.EqualApprox(said[0], said[1], 1e-12) || !mat.EqualApprox(said[0], said[2], 1e-12) { // the sums differ in the last digit
		t.Error("probabilities and their logarithms are calibrated otherwise")
	}
}

// TestColumnsInAnotherOrder stop fit and apply with a sentence that names them.
func TestColumnsInAnotherOrder(t *testing.T) {
	dir := t.TempDir()
	model, clean := filepath.Join(dir, "model"), write(t, features(600))
	if code, _, stderr := calibra(t, "fit", "--in", clean, "--method", "ts", "--out", model); code != 0 || strings.Contains(stderr, "otherwise") {
		t.Fatalf("fit exits %d: %s", code, stderr)
	}
	old := filepath.Join(dir, "old")
	forget(t, model, old)
	for _, c := range []struct {
		name string
		do   func(*mat.Dense)
		want string
	}{
		{"test_features", exchange(0, 2), "features 0 and 2 look exchanged; put the columns of features into the order that the model was fitted on"},
		{"test_logits", exchange(0, 1), "logits 0 and 1 look exchanged; put the columns of logits into the order that the model was fitted on (--accept-shift if they are right)"},
		{"test_features", func(m *mat.Dense) { m.Scale(40, m) }, "the features look scaled otherwise: the spread of the middle column is"},
	} {
		wrong := write(t, changed(c.name, c.do))
		for _, command := range [][]string{
			{"fit", "--method", "ts", "--in", wrong, "--out", filepath.Join(dir, "refused")},
			{"apply", "--model", model, "--in", wrong, "--out", filepath.Join(dir, "refused.npz")},
			{"apply", "--model", model, "--in", wrong, "--out", filepath.Join(dir, "refused.parquet")},
			{"compare", "--methods", "nc", "--seeds", "1", "--in", wrong, "--out", filepath.Join(dir, "refused-compare")},
			{"study", "main", "--methods", "nc", "--seeds", "1", "--data", wrong, "--out", filepath.Join(dir, "refused-study")},
		} {
			if code, _, stderr := calibra(t, command...); code != exitUsage || !strings.Contains(stderr, c.want) {
				t.Errorf("%s exits %d: %s\nwant %s", command[0], code, stderr, c.want)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "refused*")); left != nil {
				t.Fatalf("what was refused left %v", left)
			}
			command[len(command)-1] = strings.Replace(command[len(command)-1], "refused", "accepted", 1)
			code, _, stderr := calibra(t, append(command, "--accept-shift")...)
			if !strings.Contains(stderr, "warning: ") || code != 0 && (code != exitCheck || !strings.Contains(stderr, "the labels seem to number")) {
				t.Errorf("%s --accept-shift exits %d: %s", command[0], code, stderr)
			}
			if command[0] == "fit" {
				said, _, _ := strings.Cut(c.want, " (")
				if text, err := os.ReadFile(filepath.Join(dir, "accepted", "metrics.json")); err != nil || !strings.Contains(string(text), "accepted_shift") || !strings.Contains(string(text), said) {
					t.Errorf("metrics.json of what was accepted is %s, %v; want %s", text, err, said)
				}
			}
		}
		if code, _, stderr := calibra(t, "apply", "--model", old, "--in", wrong, "--out", filepath.Join(dir, "old.npz")); code != 0 && code != exitCheck {
			t.Errorf("an old model: apply exits %d: %s", code, stderr)
		}
	}
}

// forget copies the model of a run without the fingerprint of its rows.
func forget(t *testing.T, from, to string) {
	t.Helper()
	file, err := layers.ReadModel(filepath.Join(from, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	file.Profile.Fingerprint, file.Scores = nil, ""
	if err := os.Mkdir(to, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := file.Write(filepath.Join(to, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
}

// TestDriftAndTrainingRowsAreReported on stderr, in --json and in metrics.json.
func TestDriftAndTrainingRowsAreReported(t *testing.T) {
	drifted := write(t, changed("test_features", func(m *mat.Dense) {
		n, _ := m.Dims()
		for i := range n {
			m.Set(i, 4, m.At(i, 4)+1)
		}
	}))
	learned := features(600)
	labels := learned[2].Value.([]int)
	for i, y := range labels { // the network knows these rows by heart
		logits := learned[1].Value.(*mat.Dense)
		logits.Set(i, y, floats.Max(logits.RawRowView(i))+1)
	}
	trained := write(t, learned)
	for _, c := range []struct{ in, want, key string }{
		{drifted, "the features lie otherwise than those of the fit in 1 of 8 columns, most in column 4: ", "drift"},
		{trained, "the calibration rows look like rows that the classifier was trained on: it is right on 100.0 % of them and on ", "training_rows"},
	} {
		out := filepath.Join(t.TempDir(), "run")
		code, stdout, stderr := calibra(t, "fit", "--in", c.in, "--method", "ts", "--json", "--out", out)
		if code != 0 || !strings.Contains(stderr, "warning: "+c.in+": "+c.want) {
			t.Errorf("fit exits %d: %s\nwant %s", code, stderr, c.want)
		}
		for _, text := range []string{stdout, readText(t, out, "metrics.json")} {
			var said map[string]json.RawMessage
			if err := json.Unmarshal([]byte(text), &said); err != nil || said[c.key] == nil {
				t.Errorf("no %s in %s (%v)", c.key, text, err)
			}
		}
	}
	for _, door := range [][]string{
		{"fit", "--method", "ts", "--out", filepath.Join(t.TempDir(), "run")},
		{"evaluate", "--folds", "0", "--redraws", "0"},
		{"diagnose", "--out", t.TempDir()},
	} {
		_, stdout, _ := calibra(t, append(door, "--in", trained)...)
		said := strings.Join(strings.Fields(stdout), " ")
		if !strings.HasPrefix(said, "Check the rows.") || !strings.Contains(said, "calibrate on rows that it has not seen") {
			t.Errorf("the result of %s does not say it: %s", door[0], stdout)
		}
	}
}
