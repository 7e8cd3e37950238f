package optim_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// problem is a loss with a known minimum.
type problem struct {
	make    func(dt tensor.Dtype) optim.Problem
	optimum map[string][]float64
}

// quadratic is ½ Σ_i h_i (x_i − i)² with curvatures 1 and 10.
var quadratic = problem{
	make: func(dt tensor.Dtype) optim.Problem {
		w := graph.NewWeights(dt)
		w.Add("x", []float64{3, -2}, 2)
		target, curvature := graph.Tensor(dt, []float64{0, -1}, 2), graph.Tensor(dt, []float64{.5, 5}, 2)
		return optim.Problem{Rows: 1, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			d := b.Plus(b.Weight("x"), b.Table("target", target))
			return b.Apply(op.Sum(1), b.Times(b.Table("curvature", curvature), b.Times(d, d)))
		})}
	},
	optimum: map[string][]float64{"x": {0, 1}},
}

// regression is logistic regression on separate rows whose optimum is known in
// closed form: with one indicator per class the best logits are log frequencies,
// up to a constant that the starting point and the symmetry of the steps fix at 0.
var regression = problem{
	make: func(dt tensor.Dtype) optim.Problem {
		w := graph.NewWeights(dt)
		w.Add("logits", []float64{0, 0}, 2)
		labels := graph.Labels([]int{0, 0, 0, 1, 0, 0, 0, 1})
		zero := graph.Tensor(dt, make([]float64, 16), 8, 2)
		return optim.Problem{Rows: 8, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			return b.NLL(b.LogSoftmax(b.AddRow(b.Take("zero", zero), b.Weight("logits"))), b.Take("labels", labels))
		})}
	},
	optimum: map[string][]float64{"logits": {math.Log(3) / 2, -math.Log(3) / 2}},
}

// TestDecoupledDecay: without a gradient, coupled decay moves Adam by its full rate,
// decoupled decay shrinks the weight by ηλ.
func TestDecoupledDecay(t *testing.T) {
	flat := func() optim.Problem {
		w := graph.NewWeights(tensor.Float64)
		w.Add("x", []float64{1}, 1)
		return optim.Problem{Rows: 1, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			return b.Apply(op.Sum(1), b.Apply(op.Scale(1, 0), b.Weight("x")))
		})}
	}
	for _, c := range []struct {
		rule optim.Rule
		want float64
	}{
		{optim.Adam{Rate: 0.1, WeightDecay: 0.5}, 1 - 0.1},
		{optim.AdamW{Rate: 0.1, WeightDecay: 0.5}, 1 - 0.1*0.5},
		{optim.SGD{Rate: 0.1, WeightDecay: 0.5}, 1 - 0.1*0.5},
		{optim.Lion{Rate: 0.1, WeightDecay: 0.5}, 1 - 0.1*0.5},
		{optim.AdamW{Rate: 0.1, WeightDecay: 0.5, Mask: func(name string) bool { return name != "x" }}, 1},
		{optim.Chain{optim.Moments{}, optim.Decay{Strength: 0.5}, optim.Rate{Rate: 0.1}}, 1 - 0.1*0.5},
		{optim.Chain{optim.AdamW{Rate: 0.1, WeightDecay: 0.5}, optim.Scheduled{By: optim.WarmUp{Steps: 2}}}, 1 - 0.1*0.5/2},
	} {
		p := flat()
		if _, err := optim.Minimize(t.Context(), p, optim.Settings{Rule: c.rule, Epochs: 1}, rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Fatal(err)
		}
		if got := p.Loss.Weights().Float64s("x")[0]; !scalar.EqualWithinAbs(got, c.want, 1e-7) { // Adam's ε = 1e-8
			t.Errorf("%+v: x = %v, not %v", c.rule, got, c.want)
		}
	}
}

func TestEarlyStoppingRestoresTheBest(t *testing.T) {
	p := quadratic.make(tensor.Float64)
	var seen [][]float64
	losses := []float64{5, 3, 4, 2, 6, 7, 8, 9}
	p.Validation = func(graph.Session) (float64, error) {
		seen = append(seen, p.Loss.Weights().Float64s("x"))
		return losses[len(seen)-1], nil
	}
	r, err := optim.Minimize(t.Context(), p, optim.Settings{Rule: optim.SGD{Rate: 1e-3}, Patience: 3}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if r.Best != 4 || r.Epochs != 7 || r.Validation != 2 || !r.Converged() {
		t.Errorf("the fit ended with %+v", r)
	}
	if got := p.Loss.Weights().Float64s("x"); !slices.Equal(got, seen[3]) {
		t.Errorf("the weights are %v, those of epoch 4 were %v", got, seen[3])
	}
}

func TestSameSeedSameWeights(t *testing.T) {
	fit := func(seed uint64) []float64 {
		p := regression.make(tensor.Float32)
		if _, err := optim.Minimize(t.Context(), p, optim.Settings{Batch: 3, Epochs: 5}, rand.New(rand.NewPCG(seed, 0))); err != nil {
			t.Fatal(err)
		}
		return p.Loss.Weights().Float64s("logits")
	}
	if a, b := fit(1), fit(1); !slices.Equal(a, b) {
		t.Errorf("one seed gives %v and %v", a, b)
	}
	if a, b := fit(1), fit(2); slices.Equal(a, b) {
		t.Error("the seed does not matter: rows are not shuffled")
	}
}

func TestNonFiniteLossIsNamed(t *testing.T) {
	w := graph.NewWeights(tensor.Float32)
	w.Add("steep", []float64{100}, 1) // beyond the range of exp in float32
	p := optim.Problem{Rows: 2, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		return b.Apply(op.Sum(1), b.Apply(op.Exp(1), b.Weight("steep")))
	})}
	_, err := optim.Minimize(t.Context(), p, optim.Settings{Batch: 1}, rand.New(rand.NewPCG(1, 1)))
	for _, want := range []string{"epoch 1", "batch 1", "not finite", "exp"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
}

func TestCancellationKeepsTheBest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := quadratic.make(tensor.Float64)
	_, err := optim.Minimize(ctx, p, optim.Settings{Observe: func(e optim.Epoch) {
		if e.Number == 3 {
			cancel()
		}
	}}, rand.New(rand.NewPCG(1, 1)))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "weights of epoch 3 are kept") {
		t.Errorf("the interruption is reported as %v", err)
	}
}

func TestBisect(t *testing.T) {
	parabola := func(at float64) optim.Problem {
		w := graph.NewWeights(tensor.Float64)
		w.Add("x", []float64{0}, 1)
		target := graph.Tensor(tensor.Float64, []float64{-at}, 1)
		return optim.Problem{Rows: 1, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			d := b.Plus(b.Weight("x"), b.Table("target", target))
			return b.Apply(op.Sum(1), b.Times(d, d))
		})}
	}
	p := parabola(0.3)
	r, err := optim.Minimize(t.Context(), p, optim.Bisect{Low: -1, High: 1, Tolerance: 1e-8}, nil)
	if err != nil || !r.Converged() || r.Epochs > 5 || !scalar.EqualWithinAbs(p.Loss.Weights().Float64s("x")[0], 0.3, 1e-8) {
		t.Errorf("the minimum is found at %v: %+v %v", p.Loss.Weights().Float64s("x"), r, err)
	}
	p = parabola(7)
	r, err = optim.Minimize(t.Context(), p, optim.Bisect{Low: -1, High: 1, Tolerance: 1e-8}, nil)
	if err != nil || r.Converged() || !strings.Contains(r.Ended, "bound 1") {
		t.Errorf("a minimum beyond the bound ends with %+v %v", r, err)
	}
}
