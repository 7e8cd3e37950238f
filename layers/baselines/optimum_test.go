package baselines_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers"
	"calibra/layers/baselines"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// overlapping are N rows of C classes whose label has a larger logit on average; their classes overlap.
func overlapping(n, classes int, rng *rand.Rand) *data.Set {
	x := &data.Set{Logits: mat.NewDense(n, classes, nil), Labels: make([]int, n)}
	for i := range n {
		row := x.Logits.RawRowView(i)
		for k := range row {
			row[k] = rng.NormFloat64()
		}
		x.Labels[i] = rng.IntN(classes)
		row[x.Labels[i]]++
	}
	return x
}

// separated are rows whose label has the largest logit, by the margin at least.
func separated(n, classes int, margin float64, rng *rand.Rand) *data.Set {
	x := overlapping(n, classes, rng)
	for i, y := range x.Labels {
		row := x.Logits.RawRowView(i)
		for k := range row {
			if k != y {
				row[k] = min(row[k], row[y]-margin*(1+rng.ExpFloat64()))
			}
		}
	}
	return x
}

// optimum is how a fit ended.
func optimum(t *testing.T, m layers.Stateful, x *data.Set) optim.Optimum {
	t.Helper()
	if err := m.Fit(t.Context(), x, nil, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	o := m.(layers.Staged).Stages()[0].Result.Optimum
	if o == nil {
		t.Fatal("the fit does not say whether it ended at an optimum")
	}
	return *o
}

// Rows that a map tells apart leave a likelihood without an optimum, whatever the memory of the optimizer; a penalty
// gives it one.
func TestSeparableRowsHaveNoOptimum(t *testing.T) {
	for _, classes := range []int{2, 3, 10} {
		for _, margin := range []float64{0.01, 0.3, 2} {
			for seed := range uint64(2) {
				x := separated(100+400*int(seed), classes, margin, rand.New(rand.NewPCG(seed, 7)))
				for name, m := range map[string]layers.Stateful{
					"dc": &baselines.Dirichlet{}, "dc with another memory": &baselines.Dirichlet{Method: optim.LBFGS{Store: 5}},
					"vector": baselines.Vector(nil, 0), "ts": &layers.Temperature{},
				} {
					if o := optimum(t, m, x); o.Reached || o.Why == "" {
						t.Errorf("%s, %d classes, margin %g, seed %d: %+v", name, classes, margin, seed, o)
					}
				}
				for name, m := range map[string]layers.Stateful{
					"sm": baselines.Structured(nil, 0), "sv": baselines.StructuredVector(nil, 0), "ts": &layers.Temperature{Prior: 0.2},
				} {
					if o := optimum(t, m, x); !o.Reached {
						t.Errorf("%s with its penalty, %d classes, margin %g, seed %d: %+v", name, classes, margin, seed, o)
					}
				}
			}
		}
	}
}

// One class that is told apart from all others has no optimum either, while the gradient is small beside its sampling
// size, which the other classes make.
func TestOneSeparableClassHasNoOptimum(t *testing.T) {
	for _, n := range []int{150, 1000} {
		x := overlapping(n, 3, rand.New(rand.NewPCG(1, 9)))
		for i, y := range x.Labels {
			row := x.Logits.RawRowView(i)
			if most := max(row[0], row[1]); y == 2 {
				row[2] = max(row[2], most+1)
			} else {
				row[2] = min(row[2], row[y]-1, most-1)
			}
		}
		if o := optimum(t, baselines.Vector(nil, 0), x); o.Reached || o.Gradient > 0.01*o.Sampling {
			t.Errorf("vector scaling of %d rows: %+v", n, o)
		}
	}
}

// Fits that end before their optimum say so.
func TestFitsThatEndEarlySaySo(t *testing.T) {
	x := overlapping(500, 3, rand.New(rand.NewPCG(4, 9)))
	if o := optimum(t, &baselines.Dirichlet{Method: optim.LBFGS{Iterations: 2}}, x); o.Reached || !strings.Contains(o.Why, "sampling size") {
		t.Errorf("two iterations: %+v", o)
	}
}

// Of 20 ordinary problems none is found without an optimum: .05 of them would be one.
func TestOrdinaryRowsHaveAnOptimum(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 8))
		classes := []int{2, 3, 5, 10}[seed%4]
		x := overlapping([]int{200, 500, 1000}[seed%3], classes, rng)
		if seed%5 == 4 {
			x.Weights = make([]float64, x.Len())
			for i := range x.Weights {
				x.Weights[i] = distuv.Pareto{Xm: 1, Alpha: 2.5, Src: rng}.Rand()
			}
		}
		for name, m := range map[string]layers.Stateful{
			"dc": &baselines.Dirichlet{}, "vector": baselines.Vector(nil, 0), "beta": baselines.Beta(nil), "ps": baselines.Platt(nil), "ps with C": baselines.PlattVector(1, nil),
			"sm": baselines.Structured(nil, 0), "sv": baselines.StructuredVector(nil, 0), "ts": &layers.Temperature{},
			"dc-odir": &baselines.DirichletODIR{},
		} {
			if o := optimum(t, m, x); !o.Reached {
				t.Errorf("%s, %d rows of %d classes, seed %d: %+v", name, x.Len(), classes, seed, o)
			}
		}
	}
}

// A fit repeats to the bit, and so does what it says of its optimum.
func TestOptimumRepeats(t *testing.T) {
	x := separated(300, 3, 0.1, rand.New(rand.NewPCG(2, 2)))
	said := func() string {
		m := &baselines.Dirichlet{}
		o := optimum(t, m, x)
		return fmt.Sprintf("%x %+v", m.Weights().Float64s("dirichlet/weight"), o)
	}
	if first, again := said(), said(); first != again {
		t.Errorf("%s\nand then\n%s", first, again)
	}
}

// Intervals name the weights that the rows do not identify, of a fit and of one that was saved.
func TestIntervalsNameWhatIsNotIdentified(t *testing.T) {
	x := separated(300, 3, 0.1, rand.New(rand.NewPCG(2, 2)))
	fitted, restored := baselines.Vector(nil, 0), baselines.Vector(nil, 0)
	optimum(t, fitted, x)
	state, err := fitted.State()
	if err != nil {
		t.Fatal(err)
	}
	if err := restored.Restore(state); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]*baselines.Smooth{"fitted": fitted, "restored": restored} {
		_, _, err := m.Bounds(t.Context(), x, x, 0.9)
		if err == nil || !strings.Contains(err.Error(), "do not identify") || !strings.Contains(err.Error(), "vector/scale[") {
			t.Errorf("%s: %v", name, err)
		}
	}
	ordinary := overlapping(300, 3, rand.New(rand.NewPCG(2, 2)))
	optimum(t, fitted, ordinary)
	if _, _, err := fitted.Bounds(t.Context(), ordinary, ordinary, 0.9); err != nil {
		t.Error(err)
	}
}
