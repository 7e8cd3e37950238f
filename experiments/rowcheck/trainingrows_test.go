package rowcheck_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/rowcheck"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/sampleuv"
)

// predicted are n rows of three classes: the logits are spread times standard normal numbers, the labels drawn from
// them and kept by the chances keep, and the logit of the label is then larger by the margin.
func predicted(n int, spread, margin float64, keep []float64, rng *rand.Rand) *data.Set {
	x := &data.Set{Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := 0; i < n; {
		row, p := x.Logits.RawRowView(i), make([]float64, 3)
		for j := range row {
			row[j] = spread * rng.NormFloat64()
			p[j] = math.Exp(row[j])
		}
		if x.Labels[i], _ = sampleuv.NewWeighted(p, rng).Take(); rng.Float64() < keep[x.Labels[i]] {
			row[x.Labels[i]] += margin
			i++
		}
	}
	return x
}

// Rows that the classifier knows better are told; where labels are shares of classes, or rows have weights, it is the
// same rows that are told and the same that are not. Classes that are more frequent, and rows that are harder and of
// which the classifier is less sure, are no reason.
func TestTrainingRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := []float64{1, 1, 1}
	cal, seen, test := predicted(600, 1, 0, all, rng), predicted(600, 1, 2, all, rng), predicted(600, 1, 0, all, rng)
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
		if r := rowcheck.TrainingRows(as(cal), as(test), layers.Comparison{}); r != nil {
			t.Errorf("%s: clean rows are told: %v", name, r)
		}
		r := rowcheck.TrainingRows(as(seen), as(test), layers.Comparison{})
		if r == nil || !strings.Contains(r.String(), "look like rows that the classifier was trained on") {
			t.Errorf("%s: rows of the training are not told: %v", name, r)
		}
	} // Of rows of the third class the classifier is mostly wrong, as it says too little of it.
	other := predicted(3000, 1, 0, []float64{.1, .1, 1}, rng)
	known := predicted(3000, 1, 0, []float64{1, 1, .1}, rng)
	for _, x := range []*data.Set{other, known} {
		for i := range x.Labels {
			x.Logits.Set(i, 2, x.Logits.At(i, 2)-1)
		}
	}
	if r := rowcheck.TrainingRows(known, other, layers.Comparison{}); r != nil {
		t.Errorf("other shares of the classes are told: %v", r)
	}
	if r := rowcheck.TrainingRows(predicted(3000, 3, 0, all, rng), predicted(3000, 1, 0, all, rng), layers.Comparison{}); r != nil {
		t.Errorf("harder rows are told: %v", r)
	}
}
