package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// caseFiles is the folder of inputs on which programs give wrong numbers. Its README says what is right and how near;
// right.py there computes it from the files alone.
const caseFiles = "../../../shared/cases"

// The README's tolerances.
const (
	nearNLL    = 1e-5 // NLL, 1/T and probabilities beside scipy and scikit-learn
	nearOracle = 1e-3
	alike      = 1e-9 // files that hold the same numbers
	alikeMasks = 1e-6 // files whose masks are of other depths
)

// right are numbers of right.py: those it prints under a name, by their keys.
type right map[string]map[string]any

// number is the value of a key; the test ends where there is none.
func (r right) number(t *testing.T, name, key string) float64 {
	t.Helper()
	v, ok := r[name][key].(float64)
	if !ok {
		t.Fatalf("right.py says nothing of %s, %s", name, key)
	}
	return v
}

// casePython runs a program in Python, which has scipy, scikit-learn and ONNX Runtime, and gives what it prints. The
// test is left out where there is none.
func casePython(t *testing.T, program string, args ...string) []byte {
	t.Helper()
	python := os.Getenv("CALIBRA_PYTHON")
	if python == "" {
		t.Skip("right values are computed in Python: set CALIBRA_PYTHON to one with numpy, scikit-learn, pyarrow and onnxruntime")
	}
	command := exec.Command(python, append([]string{"-B", "-c", program}, args...)...)
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, &stderr)
	}
	return out
}

// rightValues runs right.py, whose say is handed numbers with all their digits.
func rightValues(t *testing.T) right {
	t.Helper()
	out := casePython(t, `
import json, sys
sys.path.insert(0, sys.argv[1])
import right
said = {}
right.say = lambda name, values, note="": said.setdefault(name.strip() if note != "labels in the alphabet" else name + ", alphabet", values)
for k in range(1, 11):
    getattr(right, "point%d" % k)()
f = right.load("votes-float64.npz")
said["isotonic"] = dict(probs=right.isotonic(f["cal_logits"], f["cal_labels"], f["test_logits"]).tolist())
print(json.dumps(said, default=lambda v: v.item()))
`, caseFiles)
	var r right
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %.300s", err, out)
	}
	return r
}

// needCases leaves the test out where the files are not there.
func needCases(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(caseFiles); err != nil {
		t.Skipf("the cases are not there: %v", err)
	}
}

// ran is what became of a command.
type ran struct {
	code           int
	stdout, stderr string
	out            string // its folder or file
}

// casesOf runs commands once each, for all that ask for them.
type casesOf struct {
	dir  string
	runs map[string]*ran
}

// run runs calibra with these words, and with --json and --out where the command has them.
func (c *casesOf) run(t *testing.T, words ...string) *ran {
	t.Helper()
	key := strings.Join(words, " ")
	if r := c.runs[key]; r != nil {
		return r
	}
	out := filepath.Join(c.dir, fmt.Sprint(len(c.runs)))
	if words[0] == "apply" {
		out += ".npz"
	}
	args := slices.Clone(words)
	switch words[0] {
	case "fit", "diagnose":
		args = append(args, "--json", "--out", out)
	case "evaluate":
		args = append(args, "--json")
	case "apply":
		args = append(args, "--out", out)
	}
	r := &ran{out: out}
	r.code, r.stdout, r.stderr = calibra(t, args...)
	c.runs[key] = r
	return r
}

// fit fits a method to a file of the cases, by the defaults.
func (c *casesOf) fit(t *testing.T, file, method string, flags ...string) *ran {
	t.Helper()
	return c.run(t, append([]string{"fit", "--in", filepath.Join(caseFiles, file), "--method", method}, flags...)...)
}

// ok ends the test unless the command did what it was asked.
func (r *ran) ok(t *testing.T) *ran {
	t.Helper()
	if r.code != 0 {
		t.Fatalf("exits %d: %s", r.code, r.stderr)
	}
	return r
}

// refuses holds a refusal to be one of the user's mistakes, in a sentence with these words.
func (r *ran) refuses(t *testing.T, words ...string) {
	t.Helper()
	if r.code != exitUsage {
		t.Fatalf("exits %d: %s", r.code, r.stderr)
	}
	r.says(t, words...)
}

// says holds the messages to have these words, in any case; one that begins with "no " must not be there.
func (r *ran) says(t *testing.T, words ...string) {
	t.Helper()
	said := strings.ToLower(r.stderr)
	for _, w := range words {
		not, absent := strings.CutPrefix(w, "no ")
		if absent == strings.Contains(said, strings.ToLower(not)) {
			t.Errorf("says %q, where %q is right", r.stderr, w)
		}
	}
}

