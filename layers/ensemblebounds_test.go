package layers

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// told is a member whose logits of the first of two classes are given, with their standard error from the rows.
type told struct {
	remembers
	logits []float64
	error  float64
}

func (m *told) Predict(x *data.Set) (*data.Predictions, error) {
	p := mat.NewDense(len(m.logits), 2, nil)
	for i, l := range m.logits {
		p.SetRow(i, []float64{-math.Log1p(math.Exp(-l)), -math.Log1p(math.Exp(l))})
	}
	return data.NewPredictions(p, x)
}

func (m *told) Unbounded() error {
	if m.error == 0 {
		return errors.New("nothing would move it")
	}
	return nil
}

func (m *told) Sizes() Sizes { return Sizes{Classes: 2} }

func (m *told) Bounds(_ context.Context, _, _ *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	reach := m.error * distuv.UnitNormal.Quantile(0.5+level/2)
	lower, upper = mat.NewDense(len(m.logits), 2, nil), mat.NewDense(len(m.logits), 2, nil)
	for i, l := range m.logits {
		lower.SetRow(i, []float64{sigmoid(l - reach), sigmoid(-l - reach)})
		upper.SetRow(i, []float64{sigmoid(l + reach), sigmoid(-l + reach)})
	}
	return lower, upper, nil
}

// TestEnsembleBoundsCover: where the rows err by σ in all members alike and each draw by τ, intervals of 90 % hold 90 %
// of the true posteriors; one member has its own.
func TestEnsembleBoundsCover(t *testing.T) {
	const rows, level = 4000, 0.9
	for _, law := range []struct {
		members   int
		rows, own float64
	}{{1, 0.5, 0}, {2, 0.5, 0.3}, {3, 0.1, 0.5}, {5, 0.5, 0}, {5, 0.3, 0.6}, {10, 0.01, 1}} {
		rng := rand.New(rand.NewPCG(uint64(law.members), 0))
		var members []Stateful
		truth, shared := make([]float64, rows), make([]float64, rows)
		for i := range truth {
			truth[i] = 2 * rng.NormFloat64()
			shared[i] = truth[i] + law.rows*rng.NormFloat64()
		}
		for range law.members {
			m := &told{error: law.rows, logits: make([]float64, rows)}
			for i, l := range shared {
				m.logits[i] = l + law.own*rng.NormFloat64()
			}
			members = append(members, m)
		}
		e := &Ensemble{Members: members, fitted: len(members)}
		x := &data.Set{Labels: make([]int, rows)}
		lower, upper, err := e.Bounds(t.Context(), nil, x, level)
		if err != nil {
			t.Fatal(err)
		}
		held := 0.0
		for i, l := range truth {
			if q := sigmoid(l); lower.At(i, 0) <= q && q <= upper.At(i, 0) {
				held += 1. / rows
			}
			if d := lower.At(i, 0) + upper.At(i, 1) - 1; math.Abs(d) > 1e-12 {
				t.Fatalf("%+v: the intervals of two classes are no mirror images: %g", law, d)
			}
		}
		// four standard errors of 4,000 rows; the degrees of freedom are approximate
		if math.Abs(held-level) > 4*math.Sqrt(level*(1-level)/rows)+0.005 {
			t.Errorf("%+v: intervals of 90 %% hold %.3f", law, held)
		}
	}
}

// TestEnsembleBoundsRefuse where no member has any; a member that nothing would move is as sure as it says.
func TestEnsembleBoundsRefuse(t *testing.T) {
	still, moved := &told{logits: []float64{1}}, &told{logits: []float64{1}, error: 1}
	x := &data.Set{Labels: []int{0}}
	if _, _, err := (&Ensemble{Members: []Stateful{still, still}, fitted: 2}).Bounds(t.Context(), nil, x, 0.9); err == nil {
		t.Error("members without bounds have some together")
	}
	if err := (&Ensemble{Members: []Stateful{&remembers{}}, fitted: 1}).Unbounded(); err == nil {
		t.Error("a method without bounds has some as a member")
	}
	half, _, err := (&Ensemble{Members: []Stateful{still, moved}, fitted: 2}).Bounds(t.Context(), nil, x, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := half.At(0, 0), sigmoid(1-0.5*distuv.UnitNormal.Quantile(0.95)); math.Abs(got-want) > 1e-12 {
		t.Errorf("half the members move half as far: %v, not %v", got, want)
	}
	if _, _, err := (&Ensemble{Members: []Stateful{moved, moved}, fitted: 2}).BoundsOfStages(t.Context(), nil, x, 0.9); err == nil {
		t.Error("bounds of two stages of members that have none")
	}
}
