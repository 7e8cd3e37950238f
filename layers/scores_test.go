package layers

import (
	"math"
	"testing"

	"gorgonia.org/tensor"
)

// TestScoresAreDifferences: the scores of each map are what central differences of its log-probabilities say, in each
// weight and in log p̂; of a class that cannot be they are 0.
func TestScoresAreDifferences(t *testing.T) {
	view, _, sizes := region(1)
	view.LogProbs.Set(2, 1, math.Inf(-1))
	Renormalize(view.LogProbs)
	for name, variants := range allMaps {
		for _, m := range variants {
			w, err := displaced(m, sizes, away(m, sizes), newRand(3))
			if err != nil {
				t.Fatal(err)
			}
			if w.Size() == 0 {
				continue
			}
			scores, err := NewScores(m, w, view, sizes)
			if err != nil {
				t.Fatal(err)
			}
			logq := func(v *View, row int) []float64 {
				p, err := v.Rows(tensor.Float64, sizes).Posterior(m, w)
				if err != nil {
					t.Fatal(err)
				}
				return p.RawRowView(row)
			}
			const h = 1e-5 // an error of h² and of 1e-16/h
			differ := func(row int, got func(j int) float64, x *float64) {
				at := *x
				*x = at + h
				up := logq(view, row)
				*x = at - h
				down := logq(view, row)
				*x = at
				for j := range up {
					want := (up[j] - down[j]) / (2 * h)
					if math.IsInf(up[j], -1) {
						want = 0
					}
					if g := got(j); !(math.Abs(g-want) <= 1e-7*math.Max(1, math.Abs(want))) {
						t.Errorf("%s, row %d, class %d: the score is %g, differences say %g", name, row, j, g, want)
					}
				}
			}
			for row := range 3 {
				if err := scores.Set(row); err != nil {
					t.Fatal(err)
				}
				p := 0
				for _, of := range w.Learned() {
					values := w.Tensor(of).Float64s()
					for i := range values {
						differ(row, func(j int) float64 { return scores.ByWeight.At(j, p) }, &values[i])
						p++
					}
				}
				for i, l := range view.LogProbs.RawRowView(row) {
					if !math.IsInf(l, -1) {
						differ(row, func(j int) float64 { return scores.ByInput.At(j, i) }, &view.LogProbs.RawRowView(row)[i])
					}
				}
			}
		}
	}
}
