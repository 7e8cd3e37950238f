package layers_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// maskedRows are rows of four classes, of which one that is not the label cannot be in every second row.
func maskedRows(n int, mask float64) *data.Set {
	rng := rand.New(rand.NewPCG(5, 5))
	x := &data.Set{Logits: mat.NewDense(n, 4, nil), Labels: make([]int, n)}
	for i := range n {
		for k := range 4 {
			x.Logits.Set(i, k, 2*rng.NormFloat64())
		}
		x.Labels[i] = rng.IntN(4)
		if i%2 == 0 {
			x.Logits.Set(i, (x.Labels[i]+1)%4, mask)
		}
	}
	return x
}

// TestMaskedClasses have probability 0 and count for nothing: a map that multiplies log p̂ by a matrix predicts of a
// row what the matrix without the class does, in either precision.
func TestMaskedClasses(t *testing.T) {
	const mask = -1e9
	x := maskedRows(60, mask)
	weights := graph.NewWeights(tensor.Float64)
	rng := rand.New(rand.NewPCG(6, 6))
	weights.Add("dirichlet/weight", graph.Normals(16, 0, 1, rng), 4, 4)
	weights.Add("dirichlet/bias", graph.Normals(4, 0, 1, rng), 4)
	w, b := weights.Float64s("dirichlet/weight"), weights.Float64s("dirichlet/bias")
	base := &layers.Original{}
	if err := base.Fit(t.Context(), x, nil, nil); err != nil {
		t.Fatal(err)
	}
	for dt, tolerance := range map[tensor.Dtype]float64{tensor.Float64: 1e-12, tensor.Float32: 1e-5} {
		view, err := base.View(x)
		if err != nil {
			t.Fatal(err)
		}
		got, err := view.Rows(dt, base.Sizes()).Posterior(layers.Dirichlet{}, weights.As(dt))
		if err != nil {
			t.Fatal(err)
		}
		for i := range 60 {
			logp, scores, sum := view.LogProbs.RawRowView(i), make([]float64, 4), 0.0
			for j := range scores {
				scores[j] = b[j]
				for k, l := range logp {
					if !data.Masked(l) {
						scores[j] += l * w[4*k+j]
					}
				}
				if !data.Masked(logp[j]) {
					sum += math.Exp(scores[j])
				}
			}
			for j, s := range scores {
				want := math.Exp(s) / sum
				if data.Masked(logp[j]) {
					want = 0
				}
				if p := math.Exp(got.At(i, j)); !(math.Abs(p-want) <= tolerance) {
					t.Fatalf("%v, row %d, class %d: %v, want %v", dt, i, j, p, want)
				}
			}
		}
	}
}

// TestMasksOfAnyDepth give one fit, by minibatches in single precision and by all rows in double.
func TestMasksOfAnyDepth(t *testing.T) {
	for name, fit := range map[string]func() layers.Calibrator{
		"temperature": func() layers.Calibrator { return &layers.Temperature{} },
		"dirichlet": func() layers.Calibrator {
			return layers.Train(&layers.Original{}, layers.Dirichlet{}, optim.Settings{Epochs: 3, Batch: 16})
		},
	} {
		var first *mat.Dense
		for _, mask := range []float64{-1000, -65504, -1e20, math.Inf(-1)} {
			x, c := maskedRows(80, mask), fit()
			if err := c.Fit(t.Context(), x, nil, rand.New(rand.NewPCG(7, 7))); err != nil {
				t.Fatalf("%s of %g: %v", name, mask, err)
			}
			p, err := c.Predict(x)
			if err != nil {
				t.Fatalf("%s of %g: %v", name, mask, err)
			}
			if first == nil {
				first = p.LogProbs
			} else if !mat.Equal(first, p.LogProbs) {
				t.Errorf("%s: a mask of %g gives other predictions than one of −1000", name, mask)
			}
		}
		x := maskedRows(80, -1000)
		x.Labels[8] = (x.Labels[8] + 1) % 4
		if err := fit().Fit(t.Context(), x, nil, rand.New(rand.NewPCG(7, 7))); err == nil || !strings.Contains(err.Error(), "row 8 has the label") {
			t.Errorf("%s of a label that is masked: %v", name, err)
		}
	}
}

// TestTemperatureWithoutAClass is that of rows that never had it.
func TestTemperatureWithoutAClass(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	with, without := mat.NewDense(200, 4, nil), mat.NewDense(200, 3, nil)
	labels := make([]int, 200)
	for i := range 200 {
		for k := range 3 {
			without.Set(i, k, 3*rng.NormFloat64())
			with.Set(i, k, without.At(i, k))
		}
		with.Set(i, 3, -1e9)
		labels[i] = rng.IntN(3)
		if rng.IntN(2) == 0 {
			labels[i] = floats.MaxIdx(without.RawRowView(i))
		}
	}
	var masked, never layers.Temperature
	if err := errors.Join(masked.Fit(t.Context(), &data.Set{Logits: with, Labels: labels}, nil, nil), never.Fit(t.Context(), &data.Set{Logits: without, Labels: labels}, nil, nil)); err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(masked.T()/never.T()-1) < 1e-9) { // both bisect one range to one derivative
		t.Errorf("T is %v, and %v without the class", masked.T(), never.T())
	}
}
