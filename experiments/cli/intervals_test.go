package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/run"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestApplyIntervals of one model and of an ensemble.
func TestApplyIntervals(t *testing.T) {
	for _, members := range []string{"1", "2"} {
		t.Run(members, func(t *testing.T) { applyIntervals(t, "ensemble.members="+members) })
	}
}

func applyIntervals(t *testing.T, set string) {
	dir := t.TempDir()
	in, model, out := filepath.Join(dir, "f.npz"), filepath.Join(dir, "vq"), filepath.Join(dir, "p.npz")
	if err := disk.WriteNPZ(in, features(300)...); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := calibra(t, "fit", "--method", "vq", "--in", in, "--set", "codebook.slots=4", "--set", "codebook.codewords=6", "--split", "paper", "--set", set, "--out", model); code != 0 {
		t.Fatal(stderr)
	}
	apply := func(extra ...string) (int, string) {
		code, _, stderr := calibra(t, append([]string{"apply", "--model", model, "--in", in, "--out", out}, extra...)...)
		return code, stderr
	}
	if code, stderr := apply("--intervals", "0.9"); code != 0 {
		t.Fatal(stderr)
	}
	width := func() (sum float64) {
		lower, err := data.ReadMatrix(out, "lower")
		if err != nil {
			t.Fatal(err)
		}
		upper, err := data.ReadMatrix(out, "upper")
		if err != nil {
			t.Fatal(err)
		}
		lower.Sub(upper, lower)
		return mat.Sum(lower)
	}
	alone := width()
	if code, stderr := apply("--intervals", "0.9", "--two-stage"); code != 0 {
		t.Fatal(stderr)
	}
	if both := width(); !(both > alone) {
		t.Errorf("with the head's error the intervals are %g wide together, without it %g", both, alone)
	}
	if code, stderr := apply("--two-stage"); code != exitUsage || !strings.Contains(stderr, "--intervals") {
		t.Errorf("two stages of no intervals: code %d, %q", code, stderr)
	}
	for _, level := range []string{"1.5", "0"} {
		if code, stderr := apply("--intervals", level); code != exitUsage || strings.Count(stderr, "\n") != 1 {
			t.Errorf("level %s: code %d, %q", level, code, stderr)
		}
	}
	arrays := features(300)
	if err := disk.WriteNPZ(in, arrays[3:]...); err != nil { // the test part alone
		t.Fatal(err)
	}
	if code, stderr := apply("--intervals", "0.9"); code != exitUsage || !strings.Contains(stderr, "cal_") {
		t.Errorf("no calibration rows: code %d, %q", code, stderr)
	}
	if code, stderr := apply(); code != 0 {
		t.Errorf("without intervals no calibration rows are needed: %s", stderr)
	}
}

