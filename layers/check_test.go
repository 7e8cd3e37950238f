package layers

import (
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/optim"

	"gorgonia.org/gorgonia"
)

// unmoved learns a weight that its posterior does not depend on.
type unmoved struct{ Dirichlet }

func (unmoved) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node { return b.LogSoftmax(in.LogProbs) }

// TestCheckMapFindsFaults: the paper's map passes, a map whose loss does not depend on its
// weights and one without the input that it reads do not.
func TestCheckMapFindsFaults(t *testing.T) {
	if err := CheckMap(Bilinear{}, newRand(1)); err != nil {
		t.Error(err)
	}
	if err := CheckMap(unmoved{}, newRand(1)); err == nil || !strings.Contains(err.Error(), "does not depend") {
		t.Errorf("weights without use: %v", err)
	}
	if err := CheckMap(reader{}, newRand(1)); err == nil || !strings.Contains(err.Error(), "needs a base that gives") {
		t.Errorf("an input that is not there: %v", err)
	}
}

// reader reads an input that no base has.
type reader struct{ Dirichlet }

func (reader) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Linear("dirichlet", in.Input(b, "nothing")))
}

// scorer gives scores where log-probabilities are asked for.
type scorer struct{ Dirichlet }

func (scorer) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.Linear("dirichlet", in.LogProbs)
}

// A map whose log-probabilities are not normalized is named before it is fitted, and so is one
// that is read from elsewhere.
func TestUnnormalizedMap(t *testing.T) {
	c := Train(&Original{}, scorer{}, optim.Settings{Epochs: 1})
	if err := c.Fit(t.Context(), blobs(100, 1), blobs(50, 2), newRand(1)); err == nil || !strings.Contains(err.Error(), "layers.scorer gives row 0 probabilities that sum to") {
		t.Errorf("a fit of scores ends with %v", err)
	}
	base := &Original{}
	if err := base.Fit(t.Context(), blobs(100, 1), nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	w, err := scorer{}.Init(base.Sizes(), newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Fitted(base, scorer{}, w).Predict(blobs(10, 3)); err == nil || !strings.Contains(err.Error(), "layers.scorer gives row") {
		t.Errorf("a prediction of scores ends with %v", err)
	}
}

// asked notes for how many rows its loss is described.
type asked struct {
	Dirichlet
	rows map[int]bool
}

func (m asked) Loss(b *graph.Builder, in Batch, rows int) *gorgonia.Node {
	m.rows[rows] = true
	return b.Plus(b.NLL(m.LogProbs(b, in), in.Labels(b)), Penalty(b, "dirichlet/weight", 1/float64(rows)))
}

// A penalty weighs the same on validation rows as in the fit: as a share of the rows fitted.
func TestPenaltyOnValidationRows(t *testing.T) {
	m := asked{rows: map[int]bool{}}
	if err := Train(&Original{}, m, optim.Settings{Epochs: 2}).Fit(t.Context(), blobs(90, 1), blobs(10, 2), newRand(1)); err != nil {
		t.Fatal(err)
	}
	if len(m.rows) != 1 || !m.rows[90] {
		t.Errorf("the loss is asked for %v rows, not for the 90 that are fitted", m.rows)
	}
}

// capped has min(C, 100) weights beside those of Dirichlet: no polynomial in C.
type capped struct{ Dirichlet }

func (m capped) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := m.Dirichlet.Init(s, rng)
	w.Add("capped/extra", make([]float64, min(s.Classes, 100)), min(s.Classes, 100))
	return w, err
}

// A model is read back whatever its map makes of many classes, and a number of classes that the
// saved values do not go with is refused before the map is made that large.
func TestRestoreOfManyClasses(t *testing.T) {
	sizes := func(c int) Sizes { return Sizes{Classes: c, Counts: make([]int, c)} }
	for _, c := range []int{2, 64, 65, 200, 300} {
		saved, err := capped{}.Init(sizes(c), newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		got, err := RestoreWeights(capped{}, sizes(c), saved)
		if err != nil {
			t.Errorf("%d classes: %v", c, err)
			continue
		}
		for _, name := range saved.Names() {
			near(t, name, got.Float64s(name), saved.Float64s(name), 0)
		}
		if _, err := RestoreWeights(capped{}, sizes(100_000), saved); err == nil || !strings.Contains(err.Error(), "of 100000 classes has more than") {
			t.Errorf("a claim of 100,000 classes ends with %v", err)
		}
	}
}
