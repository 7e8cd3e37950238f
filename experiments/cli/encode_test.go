package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers/encoders"

	"gonum.org/v1/gonum/mat"
)

// TestEncodePretrained: from a trained network to a features file to a calibrator.
func TestEncodePretrained(t *testing.T) {
	model, out := filepath.Join(t.TempDir(), "model"), filepath.Join(t.TempDir(), "digits.npz")
	if code, _, stderr := calibra(t, "pretrain", "--data", "digits", "--held-out", "0.1", "--encoder", "mlp", "--epochs", "3", "--out", model); code != 0 {
		t.Fatalf("pretrain exits %d: %s", code, stderr)
	}
	code, stdout, stderr := calibra(t, "encode", "--model", model, "--out", out)
	if code != 0 || !strings.Contains(stdout, "digits-shifted.npz") {
		t.Fatalf("encode exits %d: %s%s", code, stdout, stderr)
	}
	src, err := data.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Require("cal_features", "cal_logits", "cal_labels", "test_features", "test_logits", "test_labels"); err != nil {
		t.Error(err)
	}
	if src.Classes != 10 || src.Cal.Len() < 300 {
		t.Errorf("%d classes, %d calibration rows", src.Classes, src.Cal.Len())
	}
	if code, _, stderr := calibra(t, "fit", "--in", out, "--method", "ts", "--out", filepath.Join(t.TempDir(), "run")); code != 0 {
		t.Errorf("fit exits %d: %s", code, stderr)
	}
}