// result is a value of the fit's results.
func (r *ran) result(t *testing.T, key string) float64 {
	t.Helper()
	var printed struct{ Results map[string]any }
	if err := json.Unmarshal([]byte(r.ok(t).stdout), &printed); err != nil {
		t.Fatal(err)
	}
	v, ok := printed.Results[key].(float64)
	if !ok {
		t.Fatalf("the results have no %s: %v", key, printed.Results)
	}
	return v
}

// sharpness is 1/T of a fitted ts.
func (r *ran) sharpness(t *testing.T) float64 {
	t.Helper()
	file, err := layers.ReadModel(filepath.Join(r.ok(t).out, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return math.Exp(-file.State.Weights.Float64s("temperature/log")[0])
}

// predictions are those that the command wrote.
func (r *ran) predictions(t *testing.T) *data.Predictions {
	t.Helper()
	path := r.ok(t).out
	if !strings.HasSuffix(path, ".npz") {
		path = filepath.Join(path, "predictions.npz")
	}
	p, err := data.ReadPredictions(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// probabilities are those of the predictions.
func (r *ran) probabilities(t *testing.T) *mat.Dense {
	t.Helper()
	p := mat.DenseCopyOf(r.predictions(t).LogProbs)
	p.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, p)
	return p
}

// furthest is the largest difference of two matrices.
func furthest(t *testing.T, a, b *mat.Dense) float64 {
	t.Helper()
	n, m := a.Dims()
	if k, l := b.Dims(); k != n || l != m {
		t.Fatalf("%d×%d beside %d×%d", n, m, k, l)
	}
	var d mat.Dense
	d.Sub(a, b)
	return math.Max(mat.Max(&d), -mat.Min(&d))
}

// isNear holds a number to the right one.
func isNear(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %.6f, not %.6f", what, got, want)
	}
}

// rightFit is a fit whose numbers are computed by right.py.
type rightFit struct {
	file, method string
	flags        []string
	name, key    string // in right.py, of the NLL
}

// rightFits are the rows of the README with numbers of scipy and scikit-learn.
var rightFits = []rightFit{
	{"weights-none.npz", "ts", nil, "weights-none", "ts_nll"},
	{"weights-none.npz", "nc", nil, "weights-none", "nc_nll"},
	{"weights-two.npz", "ts", nil, "weights-two", "ts_nll"},
	{"weights-real-two-and-a-half.npz", "ts", nil, "weights-real-two-and-a-half", "ts_nll"},
	{"rows-twice.npz", "ts", nil, "rows-twice", "ts_nll"},
	{"weights-real.npz", "ts", nil, "weights-real", "ts_nll"},
	{"weights-sum-to-n.npz", "ts", nil, "weights-sum-to-n", "ts_nll"},
	{"mask-1000-below.npz", "ts", nil, "mask-1000-below", "ts_nll"},
	{"mask-1000-below.npz", "nc", nil, "mask-1000-below", "nc_nll"},
	{"mask-1e4.npz", "ts", nil, "mask-1e4", "ts_nll"},
	{"mask-1e20.npz", "ts", nil, "mask-1e20", "ts_nll"},
	{"mask-float32-min.npz", "ts", nil, "mask-float32-min", "ts_nll"},
	{"mask-one-entry.npz", "ts", nil, "mask-one-entry", "ts_nll"},
	{"mask-one-entry.npz", "nc", nil, "mask-one-entry", "nc_nll"},
	{"mask-class-always.npz", "ts", nil, "mask-class-always", "ts_nll"},
	{"logits.npz", "ts", []string{"--logits"}, "logits", "ts_nll"},
	{"logits-less-log-sum.npz", "ts", []string{"--logits"}, "logits-less-log-sum", "ts_nll"},
	{"logits-plus-constants.npz", "ts", []string{"--logits"}, "logits-plus-constants", "ts_nll"},
	{"probabilities-float16.npz", "nc", nil, "probabilities-float16", "nc_nll"},
	{"probabilities-float16.npz", "ts", nil, "probabilities-float16", "ts_nll"},
	{"probabilities-float16.npz", "ts", []string{"--probabilities"}, "probabilities-float16", "ts_nll"},
	{"probabilities-4-decimals.npz", "nc", nil, "probabilities-4-decimals", "nc_nll"},
	{"probabilities-4-decimals.npz", "ts", nil, "probabilities-4-decimals", "ts_nll"},
	{"probabilities-4-decimals.npz", "ts", []string{"--probabilities"}, "probabilities-4-decimals", "ts_nll"},
	{"probabilities-3-decimals.npz", "nc", nil, "probabilities-3-decimals", "nc_nll"},
	{"probabilities-3-decimals.npz", "ts", nil, "probabilities-3-decimals", "ts_nll"},
	{"probabilities-3-decimals.npz", "ts", []string{"--probabilities"}, "probabilities-3-decimals", "ts_nll"},
	{"probabilities-2-decimals.csv", "nc", nil, "probabilities-2-decimals", "nc_nll"},
	{"probabilities-2-decimals.csv", "ts", nil, "probabilities-2-decimals", "ts_nll"},
	{"probabilities-2-decimals.csv", "ts", []string{"--probabilities"}, "probabilities-2-decimals", "ts_nll"},
	{"forest.npz", "nc", nil, "forest", "nc_nll"},
	{"logits-times-20.npz", "nc", nil, "logits-times-20", "nc_nll"},
	{"votes-float64.npz", "ir", nil, "votes-*", "ir_nll"},
	{"votes-float32.npz", "ir", nil, "votes-*", "ir_nll"},
	{"votes-6-decimals.npz", "ir", nil, "votes-*", "ir_nll"},
	{"votes-logs-float64.npz", "ir", nil, "votes-*", "ir_nll"},
	{"votes-logs-float32.npz", "ir", nil, "votes-*", "ir_nll"},
	{"ordered-category.parquet", "ts", nil, "labels in their order small, large, huge", "ts_nll"},
	{"columns-of-names.csv", "ts", nil, "labels in their order small, large, huge", "ts_nll"},
	{"columns-of-names-in-two-forms.csv", "ts", nil, "columns-of-names-in-two-forms", "ts_nll"},
}

// TestCasesBesideScipy: NLL, accuracy and 1/T of fits are those that scipy and scikit-learn compute of the same files.
func TestCasesBesideScipy(t *testing.T) {
	needCases(t)
	r, c := rightValues(t), &casesOf{t.TempDir(), map[string]*ran{}}
	for _, f := range rightFits {
		t.Run(strings.Join(append([]string{f.file, f.method}, f.flags...), " "), func(t *testing.T) {
			got := c.fit(t, f.file, f.method, f.flags...).ok(t)
			isNear(t, "NLL", got.result(t, "nll"), r.number(t, f.name, f.key), nearNLL)
			isNear(t, "accuracy", got.result(t, "accuracy"), r.number(t, f.name, "accuracy"), nearNLL)
			if f.method == "ts" {
				isNear(t, "1/T", got.sharpness(t), r.number(t, f.name, "inverse_T"), nearNLL)
			}
			if f.method == "ir" {
				isNear(t, "furthest probability", furthest(t, got.probabilities(t), dense(r["isotonic"]["probs"])), 0, nearNLL)
			}
		})
	}
	t.Run("a class that is always masked has probability 0", func(t *testing.T) {
		isNear(t, "largest probability of class 5", mat.Max(c.fit(t, "mask-class-always.npz", "ts").probabilities(t).ColView(5)), 0, 0)
	})
	t.Run("ts of 3 decimals, applied to 4", func(t *testing.T) {
		model := c.fit(t, "probabilities-3-decimals.npz", "ts").ok(t)
		p := c.run(t, "apply", "--model", model.out, "--in", filepath.Join(caseFiles, "probabilities-4-decimals.npz")).predictions(t)
		isNear(t, "NLL", meanNLL(p.LogProbs, p.Labels), r.number(t, "fitted to 3 decimals, applied to 4", "ts_nll"), nearNLL)
	})
	t.Run("ts of forest is below nc, which six rows carry", func(t *testing.T) {
		nc, ts := c.fit(t, "forest.npz", "nc"), c.fit(t, "forest.npz", "ts")
		if !(ts.result(t, "nll") < nc.result(t, "nll")) {
			t.Errorf("the NLL of ts is %v, of nc %v", ts.result(t, "nll"), nc.result(t, "nll"))
		}
		ts.says(t, "no calibration rows too")
		for _, args := range [][]string{
			{"fit", "--in", filepath.Join(caseFiles, "forest.npz"), "--method", "nc", "--out", filepath.Join(t.TempDir(), "o")},
			{"evaluate", "--in", filepath.Join(caseFiles, "forest-predictions.npz")},
		} {
			if code, stdout, stderr := calibra(t, args...); code != 0 || !strings.Contains(stdout, "6 of 300 rows") || !strings.Contains(stdout, "41.7 %") {
				t.Errorf("%s exits %d without what the floored rows bear: %s%s", args[0], code, stdout, stderr)
			}
		}
	})
	for file, name := range map[string]string{"forest-predictions.npz": "forest", "logits-times-20-predictions.npz": "logits-times-20", "calibrated.npz": "calibrated", "calibrated-weights-three.npz": "calibrated-weights-three"} {
		t.Run("evaluate "+file, func(t *testing.T) {
			key := "nc_nll"
			if name == strings.TrimSuffix(file, ".npz") {
				key = "nll"
			}
			isNear(t, "NLL", c.evaluated(t, file).Metrics["nll"].Value, r.number(t, name, key), nearNLL)
		})
	}
	t.Run("test rows without labels", func(t *testing.T) {
		text, err := os.ReadFile(filepath.Join(caseFiles, "test-rows-without-label.csv"))
		if err != nil {
			t.Fatal(err)
		}
		alphabet := strings.NewReplacer("logit_0", "logit_huge", "logit_1", "logit_large", "logit_2", "logit_small")
		path := filepath.Join(t.TempDir(), "f.csv")
		if err := os.WriteFile(path, []byte(alphabet.Replace(string(text))), 0o666); err != nil {
			t.Fatal(err)
		}
		model := c.run(t, "fit", "--in", path, "--method", "ts").ok(t)
		p := c.run(t, "apply", "--model", model.out, "--in", path).probabilities(t)
		if n, _ := p.Dims(); n != int(r.number(t, "test-rows-without-label, alphabet", "rows")) {
			t.Errorf("apply answers %d rows", n)
		}
		for k, want := range r["test-rows-without-label, alphabet"]["first_row"].([]any) {
			isNear(t, fmt.Sprintf("probability %d of the first row", k), p.At(0, k), want.(float64), nearNLL)
		}
	})
	t.Run("groups of the features file", func(t *testing.T) {
		e := c.evaluated(t, "predictions.npz", "--features", filepath.Join(caseFiles, "features-with-groups.npz"))
		if len(e.Groups) != 3 {
			t.Fatalf("%d groups", len(e.Groups))
		}
		for _, g := range e.Groups {
			isNear(t, "NLL of "+g.Name, g.NLL, r.number(t, "group "+g.Name, "nll"), nearNLL)
			isNear(t, "accuracy of "+g.Name, g.Accuracy, r.number(t, "group "+g.Name, "accuracy"), nearNLL)
			isNear(t, "rows of "+g.Name, g.Rows, r.number(t, "group "+g.Name, "rows"), 0)
		}
	})
}

// dense is a matrix of JSON.
func dense(rows any) *mat.Dense {
	all := rows.([]any)
	out := mat.NewDense(len(all), len(all[0].([]any)), nil)
	out.Apply(func(i, j int, _ float64) float64 { return all[i].([]any)[j].(float64) }, out)
	return out
}

// meanNLL is the mean of −log p of the labels.
func meanNLL(logProbs *mat.Dense, labels []int) (sum float64) {
	for i, y := range labels {
		sum -= logProbs.At(i, y) / float64(len(labels))
	}
	return sum
}

// evaluation is what evaluate prints, as far as cases ask.
type evaluation struct {
	Rows    float64
	Metrics map[string]struct {
		Value float64
		CI    [2]float64
		Noise struct {
			P float64 `json:"p_value"`
		}
	}
	Recoverable struct {
		NLL map[string]struct {
			Value float64
			P     float64 `json:"p_value"`
		}
	}
	Groups []struct {
		Name                string
		Rows, NLL, Accuracy float64
	}
}

// evaluated is what evaluate prints of a file of the cases.
func (c *casesOf) evaluated(t *testing.T, file string, flags ...string) evaluation {
	t.Helper()
	return c.evaluatedAt(t, filepath.Join(caseFiles, file), flags...)
}

// evaluatedAt is what evaluate prints of the predictions at path.
func (c *casesOf) evaluatedAt(t *testing.T, path string, flags ...string) (e evaluation) {
	t.Helper()
	r := c.run(t, append([]string{"evaluate", "--in", path}, flags...)...).ok(t)
	if err := json.Unmarshal([]byte(r.stdout), &e); err != nil {
		t.Fatal(err)
	}
	return e
}

// likeFit is a fit that says what another says.
type likeFit struct {
	file, method string
	flags        []string
	as           string  // file of the other
	nll          float64 // how far the NLL may lie, 0: not asked
	probability  float64 // how far any probability may, 0: not asked
	long         bool    // takes seconds: asked with CALIBRA_CHECK=all
}

var logitsFlag = []string{"--logits"}

// likeFits are the rows of the README that only the program can compute, but two files must agree.
var likeFits = slices.Concat(
	likes([]string{"ts", "new-head"}, []string{"weights-two.npz", "weights-real-two-and-a-half.npz"}, "weights-none.npz", nil, alike, alike, false),
	likes([]string{"pool", "corrected", "forest", "kc-original"}, []string{"weights-two.npz", "weights-real-two-and-a-half.npz"}, "weights-none.npz", nil, alike, alike, true),
	likes([]string{"pool", "corrected", "forest"}, []string{"rows-twice.npz"}, "weights-none.npz", nil, .02, 0, true),
	likes([]string{"kc-original"}, []string{"rows-twice.npz"}, "weights-none.npz", nil, .1, 0, true),
	likes([]string{"ts", "vector"}, []string{"mask-1e4.npz", "mask-1e20.npz", "mask-float32-min.npz"}, "mask-1000-below.npz", nil, alikeMasks, alikeMasks, false),
	likes([]string{"pool", "corrected", "forest"}, []string{"mask-1e4.npz", "mask-1e20.npz", "mask-float32-min.npz"}, "mask-1000-below.npz", nil, alikeMasks, alikeMasks, true),
	likes([]string{"ts", "vector"}, []string{"logits-less-log-sum.npz", "logits-plus-constants.npz"}, "logits.npz", logitsFlag, alike, alike, false),
	likes([]string{"pool", "corrected", "forest"}, []string{"logits-less-log-sum.npz", "logits-plus-constants.npz"}, "logits.npz", logitsFlag, alike, alike, true),
	// float32 rounds features near 10,000 to .001, and a row about as near to two codewords may change sides: one of
	// 220 rows by .9 nats.
	likes([]string{"vq"}, []string{"offset-100.npz", "offset-10000.npz"}, "offset-0.npz", []string{"--set", "codebook.slots=6"}, .9/220, 0, false),
)

func likes(methods, files []string, as string, flags []string, nll, probability float64, long bool) (all []likeFit) {
	for _, m := range methods {
		for _, f := range files {
			all = append(all, likeFit{f, m, flags, as, nll, probability, long})
		}
	}
	return all
}

// TestCasesAlike: files that mean the same have the same answers. The methods that take seconds are asked with
// CALIBRA_CHECK=all; experiments/laws holds each of them to the same laws.
func TestCasesAlike(t *testing.T) {
	needCases(t)
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	all := os.Getenv("CALIBRA_CHECK") == "all"
	for _, f := range likeFits {
		if f.long && !all {
			continue
		}
		t.Run(f.file+" "+f.method, func(t *testing.T) {
			got, want := c.fit(t, f.file, f.method, f.flags...).ok(t), c.fit(t, f.as, f.method, f.flags...).ok(t)
			isNear(t, "NLL", got.result(t, "nll"), want.result(t, "nll"), f.nll)
			if f.probability > 0 {
				isNear(t, "furthest probability", furthest(t, got.probabilities(t), want.probabilities(t)), 0, f.probability)
			}
		})
	}
	for _, method := range []string{"pool", "corrected", "forest"} {
		if method != "pool" && !all {
			continue
		}
		t.Run("mask-one-entry.npz "+method, func(t *testing.T) {
			// Near ts: by less than a tenth of the way to the uniform distribution, ln 6, to which one entry took them.
			ts, got := c.fit(t, "mask-one-entry.npz", "ts").result(t, "nll"), c.fit(t, "mask-one-entry.npz", method).result(t, "nll")
			if !(got <= ts+.1*(math.Log(6)-ts)) {
				t.Errorf("the NLL is %v, of ts %v", got, ts)
			}
		})
	}
	t.Run("predictions have the rows of the input", func(t *testing.T) {
		for _, file := range []string{"weights-real.npz", "weights-sum-to-n.npz"} {
			src, err := data.Open(filepath.Join(caseFiles, file))
			if err != nil {
				t.Fatal(err)
			}
			p := c.fit(t, file, "ts").predictions(t)
			if n, _ := p.LogProbs.Dims(); n != 160 || !slices.Equal(p.Labels, src.Test.Labels) {
				t.Errorf("%s: %d rows, whose labels are those of the file: %v", file, n, slices.Equal(p.Labels, src.Test.Labels))
			}
		}
	})
	t.Run("evaluate with the features of weighted rows", func(t *testing.T) {
		for _, file := range []string{"weights-real.npz", "weights-sum-to-n.npz"} {
			fit, rows := c.fit(t, file, "ts").ok(t), filepath.Join(caseFiles, file)
			src, err := data.Open(rows)
			if err != nil {
				t.Fatal(err)
			}
			alone := filepath.Join(t.TempDir(), "p.npz")
			if err := disk.WriteNPZ(alone, data.Array{Name: "probs", Value: fit.probabilities(t)}, data.Array{Name: "labels", Value: src.Test.Labels}, data.Array{Name: "weights", Value: src.Test.Weights}); err != nil {
				t.Fatal(err)
			}
			e, same := c.evaluatedAt(t, fit.out, "--features", rows), c.evaluatedAt(t, alone, "--features", rows)
			isNear(t, file+": NLL", e.Metrics["nll"].Value, fit.result(t, "nll"), alike)
			for key, m := range same.Metrics {
				isNear(t, file+": "+key, e.Metrics[key].Value, m.Value, alike)
			}
		}
	})
	t.Run("calibrated predictions of weight 3", func(t *testing.T) {
		one, three := c.evaluated(t, "calibrated.npz"), c.evaluated(t, "calibrated-weights-three.npz")
		for key, m := range one.Metrics {
			isNear(t, key, three.Metrics[key].Value, m.Value, alike)
		}
		for part, r := range one.Recoverable.NLL {
			isNear(t, "recoverable: "+part, three.Recoverable.NLL[part].Value, r.Value, alike)
			if p := three.Recoverable.NLL[part].P; p < .05 {
				t.Errorf("recoverable: %s has p %v", part, p)
			}
		}
		for k, end := range one.Metrics["nll"].CI {
			isNear(t, "interval of the NLL", three.Metrics["nll"].CI[k], end, alike)
			isNear(t, "interval of the NLL", end, []float64{.660, .783}[k], 2e-3) // the README's are of resampled rows, and a thirtieth of half the width
		}
		for _, file := range []string{"calibrated.npz", "calibrated-weights-three.npz"} {
			r := c.run(t, "diagnose", "--in", filepath.Join(caseFiles, file)).ok(t)
			if !strings.Contains(r.stdout, "calibrated as far as 450 rows can tell") {
				t.Errorf("%s: diagnose says %.200s", file, r.stdout)
			}
		}
	})
}

// sentences are commands on the cases that refuse, or say something: "no " and words that must not be said.
var sentences = []struct {
	what  string
	words []string // of the command; a name with a dot is one of the cases
	code  int
	says  []string
}{
	{"a label on a masked class", []string{"fit", "--in", "mask-class-always-labelled.npz", "--method", "ts"}, exitUsage, []string{"row", "class 5"}},
	{"a column twice", []string{"fit", "--in", "logit-twice.csv", "--method", "ts"}, exitUsage, []string{"logit_0"}},
	{"a column twice", []string{"fit", "--in", "logit-twice.parquet", "--method", "ts"}, exitUsage, []string{"logit_0"}},
	{"a column twice", []string{"fit", "--in", "logit-twice.arrow", "--method", "ts"}, exitUsage, []string{"logit_0"}},
	{"a column twice", []string{"fit", "--in", "feature-twice.parquet", "--method", "corrected"}, exitUsage, []string{"feature_0"}},
	{"features of other rows", []string{"evaluate", "--in", "predictions.npz", "--features", "features-of-other-rows.npz"}, exitUsage, []string{"201"}},
	{"features of other rows", []string{"diagnose", "--in", "predictions.npz", "--features", "features-of-other-rows.npz"}, exitUsage, []string{"201"}},
	{"the order of text", []string{"fit", "--in", "text-labels.csv", "--method", "ts"}, exitUsage, []string{"huge and small may be exchanged in alphabetical order"}},
	{"the order of text", []string{"fit", "--in", "meaning/names-two-exchanged.npz", "--method", "ts"}, exitUsage, []string{"another order than the alphabetical order: alba, iris, setosa, lutea"}},
	{"rounded probabilities", []string{"fit", "--in", "probabilities-float16.npz", "--method", "ts"}, 0, []string{"probabilities"}},
	{"labels of other rows", []string{"fit", "--in", "shuffled-labels.npz", "--method", "ts"}, 0, []string{"labels"}},
	{"features of other rows", []string{"fit", "--in", "shuffled-features.npz", "--method", "corrected"}, 0, []string{"features"}},
	{"no leak of a constant", []string{"fit", "--in", "constant-outputs.npz", "--method", "ts"}, 0, []string{"no calibration rows too"}},
	{"no leak of votes", []string{"fit", "--in", "few-votes.npz", "--method", "ts"}, 0, []string{"no calibration rows too"}},
	{"no leak of votes", []string{"fit", "--in", "votes-float64.npz", "--method", "ts"}, 0, []string{"no calibration rows too"}},
	{"a leak", []string{"fit", "--in", "true-leak-of-30.npz", "--method", "ts"}, 0, []string{"30 of the 90", "calibration rows too"}},
}

// TestCasesAreSaid: what is wrong with a file is refused or said, and nothing else.
func TestCasesAreSaid(t *testing.T) {
	needCases(t)
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	for _, s := range sentences {
		t.Run(s.what+" "+strings.Join(s.words[:3], " "), func(t *testing.T) {
			words := slices.Clone(s.words)
			for i, w := range words {
				if strings.Contains(w, ".") {
					words[i] = filepath.Join(caseFiles, w)
				}
			}
			r := c.run(t, words...)
			if r.code != s.code {
				t.Fatalf("exits %d: %s", r.code, r.stderr)
			}
			r.says(t, s.says...)
		})
	}
	t.Run("features near 1e-310", func(t *testing.T) {
		r := c.fit(t, "denormal-features.npz", "pc")
		if r.code == 0 {
			c.run(t, "apply", "--model", r.out, "--in", filepath.Join(caseFiles, "denormal-features.npz")).ok(t)
			return
		}
		r.refuses(t, "features")
	})
	t.Run("names that are not UTF-8", func(t *testing.T) {
		in, dir := filepath.Join(caseFiles, "weights-none.npz"), t.TempDir()
		var codes []int
		for _, name := range []string{"run\xe9", "run\xe8"} {
			code, _, _ := calibra(t, "fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, name))
			codes = append(codes, code)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, code := range codes {
			if code == 0 {
				done++
			}
		}
		folders := slices.DeleteFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
		if len(folders) != done {
			t.Errorf("two fits exit %v and leave %v", codes, folders)
		}
	})
	for what, spelling := range spellings {
		t.Run("csv: "+what, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(caseFiles, "text-labels.csv"))
			if err != nil {
				t.Fatal(err)
			}
			text = []byte(strings.NewReplacer(",huge,", ",2,", ",large,", ",1,", ",small,", ",0,").Replace(string(text)))
			path := filepath.Join(t.TempDir(), "f.csv"+spelling.ending)
			if err := os.WriteFile(path, spelling.of(text), 0o666); err != nil {
				t.Fatal(err)
			}
			r := c.run(t, "fit", "--in", path, "--method", "ts")
			if r.code == 0 {
				isNear(t, "NLL", r.result(t, "nll"), c.fit(t, "ordered-category.parquet", "ts").result(t, "nll"), nearNLL)
				return
			}
			r.refuses(t, spelling.cause)
		})
	}
}

// spellings are ways to write text-labels.csv with its labels as numbers, with a word that names the cause where it is
// refused.
var spellings = map[string]struct {
	ending, cause string
	of            func([]byte) []byte
}{
	"semicolons and decimal commas": {"", "decimal", func(b []byte) []byte {
		return []byte(strings.NewReplacer(",", ";", ".", ",").Replace(string(b)))
	}},
	"UTF-16": {"", "UTF-16", func(b []byte) []byte {
		out := []byte{0xff, 0xfe}
		for _, c := range b {
			out = append(out, c, 0)
		}
		return out
	}},
	"a # line first": {"", "#", func(b []byte) []byte { return append([]byte("# x\n"), b...) }},
	"capital header": {"", "capital", func(b []byte) []byte {
		head, rest, _ := strings.Cut(string(b), "\n")
		return []byte(strings.ToUpper(head) + "\n" + rest)
	}},
	"CR line ends":   {"", "line", func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), "\n", "\r")) }},
	"gzip cut short": {".gz", "gzip", func(b []byte) []byte { z := gzipped(b); return z[:len(z)/2] }},
	"Zstandard":      {".zst", "zst", func(b []byte) []byte { return append([]byte{0x28, 0xb5, 0x2f, 0xfd}, b...) }},
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write(b)
	_ = z.Close()
	return out.Bytes()
}