// fitAndApply fits vq to the rows of in with these settings, if model is not there, and gives the
// intervals of its posteriors.
func fitAndApply(t *testing.T, model, in string, settings ...string) (lower, upper *mat.Dense, stderr string) {
	t.Helper()
	if _, err := os.Stat(model); err != nil {
		if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--set", "codebook.slots=4", "--set", "codebook.codewords=6", "--out", model}, settings...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	out := filepath.Join(t.TempDir(), "p.npz")
	code, _, stderr := calibra(t, "apply", "--model", model, "--in", in, "--intervals", "0.9", "--out", out)
	if code != 0 {
		t.Fatal(stderr)
	}
	lower, err := data.ReadMatrix(out, "lower")
	if err != nil {
		t.Fatal(err)
	}
	if upper, err = data.ReadMatrix(out, "upper"); err != nil {
		t.Fatal(err)
	}
	return lower, upper, stderr
}

// spread is the sum of the intervals' widths.
func spread(lower, upper *mat.Dense) float64 { return mat.Sum(upper) - mat.Sum(lower) }

// calibrationOf is the arrays of a file whose calibration rows are these.
func calibrationOf(cal *data.Set, test []data.Array) []data.Array {
	return append([]data.Array{{Name: "cal_features", Value: cal.Features}, {Name: "cal_logits", Value: cal.Logits}, {Name: "cal_labels", Value: cal.Labels}}, test...)
}

// A fit sets a tenth of the calibration rows aside; apply finds those that are left in the same
// file. Where it cannot, it says so, and the rows stand for as many as were fitted.
func TestIntervalsAreOfTheFittedRows(t *testing.T) {
	arrays := features(300)
	in, model := write(t, arrays), filepath.Join(t.TempDir(), "vq")
	lower, upper, stderr := fitAndApply(t, model, in)
	if strings.Contains(stderr, "warning") {
		t.Error(stderr)
	}
	src, err := data.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	cal, err := run.Spec{Method: "vq", Split: data.PaperText}.Calibration(src)
	if err != nil || cal.Len() != 270 {
		t.Fatal(err, cal.Len())
	}
	only, top, stderr := fitAndApply(t, model, write(t, calibrationOf(cal, arrays[3:])))
	if strings.Contains(stderr, "warning") || !mat.Equal(lower, only) || !mat.Equal(upper, top) {
		t.Errorf("a file of the fitted rows alone gives other intervals: %s", stderr)
	}
	half := src.Cal.Rows(sequenceOf(150))
	low, high, stderr := fitAndApply(t, model, write(t, calibrationOf(half, arrays[3:])))
	if !strings.Contains(stderr, "150 calibration rows") || !strings.Contains(stderr, "270 that the model was fitted to") {
		t.Errorf("half of the rows pass for those of the fit: %s", stderr)
	}
	// As new rows they would make the intervals √(270/150) = 1.34 times as wide.
	if ratio := spread(low, high) / spread(lower, upper); ratio < 0.85 || ratio > 1.15 {
		t.Errorf("half of the rows make the intervals %.3f times as wide", ratio)
	}
	if err := os.Remove(filepath.Join(model, "config.json")); err != nil {
		t.Fatal(err)
	}
	low, high, stderr = fitAndApply(t, model, in)
	if !strings.Contains(stderr, "300 calibration rows") {
		t.Errorf("nothing tells the rows of the fit, and no warning says so: %s", stderr)
	}
	if ratio := spread(low, high) / spread(lower, upper); ratio < 0.98 || ratio > 1.02 {
		t.Errorf("all rows make the intervals %.3f times as wide", ratio)
	}
}

func sequenceOf(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// The ridge is the penalty of the fit.
func TestIntervalsTakeTheFitsPenalty(t *testing.T) {
	in, dir := write(t, features(300)), t.TempDir()
	still := []string{"--set", "optim.rate=1e-9", "--set", "optim.epochs=1"} // the weights are those of the start
	of := func(name string, settings ...string) float64 {
		lower, upper, _ := fitAndApply(t, filepath.Join(dir, name), in, append(settings, still...)...)
		return spread(lower, upper)
	}
	plain, same := of("plain"), of("same", "--set", "calibrate.decay=1e-3", "--set", "optim.rule=sgd")
	if !scalar.EqualWithinRel(plain, same, 1e-6) { // steps of 1e-9 are not alike
		t.Errorf("the penalty of every rule is its decay, but the widths are %g and %g", plain, same)
	}
	if strong := of("strong", "--set", "calibrate.decay=10"); !(strong < plain/2) {
		t.Errorf("a decay of 10 leaves intervals of %g, one of 0.001 of %g", strong, plain)
	}
	head := filepath.Join(dir, "head")
	of("head", "--set", "divide.decay=10")
	apply := func(model string, extra ...string) (int, string) {
		code, _, stderr := calibra(t, append([]string{"apply", "--model", model, "--in", in, "--out", filepath.Join(dir, "p.npz"), "--intervals", "0.9"}, extra...)...)
		return code, stderr
	}
	widths := map[string]float64{}
	for _, name := range []string{"plain", "head"} {
		if code, stderr := apply(filepath.Join(dir, name), "--two-stage"); code != 0 {
			t.Fatal(stderr)
		}
		lower, err := data.ReadMatrix(filepath.Join(dir, "p.npz"), "lower")
		if err != nil {
			t.Fatal(err)
		}
		upper, err := data.ReadMatrix(filepath.Join(dir, "p.npz"), "upper")
		if err != nil {
			t.Fatal(err)
		}
		widths[name] = spread(lower, upper)
	}
	if !(widths["head"] < widths["plain"]) {
		t.Errorf("a decay of the head of 10 leaves intervals of %g, one of 0.001 of %g", widths["head"], widths["plain"])
	}
	for _, rule := range []string{"adamw", "lion"} {
		model := filepath.Join(dir, rule)
		if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--set", "codebook.slots=4", "--set", "codebook.codewords=6", "--out", model, "--set", "divide.rule=" + rule}, still...)...); code != 0 {
			t.Fatal(stderr)
		}
		if code, stderr := apply(model); code != 0 {
			t.Errorf("%s of the head alone does not matter to the map's intervals: %s", rule, stderr)
		}
		if code, stderr := apply(model, "--two-stage"); code != exitUsage || !strings.Contains(stderr, "optim.decay=0") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: code %d, %q", rule, code, stderr)
		}
	}
	if code, stderr := apply(head); code != 0 {
		t.Error(stderr)
	}
}

