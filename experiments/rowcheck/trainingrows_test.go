package rowcheck_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/mat"
)

// predicted are n rows of three classes whose label's logit is larger by the margin.
func predicted(n int, margin float64, rng *rand.Rand) *data.Set {
	x := &data.Set{Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := range n {
		x.Labels[i] = rng.IntN(3)
		for j := range 3 {
			x.Logits.Set(i, j, rng.NormFloat64())
		}
		x.Logits.Set(i, x.Labels[i], x.Logits.At(i, x.Labels[i])+margin)
	}
	return x
}

// Rows that the classifier knows better are told; where labels are shares of classes, or rows have weights, it is
// the same rows that are told and the same that are not.
func TestTrainingRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	cal, seen, test := predicted(600, 2, rng), predicted(600, 6, rng), predicted(600, 2, rng)
	shares := func(x *data.Set) *data.Set {
		out := *x
		out.Soft = mat.NewDense(600, 3, nil)
		for i, y := range x.Labels {
			out.Soft.SetRow(i, []float64{.05, .05, .05})
			out.Soft.Set(i, y, .9)
		}
		return &out
	}
	weights := func(x *data.Set) *data.Set {
		out := *x
		out.Weights = make([]float64, 600)
		for i := range out.Weights {
			out.Weights[i] = .5 + float64(i%4)
		}
		return &out
	}
	for name, as := range map[string]func(*data.Set) *data.Set{"labels": func(x *data.Set) *data.Set { return x }, "shares": shares, "weights": weights} {
		if r := rowcheck.TrainingRows(as(cal), as(test)); r != nil {
			t.Errorf("%s: clean rows are told: %v", name, r)
		}
		r := rowcheck.TrainingRows(as(seen), as(test))
		if r == nil || !strings.Contains(r.String(), "look like rows that the classifier was trained on") {
			t.Errorf("%s: rows of the training are not told: %v", name, r)
		}
	}
}