// TestCasesWithoutAShift: where nothing shifted, the old priors stay, and the predictions are those without
// --new-priors, bit for bit.
func TestCasesWithoutAShift(t *testing.T) {
	needCases(t)
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	for file, right := range map[string]float64{"no-shift-3.npz": .7467, "no-shift-10.npz": 1.6100, "no-shift-10-sharp.npz": .3602} {
		for _, method := range []string{"ts", "vector"} {
			t.Run(method+" "+file, func(t *testing.T) {
				in := filepath.Join("chance", file)
				fit := c.fit(t, in, method, "--logits").ok(t)
				kept := c.run(t, "apply", "--model", fit.out, "--in", filepath.Join(caseFiles, in), "--logits", "--new-priors", "estimate").ok(t)
				if !strings.Contains(kept.stdout, "do not differ by more than chance (p = ") {
					t.Errorf("it says %q", kept.stdout)
				}
				p := kept.predictions(t)
				if furthest(t, p.LogProbs, fit.predictions(t).LogProbs) != 0 {
					t.Error("the predictions moved")
				}
				if nll := (&data.Set{Labels: p.Labels}).MeanNLL(p.LogProbs, -30); method == "ts" {
					isNear(t, "NLL", nll, right, .0015) // that of the logits, but for a fitted temperature: .7477, 1.6096, .3602
				}
			})
		}
	}
}