// Calibration rows of other classes than the model's are told in one sentence.
func TestIntervalsRefuseOtherClasses(t *testing.T) {
	arrays, model := features(300), filepath.Join(t.TempDir(), "vq")
	fitAndApply(t, model, write(t, arrays))
	labels := slices.Clone(arrays[2].Value.([]int))
	labels[7] = 3
	wide := mat.NewDense(300, 4, nil)
	for want, with := range map[string][]data.Array{
		"cal_labels holds 3 at row 7":  {arrays[0], {Name: "cal_labels", Value: labels}, arrays[3]},
		"cal_logits has 4 columns and": {arrays[0], {Name: "cal_logits", Value: wide}, arrays[2], arrays[3]},
	} {
		code, _, stderr := calibra(t, "apply", "--model", model, "--in", write(t, with), "--intervals", "0.9", "--out", filepath.Join(t.TempDir(), "p.npz"))
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("code %d without %q: %s", code, want, stderr)
		}
	}
}

// Mixtures of maps have intervals too, which hold their probabilities; methods without say which have
// them.
func TestIntervalsOfMixtures(t *testing.T) {
	dir := t.TempDir()
	in, out := filepath.Join(dir, "f.npz"), filepath.Join(dir, "p.npz")
	if err := disk.WriteNPZ(in, features(300)...); err != nil {
		t.Fatal(err)
	}
	fit := func(method string, extra ...string) string {
		model := filepath.Join(dir, method)
		if code, _, stderr := calibra(t, append([]string{"fit", "--in", in, "--method", method, "--out", model}, extra...)...); code != 0 {
			t.Fatal(stderr)
		}
		return model
	}
	model := fit("corrected", "--set", "joint.slots=4", "--set", "joint.codewords=6")
	if code, _, stderr := calibra(t, "apply", "--model", model, "--in", in, "--intervals", "0.9", "--out", out); code != 0 || strings.Contains(stderr, "warning") {
		t.Fatal(code, stderr)
	}
	var read [3]*mat.Dense
	for i, name := range []string{"lower", "probs", "upper"} {
		var err error
		if read[i], err = data.ReadMatrix(out, name); err != nil {
			t.Fatal(err)
		}
	}
	n, c := read[1].Dims()
	for i := range n {
		for j := range c {
			const rounding = 1e-5 // the probabilities are of float32
			if lower, p, upper := read[0].At(i, j), read[1].At(i, j), read[2].At(i, j); !(0 <= lower && lower <= p+rounding && p <= upper+rounding && upper <= 1 && lower < upper) {
				t.Fatalf("row %d, class %d: %g in %g … %g", i, j, p, lower, upper)
			}
		}
	}
	if code, _, stderr := calibra(t, "apply", "--model", model, "--in", in, "--intervals", "0.9", "--two-stage", "--out", out); code != exitUsage || !strings.Contains(stderr, "give --intervals alone") {
		t.Errorf("two stages of corrected: code %d, %q", code, stderr)
	}
	if code, _, stderr := calibra(t, "apply", "--model", fit("ts"), "--in", in, "--intervals", "0.9", "--out", out); code != exitUsage || !strings.Contains(stderr, "corrected") {
		t.Errorf("intervals of one temperature: code %d, %q", code, stderr)
	}
}
