package method

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// smallProblem is rows of three Gaussian classes in 8 dimensions with the logits of a
// classifier that is twice too sure.
func smallProblem(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := &data.Set{Features: mat.NewDense(n, 8, nil), Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := range n {
		y := rng.IntN(3)
		s.Labels[i] = y
		for j := range 8 {
			x := rng.NormFloat64()
			if j%3 == y {
				x += 1.5
			}
			data.Dense(s.Features).Set(i, j, x)
			s.Logits.Set(i, j%3, s.Logits.At(i, j%3)+x)
		}
	}
	return s
}

// small makes a method that fits the small problem fast.
func small(t *testing.T, m Method) layers.Stateful {
	t.Helper()
	o := Options{Epochs: map[string]int{"divide": 2, "calibrate": 2, "train": 2}}
	if m.Divides() {
		o.Values = Values{"codebook.slots": "4", "codebook.codewords": "8"}
	}
	c, _, err := m.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// distribution is an error unless every row of p is a distribution.
func distribution(p *data.Predictions) error {
	n, _ := p.LogProbs.Dims()
	for i := range n {
		row := p.LogProbs.RawRowView(i)
		if sum := math.Exp(floats.LogSumExp(row)); !(math.Abs(sum-1) <= 1e-6) || floats.HasNaN(row) {
			return fmt.Errorf("row %d is %v and sums to %v", i, row, sum)
		}
	}
	return nil
}

// TestPredictionsAreDistributionsOrErrors: whatever the rows and the weights of the model,
// a method predicts distributions or says in one sentence which row it cannot.
func TestPredictionsAreDistributionsOrErrors(t *testing.T) {
	cal, val := smallProblem(200, 1), smallProblem(60, 2)
	signs := func(size float64) func(i, j int, v float64) float64 {
		return func(i, j int, _ float64) float64 { return size * float64(1-2*((i+j)%2)) }
	}
	times := func(by float64) func(i, j int, v float64) float64 {
		return func(_, _ int, v float64) float64 { return by * v }
	}
	inputs := map[string]func(x *data.Set){
		"features 255 times larger": func(x *data.Set) { data.Dense(x.Features).Apply(times(255), x.Features) },
		"features of ±1e30":         func(x *data.Set) { data.Dense(x.Features).Apply(signs(1e30), x.Features) },
		"features of ±1e300":        func(x *data.Set) { data.Dense(x.Features).Apply(signs(1e300), x.Features) },
		"logits of ±1e4":            func(x *data.Set) { x.Logits.Apply(signs(1e4), x.Logits) },
		"logits of ±3e38":           func(x *data.Set) { x.Logits.Apply(signs(3e38), x.Logits) },
		"logits of ±1e300":          func(x *data.Set) { x.Logits.Apply(signs(1e300), x.Logits) },
		"logits of ±1.7e308":        func(x *data.Set) { x.Logits.Apply(signs(1.7e308), x.Logits) },
		"logits of 0 and −∞": func(x *data.Set) {
			x.Logits.Apply(func(i, j int, _ float64) float64 {
				if i%3 == j {
					return 0
				}
				return math.Inf(-1)
			}, x.Logits)
		},
	}
	said := func(t *testing.T, what string, c layers.Stateful, x *data.Set) {
		t.Helper()
		p, err := c.Predict(x)
		if err == nil {
			err = distribution(p)
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			return
		}
		if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "row") {
			t.Errorf("%s: the error is no sentence that names a row: %v", what, err)
		}
	}
	for _, m := range All {
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			c := small(t, m)
			if err := c.Fit(t.Context(), cal, val, rand.New(rand.NewPCG(3, 0))); err != nil {
				t.Fatal(err)
			}
			for what, change := range inputs {
				x := smallProblem(40, 4)
				change(x)
				said(t, what, c, x)
			}
			state, err := c.State()
			if err != nil {
				t.Fatal(err)
			}
			for _, size := range []float64{1e4, 1e18, 3e38, 1e300} {
				if size > math.MaxFloat32 && state.Weights.Dtype() != tensor.Float64 {
					continue
				}
				for _, name := range state.Weights.Names() {
					huge := state.Weights.Clone()
					values := huge.Float64s(name)
					for i := range values {
						values[i] = size * float64(1-2*(i%2))
					}
					huge.SetValues(name, values)
					again := small(t, m)
					if err := again.Restore(layers.State{Config: state.Config, Weights: huge}); err != nil {
						continue // refused
					}
					said(t, fmt.Sprintf("%s of ±%g", name, size), again, smallProblem(40, 4))
				}
			}
		})
	}
}
