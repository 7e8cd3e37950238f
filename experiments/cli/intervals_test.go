package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

func TestApplyIntervals(t *testing.T) {
	dir := t.TempDir()
	in, model, out := filepath.Join(dir, "f.npz"), filepath.Join(dir, "vq"), filepath.Join(dir, "p.npz")
	if err := data.WriteNPZ(in, features(300)...); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := calibra(t, "fit", "--in", in, "--slots", "4", "--codewords", "6", "--split", "paper", "--out", model); code != 0 {
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
	if err := data.WriteNPZ(in, arrays[3:]...); err != nil { // the test part alone
		t.Fatal(err)
	}
	if code, stderr := apply("--intervals", "0.9"); code != exitUsage || !strings.Contains(stderr, "cal_") {
		t.Errorf("no calibration rows: code %d, %q", code, stderr)
	}
	if code, stderr := apply(); code != 0 {
		t.Errorf("without intervals no calibration rows are needed: %s", stderr)
	}
}