// TestEncodeKeepsTheDivision: naming the data that trained a network gives the rows that
// were set aside then, however they were divided, never rows that trained it.
func TestEncodeKeepsTheDivision(t *testing.T) {
	dir := t.TempDir()
	model, table := filepath.Join(dir, "model"), filepath.Join(dir, "table.csv")
	var csv strings.Builder
	csv.WriteString("label,x,y\n")
	for i := range 300 {
		fmt.Fprintf(&csv, "%c,%d,%d\n", 'a'+i%3, i, i*i%7)
	}
	if err := os.WriteFile(table, []byte(csv.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := calibra(t, "pretrain", "--data", table, "--label", "label", "--encoder", "mlp", "--seed", "42", "--epochs", "1", "--out", model); code != 0 {
		t.Fatalf("pretrain exits %d: %s", code, stderr)
	}
	t.Chdir(dir)
	var first []byte
	for i, flags := range [][]string{nil, {"--data", "table.csv"}, {"--data", table, "--seed", "42", "--label", "label"}} {
		out := filepath.Join(dir, fmt.Sprintf("out%d.npz", i))
		if code, _, stderr := calibra(t, append([]string{"encode", "--model", model, "--out", out}, flags...)...); code != 0 {
			t.Fatalf("%v: encode exits %d: %s", flags, code, stderr)
		}
		b, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = b
		}
		if !bytes.Equal(first, b) {
			t.Errorf("%v gives other rows", flags)
		}
	}
	if src, err := data.Open(filepath.Join(dir, "out0.npz")); err != nil || fmt.Sprint(src.Cal.Names.Classes) != "[a b c]" || src.Unread != "" {
		t.Errorf("the classes have no names: %v", err)
	}
	wide := filepath.Join(dir, "wide.csv")
	if err := os.WriteFile(wide, []byte(strings.NewReplacer(",y\n", ",y,z\n", "\n", ",1\n").Replace(csv.String())), 0o666); err != nil {
		t.Fatal(err)
	}
	for want, flags := range map[string][]string{"digits has 64 columns and the encoder was trained on 2": {"--data", "digits"}, "wide has the column z, which": {"--data", wide, "--label", "label"}} {
		code, _, stderr := calibra(t, append([]string{"encode", "--model", model, "--out", filepath.Join(dir, "other.npz")}, flags...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: encode exits %d: %s", flags, code, stderr)
		}
	}
	for _, flags := range [][]string{{"--seed", "0"}, {"--data", table, "--seed", "7"}, {"--held-out", "0.1"}, {"--label", "x"}} {
		code, _, stderr := calibra(t, append([]string{"encode", "--model", model, "--out", filepath.Join(dir, "other.npz")}, flags...)...)
		if code != exitUsage || !strings.Contains(stderr, "divided otherwise") {
			t.Errorf("%v: encode exits %d: %s", flags, code, stderr)
		}
	}
}

// TestEncodeText: a table of text goes from the command that trains a network on it to the one that encodes it and to a
// study, its label by name; the network's file keeps what it reads of each column, and other columns are told by name.
func TestEncodeText(t *testing.T) {
	dir := t.TempDir()
	write := func(name, header string, row func(i int) string) string {
		for i := range 240 {
			header += row(i) + "\n"
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(header), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	color := func(i int) string { return []string{"red", "green", ""}[i*i%7%3] }
	table := write("table.csv", "buys,color,same,size\n", func(i int) string {
		return fmt.Sprintf("%s,%s,one,%g", []string{"no", "yes"}[i*i%7%2], color(i), 0.5*float64(i%9))
	})
	more := write("more.csv", "buys,color,same,size,extra\n", func(i int) string { return fmt.Sprintf("no,%s,one,%d,1", color(i), i%9) })
	other := write("other.csv", "size,buys,color,same\n", func(i int) string {
		return fmt.Sprintf("%d,%s,%s,two", i%9, []string{"no", "yes"}[i%2], strings.Replace(color(i), "green", "pink", 1))
	})
	model, out := filepath.Join(dir, "model"), filepath.Join(dir, "out.npz")
	run := func(code int, want string, args ...string) {
		t.Helper()
		if got, stdout, stderr := calibra(t, args...); got != code || !strings.Contains(stdout+stderr, want) {
			t.Errorf("%v exits %d: %s%s", args, got, stdout, stderr)
		}
	}
	run(0, "no network reads same: constant", "pretrain", "--data", table, "--label", "buys", "--encoder", "mlp", "--network", `{"hidden":[6]}`, "--epochs", "2", "--out", model)
	m, err := encoders.Load(model)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(m.Config.Columns[:2], m.Config.Columns[2].Name, m.Config.Shape); got != "[{color [ green red] 0 false false false} {same [] 0 false true false}]size[4]" {
		t.Errorf("the file keeps %s", got)
	}
	run(0, "72 test rows of table, 6 features", "encode", "--model", model, "--out", out)
	run(0, `"pink" in column color`, "encode", "--model", model, "--data", other, "--label", "buys", "--out", out)
	run(exitUsage, "more has the column extra, which", "encode", "--model", model, "--data", more, "--label", "buys", "--out", out)
	run(exitUsage, "is no raw table; --label", "encode", "--data", "cubic", "--label", "buys", "--out", out)
	run(0, "72 test rows of table, 128 features", "encode", "--data", table, "--label", "buys", "--out", out)
	run(0, "1 of 1 cells", "study", "main", "--data", table, "--label", "buys", "--methods", "nc", "--seeds", "1", "--out", filepath.Join(dir, "study"))
}

// TestEncodeRefuses: one sentence, exit code 2, nothing written.
func TestEncodeRefuses(t *testing.T) {
	network := filepath.Join(t.TempDir(), "network.onnx")
	if err := os.WriteFile(network, []byte("no network"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--model", network}, "export_features.md"},
		{[]string{"--model", filepath.Join(t.TempDir(), "none")}, "no such file"},
		{[]string{"--model", t.TempDir()}, "calibra pretrain"},
	} {
		out := filepath.Join(t.TempDir(), "out.npz")
		code, _, stderr := calibra(t, append([]string{"encode", "--out", out}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d: %s", c.args, code, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v left %s", c.args, out)
		}
	}
	if code, _, stderr := calibra(t, "encode", "--model", network, "--data", "letter", "--out", "features.txt"); code != exitUsage || !strings.Contains(stderr, ".npz") {
		t.Errorf("another ending exits %d: %s", code, stderr)
	}
}

// TestEncoderOfChoice: the rows that a fit and a study are of are made by the encoder that is named, and apply takes the
// one of the fit.
func TestEncoderOfChoice(t *testing.T) {
	dir := t.TempDir()
	model, out := filepath.Join(dir, "model"), filepath.Join(dir, "p.npz")
	if code, _, stderr := calibra(t, "fit", "--in", "digits", "--encoder", "resmlp", "--method", "ts", "--seed", "3", "--out", model); code != 0 {
		t.Fatal(stderr)
	}
	for _, encoder := range []string{"", "resmlp"} {
		args := []string{"apply", "--model", model, "--in", "digits", "--out", out}
		if encoder != "" {
			args = append(args, "--encoder", encoder)
		}
		if code, _, stderr := calibra(t, args...); code != 0 {
			t.Fatalf("apply exits %d: %s", code, stderr)
		}
		fitted, err := data.ReadPredictions(filepath.Join(model, "predictions.npz"))
		if err != nil {
			t.Fatal(err)
		}
		applied, err := data.ReadPredictions(out)
		if err != nil || !mat.Equal(applied.LogProbs, fitted.LogProbs) {
			t.Errorf("--encoder %q: other predictions than the fit's (%v)", encoder, err)
		}
	}
	code, stdout, stderr := calibra(t, "study", "main", "--data", "digits", "--encoder", "resmlp", "--methods", "ts", "--seeds", "3", "--list", "--cells", dir)
	if code != 0 || !strings.Contains(stdout, "digits/resmlp ts seed 3") {
		t.Errorf("study exits %d: %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = calibra(t, "study", "main", "--data", "digits", "--encoder", "mlp", "--long-tail", "100", "--methods", "nc,sm", "--seeds", "42", "--json", "--out", filepath.Join(dir, "study"))
	if commands := strings.Count(stdout, `--in digits --long-tail 100 --encoder mlp --`); code != 0 || commands < 2 {
		t.Errorf("study exits %d and names the rows %d times: %s%s", code, commands, stdout, stderr)
	}
	in := write(t, features(60))
	for want, args := range map[string][]string{
		"was fitted to what the encoder resmlp makes": {"apply", "--model", model, "--in", "digits", "--encoder", "mlp", "--out", out},
		"choose one of mlp":                           {"fit", "--in", "digits", "--encoder", "resnet", "--method", "ts", "--out", filepath.Join(dir, "no")},
		"features has features already":               {"compare", "--in", in, "--encoder", "mlp", "--out", filepath.Join(dir, "no")},
	} {
		if code, _, stderr := calibra(t, args...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
	}
}