// TestCasesBesideOracle: the answers of a saved vq are those of numpy in float64, of the features where they lie, and
// the network's too.
func TestCasesBesideOracle(t *testing.T) {
	needCases(t)
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	for _, offset := range []string{"0", "100", "10000"} {
		t.Run("offset "+offset, func(t *testing.T) {
			file := "offset-" + offset + ".npz"
			fit := c.fit(t, file, "vq", "--set", "codebook.slots=6").ok(t)
			network := filepath.Join(t.TempDir(), "o.onnx")
			c.run(t, "export", "--model", fit.out, "--onnx", network).ok(t)
			t.Logf("%s", casePython(t, "import sys; sys.path.insert(0, sys.argv[1]); import vq_oracle; r = vq_oracle.main(*sys.argv[2:]); print('BAD' if r else 'good'); sys.exit(r)",
				caseFiles, fit.out, filepath.Join(caseFiles, file), filepath.Join(fit.out, "predictions.npz"), network))
		})
	}
}

// networks are methods whose exported network is asked of votes, which stand on the steps of step functions, and of a
// row of NaN.
var networks = []string{"ir", "histogram", "venn-abers", "spline", "ts"}

// TestCasesExported: the network of a method says what apply says of every row, votes too, and NaN of a row of NaN.
func TestCasesExported(t *testing.T) {
	needCases(t)
	if os.Getenv("CALIBRA_PYTHON") == "" {
		casePython(t, "") // which says why it is left out
	}
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	var names, files []string
	for _, method := range networks {
		for _, file := range []string{"votes-float64.npz", "votes-float32.npz", "votes-6-decimals.npz", "votes-logs-float64.npz", "votes-logs-float32.npz", "weights-none.npz"} {
			fit := c.fit(t, file, method).ok(t)
			network := fit.out + ".onnx"
			c.run(t, "export", "--model", fit.out, "--onnx", network).ok(t)
			names, files = append(names, method+" "+file), append(files, network, filepath.Join(caseFiles, file), filepath.Join(fit.out, "predictions.npz"))
		}
	}
	out := json.NewDecoder(bytes.NewReader(casePython(t, `
import sys, json, numpy as np, onnxruntime
for k in range(1, len(sys.argv), 3):
    network, rows, said = sys.argv[k : k + 3]
    x, p = np.load(rows)["test_logits"].astype(float), np.load(said)["probs"]
    if "votes" in rows and "logs" not in rows:
        x = np.log(x)
    s = onnxruntime.InferenceSession(network)
    x = x.astype(np.float32)
    q, = s.run(["probabilities"], {"logits": x})
    x[3, 1] = np.nan
    nan, = s.run(["probabilities"], {"logits": x})
    print(json.dumps(dict(apart=float(np.abs(q - p).max()), rows=int((np.abs(q - p).max(1) > 1e-5).sum()), nan=bool(np.isnan(nan[3]).all()), others=bool((np.delete(nan, 3, 0) == np.delete(q, 3, 0)).all()))))
`, files...)))
	for _, name := range names {
		var said struct {
			Apart       float64
			Rows        int
			NaN, Others bool
		}
		if err := out.Decode(&said); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			if !(said.Apart <= nearNLL) {
				t.Errorf("the network lies %.3g from the predictions, %d rows further than 1e-5", said.Apart, said.Rows)
			}
			if !said.NaN || !said.Others {
				t.Errorf("a row of NaN has the answer NaN: %v, and leaves others as they are: %v", said.NaN, said.Others)
			}
		})
	}
}
