package baselines

import (
	"math"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// TestPlattIsThatOfMargins: the score of two classes is the difference of their logits, at any size, and the targets
// are Platt's, by hand: of rows of both classes with one score, σ(b) is the mean of the targets.
func TestPlattIsThatOfMargins(t *testing.T) {
	cal := &data.Set{Logits: mat.NewDense(5, 2, []float64{0, 3, 0, 3, 0, 3, 0, 3, 0, 3}), Labels: []int{1, 1, 1, 0, 0}}
	m := Platt(nil)
	fit(t, m, cal, nil)
	want := (3*4./5 + 2*1./4) / 5
	if got := math.Exp(predict(t, m, cal).LogProbs.At(0, 1)); math.Abs(got-want) > 1e-6 { // the fit's gradient
		t.Errorf("the probability is %v, not %v", got, want)
	}
	w := m.Weights().Clone()
	view := func(logits ...float64) mat.Matrix {
		x := &data.Set{Logits: data.LogProbs(mat.NewDense(1, len(logits), logits))}
		v, err := m.Base.View(x)
		if err != nil {
			t.Fatal(err)
		}
		in, err := plattMap{}.Inputs(v, w)
		if err != nil {
			t.Fatal(err)
		}
		return in["score"]
	}
	for _, margin := range []float64{-700, -40, -1e-9, 0, 2, 40, 700} {
		s, off := view(0, margin), 1e-12*math.Abs(margin)+1e-15 // rounding
		if math.Abs(s.At(0, 1)-margin) > off || math.Abs(s.At(0, 0)+margin) > off {
			t.Errorf("the scores of the logits 0 and %v are %v", margin, mat.Formatted(s))
		}
	}
	w.SetValues("platt/probabilities", []float64{1})
	if s := view(0, math.Log(3)); math.Abs(s.At(0, 1)-.75) > 1e-15 {
		t.Errorf("the scores of probabilities are %v", mat.Formatted(s))
	}
}
