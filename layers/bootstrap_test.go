package layers

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// shrunk is [Dirichlet] with a penalty: a Costed map.
type shrunk struct{ Dirichlet }

func (m shrunk) Loss(b *graph.Builder, in Batch, _ int) *gorgonia.Node {
	return PenalizedNLL(b, m.Dirichlet, in, 0.02, "dirichlet/weight", "dirichlet/bias")
}

// resampling is a map that is fitted to rows whose labels it draws itself, of which some are then drawn at random.
type resampling struct {
	Map
	rows          int
	spread, wrong float64 // of its weights about their start, and the share of labels at random
	seed          uint64  // of these weights
	free          int     // directions that nothing identifies
}

// problem is the rows, with the map's weights at the law.
func (r resampling) problem(t *testing.T, rng *rand.Rand) (*graph.Weights, Observed, Sizes) {
	sizes := Sizes{Classes: 3, Slots: 2, Codewords: 2, Counts: []float64{1, 1, 1}}
	view := &View{LogProbs: LogSoftmax(mat.NewDense(r.rows, 3, graph.Normals(r.rows*3, 0, 1.5, rng)))}
	for range r.rows * sizes.Slots {
		view.Codes = append(view.Codes, int32(rng.IntN(2)))
	}
	w, err := displaced(r.Map, sizes, r.spread, newRand(r.seed))
	if err != nil {
		t.Fatal(err)
	}
	p, err := view.Rows(tensor.Float64, sizes).Posterior(r.Map, w)
	if err != nil {
		t.Fatal(err)
	}
	labels := make([]int, r.rows)
	for i := range labels {
		if labels[i] = rng.IntN(3); rng.Float64() < r.wrong {
			continue
		}
		u := rng.Float64()
		for labels[i] = 0; labels[i] < 2 && u > math.Exp(p.At(i, labels[i])); labels[i]++ {
			u -= math.Exp(p.At(i, labels[i]))
		}
	}
	return w, Observed{View: view, Labels: labels}, sizes
}

// TestSandwichIsTheBootstraps: the standard errors of three maps are those of fits to resampled rows, off the
// directions that nothing identifies. A spread of 400 fits has a standard error of 3.5 %; of fewer fits, to 1,000 or
// 2,000 rows, the mean square is asked for. The law of the map that is not linear in its weights is its own, as the
// Gauss–Newton Hessian supposes: with a tenth of the labels at random single ratios were .7 to 1.7.
func TestSandwichIsTheBootstraps(t *testing.T) {
	if testing.Short() {
		t.Skip("120 fits take two seconds and more")
	}
	fits, all := 40, os.Getenv("CALIBRA_CHECK") == "all"
	if all {
		fits = 400
	}
	for _, r := range []resampling{
		{Map: Dirichlet{}, rows: 3000, spread: .5, wrong: .2, seed: 2, free: 4},
		{Map: shrunk{}, rows: 3000, spread: .5, wrong: .2, seed: 2},
		{Map: Bilinear{Prior: UniformPrior{}}, rows: 20000, spread: 1, seed: 7, free: 2},
	} {
		if !all {
			r.rows = max(1000, r.rows/10)
		}
		rng := newRand(5)
		w, observed, sizes := r.problem(t, rng)
		rows := observed.View.Rows(tensor.Float64, sizes).Labelled(graph.Labels(observed.Labels))
		fit := func(w *graph.Weights, rows *Rows) (theta []float64) {
			if _, err := optim.Minimize(t.Context(), optim.Problem{Loss: Objective(r.Map, w, rows), Rows: rows.Len()}, optim.LBFGS{Gradient: 1e-7}, rng); err != nil {
				t.Fatal(err)
			}
			for _, name := range w.Learned() {
				theta = append(theta, w.Float64s(name)...)
			}
			return theta
		}
		theta := fit(w, rows)
		s, err := NewSandwich(t.Context(), r.Map, w, observed, sizes, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Free) != r.free {
			t.Errorf("%s: %d directions are free, not %d: %v", NameOf(r.Map), len(s.Free), r.free, s.Free)
		}
		deviations := make([][]float64, len(theta)) // of each weight, those of the fits
		for range fits {
			index := make([]int, r.rows)
			for i := range index {
				index[i] = rng.IntN(r.rows)
			}
			at := fit(w.Clone(), rows.Of(index))
			floats.Sub(at, theta)
			for _, v := range s.Free {
				floats.AddScaled(at, -floats.Dot(v, at), v)
			}
			for i, d := range at {
				deviations[i] = append(deviations[i], d)
			}
		}
		covariance, squares := s.Covariance(), 0.0
		for i, d := range deviations {
			ratio := math.Sqrt(covariance.At(i, i)) / stat.StdDev(d, nil)
			squares += ratio * ratio
			if all && !(ratio > .9 && ratio < 1.1) {
				t.Errorf("%s, weight %d: the sandwich's error is %.3f of the bootstrap's", NameOf(r.Map), i, ratio)
			}
		}
		if mean := math.Sqrt(squares / float64(len(theta))); !(mean > .85 && mean < 1.15) { // 40 fits leave each 11 %
			t.Errorf("%s: the sandwich's errors are %.3f of the bootstrap's", NameOf(r.Map), mean)
		}
	}
}
