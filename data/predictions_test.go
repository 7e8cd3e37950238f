package data

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

func TestPredictionsRoundTrip(t *testing.T) {
	want := &Predictions{
		LogProbs: mat.NewDense(2, 3, []float64{math.Log(0.2), math.Log(0.3), math.Log(0.5), math.Inf(-1), 0, math.Inf(-1)}),
		Labels:   []int{2, 1},
	}
	path := filepath.Join(t.TempDir(), "p.npz")
	if err := writeNPZ(path, append(want.Arrays(), Array{"embedding", mat.NewDense(2, 1, []float64{7, 8})})...); err != nil {
		t.Fatal(err)
	}
	got, err := ReadPredictions(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		for k := range 3 {
			// One exp, one log and one division: a few ulp.
			if g, w := got.LogProbs.At(i, k), want.LogProbs.At(i, k); g != w && !(math.Abs(g-w) < 1e-15) {
				t.Errorf("log p[%d,%d] = %v, want %v", i, k, g, w)
			}
		}
	}
	if got.Labels[0] != 2 || got.Labels[1] != 1 {
		t.Errorf("labels %v", got.Labels)
	}
	if z, err := ReadMatrix(path, "embedding"); err != nil || z.At(1, 0) != 8 {
		t.Errorf("embedding %v, %v", z, err)
	}
}

func TestReadPredictionsKinds(t *testing.T) {
	third := math.Log(1.0 / 3)
	for name, c := range map[string]struct {
		m    member
		want []float64 // probabilities
	}{
		"probs":     {array(t, "probs", "<f4", "(1, 3)", 0.2, 0.3, 0.5), []float64{0.2, 0.3, 0.5}},
		"half":      {array(t, "probs", "<f2", "(1, 2)", 0.25, 0.75), []float64{0.25, 0.75}},
		"log_probs": {array(t, "log_probs", "<f8", "(1, 3)", third, third, third), []float64{1. / 3, 1. / 3, 1. / 3}},
		"logits":    {array(t, "logits", "<f4", "(1, 2)", 1000, 1000), []float64{0.5, 0.5}},
	} {
		p, err := ReadPredictions(tempFile(t, "p.npz", zipped(t, 0, c.m)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		sum := 0.0
		for k, w := range c.want {
			g := math.Exp(p.LogProbs.At(0, k))
			sum += g
			if !scalar.EqualWithinAbs(g, w, 1e-7) { // single precision in the file
				t.Errorf("%s: p[%d] = %v, want %v", name, k, g, w)
			}
		}
		if !scalar.EqualWithinAbs(sum, 1, 1e-15) {
			t.Errorf("%s: sums to %v", name, sum)
		}
		if p.Labels != nil {
			t.Errorf("%s: labels %v out of nothing", name, p.Labels)
		}
	}
}

func TestReadPredictionsBad(t *testing.T) {
	probs := array(t, "probs", "<f4", "(2, 2)", 0.5, 0.5, 1, 0)
	for want, file := range map[string][]byte{
		"has no probs; it holds x":          zipped(t, 0, array(t, "x", "<f4", "(1, 1)", 1)),
		"rows to calibrate":                 zipped(t, 0, array(t, "cal_logits", "<f4", "(1, 1)", 1)),
		"row 1 of probs sums to 0.9":        zipped(t, 0, array(t, "probs", "<f4", "(2, 2)", 0.5, 0.5, 0.5, 0.4)),
		"row 0 of probs sums to 0;":         zipped(t, 0, array(t, "probs", "<f4", "(1, 2)", 0, 0)),
		"probs holds -0.5 at row 0":         zipped(t, 0, array(t, "probs", "<f4", "(1, 2)", -0.5, 1.5)),
		"row 0 of log_probs sums to 2":      zipped(t, 0, array(t, "log_probs", "<f4", "(1, 2)", 0, 0)),
		"log_probs holds +Inf at row 0":     zipped(t, 0, array(t, "log_probs", "<f4", "(1, 2)", 0, math.Inf(1))),
		"logits holds +Inf at row 0":        zipped(t, 0, array(t, "logits", "<f4", "(1, 2)", 0, math.Inf(1))),
		"probs has 1 column":                zipped(t, 0, array(t, "probs", "<f4", "(2, 1)", 1, 1)),
		"probs has 2 rows and labels has 1": zipped(t, 0, probs, array(t, "labels", "|u1", "(1,)", 0)),
		"labels holds 2 at row 1":           zipped(t, 0, probs, array(t, "labels", "|u1", "(2,)", 0, 2)),
	} {
		if _, err := ReadPredictions(tempFile(t, "p.npz", file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestPredictionsArraysSumToOne(t *testing.T) {
	row := []float64{3, -1, 0.5}
	floats.AddConst(-floats.LogSumExp(row), row)
	p := &Predictions{LogProbs: mat.NewDense(1, 3, row)}
	arrays := p.Arrays()
	if len(arrays) != 1 || arrays[0].Name != "probs" {
		t.Fatalf("got %v", arrays)
	}
	if sum := mat.Sum(arrays[0].Value.(*mat.Dense)); !scalar.EqualWithinAbs(sum, 1, 1e-15) {
		t.Errorf("sums to %v", sum)
	}
}

// TestPredictionsOfMaskedClasses are 0, also of a method that did not look at the logits.
func TestPredictionsOfMaskedClasses(t *testing.T) {
	none, half := math.Inf(-1), math.Log(.5)
	x := &Set{Logits: mat.NewDense(3, 3, []float64{1, -1e9, 1, 0, 0, none, 0, 0, 0})}
	p, err := NewPredictions(mat.NewDense(3, 3, []float64{math.Log(.25), half, math.Log(.25), none, none, 0, half, half, none}), x)
	if err != nil {
		t.Fatal(err)
	}
	want := mat.NewDense(3, 3, []float64{half, none, half, half, half, none, half, half, none})
	for i := range 3 {
		for k := range 3 {
			if got := p.LogProbs.At(i, k); got != want.At(i, k) && !(math.Abs(got-want.At(i, k)) < 1e-15) {
				t.Errorf("row %d, class %d: %v, want %v", i, k, got, want.At(i, k))
			}
		}
	}
}
