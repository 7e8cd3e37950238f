package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// TestSentencesOfInputs: each sentence with the input that causes it; what is refused leaves no file.
func TestSentencesOfInputs(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	many := func(row func(i int) (int, float64)) string {
		var b strings.Builder
		for i := range 40 {
			first, last := row(i)
			fmt.Fprintf(&b, "%d,%v\n", first, last)
		}
		return b.String()
	}
	_, soft := realWeights(features(60), 60, .5)
	model := filepath.Join(dir, "model")
	if code, _, stderr := calibra(t, append([]string{"fit", "--in", write(t, soft), "--method", "vq", "--set", "optim.epochs=1", "--out", model}, small...)...); code != 0 {
		t.Fatalf("fit exits %d: %s", code, stderr)
	}
	short := changed("cal_logits", func(m *mat.Dense) { softmax(m); m.Set(3, 0, 0); m.Set(3, 1, .5); m.Set(3, 2, .25) })
	twice := append(features(60), data.Array{Name: "class_names", Value: []string{"ant", "bee", "ant"}})
	fromOne := features(60)
	for i, y := range fromOne[2].Value.([]int) {
		fromOne[2].Value.([]int)[i] = y + 1
	}
	out := filepath.Join(dir, "refused")
	fit := func(in string) []string { return []string{"fit", "--method", "ts", "--in", in, "--out", out} }
	pretrain := func(in string) []string { return []string{"pretrain", "--epochs", "1", "--data", in, "--out", out} }
	for _, c := range []struct {
		args []string
		want string
	}{
		{append(fit(write(t, short)), "--probabilities"), "row 3 of cal_logits sums to 0.75; probabilities must sum to 1"},
		{[]string{"study", "main", "--data", "digits", "--logits", "--out", out}, "is no features file; --scores says what the logits of one are"},
		{pretrain(file("first.csv", "label,x\n"+many(func(i int) (int, float64) { return i % 2, float64(i) + .25 }))), "column x has 40 values in 40 rows, so it is no label; label (2 values) may be: name the label column by --label, or move it to the end"},
		{pretrain(file("none.csv", "z,x\n"+many(func(i int) (int, float64) { return 7 * i, float64(i) + .25 }))), "so it is no label; no other column looks like one; name the label column by --label"},
		{fit(file("f.h5", "\x89HDF\r\n\x1a\n")), "is an HDF5 file; make it an npz file in Python: import h5py, numpy\nwith h5py.File('F.h5') as f: numpy.savez('F.npz', **{k: f[k][:] for k in f})"},
		{fit(file("f.arrows", "\xff\xff\xff\xff\x10\x00\x00\x00")), "is an Arrow stream; write it as an Arrow file, with pyarrow.ipc.new_file"},
		{fit(file("old.feather", "FEA1\x00\x00\x00\x00")), "is Feather of version 1; write it as version 2, with pyarrow.feather.write_feather(table, path)"},
		{fit(file("text.csv", "logit_0,logit_1,label,set\n1,x,0,cal\n")), `line 2: column logit_1 has "x" at row 0, where a number should be`},
		{fit(file("decimal.csv", "logit_0,logit_1,label,set\n1,2,0.5,cal\n")), `column label holds "0.5" at row 0; it must hold whole numbers or names`},
		{fit(file("hole.csv", "logit_0,logit_1,label,set\n1,2,,cal\n2,1,0,cal\n")), "line 2: column label has no label at row 0, and other rows whose set is cal have one (1 of 2 lack it)"},
		{fit(write(t, twice)), "class_names holds a name twice; every class has its own"},
		{fit(write(t, fromOne)), "cal_labels holds 3 at row"},
		{[]string{"apply", "--model", model, "--in", write(t, soft), "--intervals", "0.9", "--out", out}, "cal_labels holds probabilities of classes and the intervals need one class of each calibration row; hand over the classes"},
	} {
		code, _, stderr := calibra(t, c.args...)
		if _, err := os.Stat(out); code != exitUsage || !strings.Contains(stderr, c.want) || err == nil {
			t.Errorf("%v exits %d: %s\nwant %s, and no file (%v)", c.args, code, stderr, c.want, err)
		}
		os.RemoveAll(out)
	}
}
