package diagnosis

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/experiments/internal/checked"
	"calibra/experiments/internal/checked/checkedtest"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestDesignOfWeights: the loss and the slopes of a correction are those of copies, and of a row for each class of a
// soft label.
func TestDesignOfWeights(t *testing.T) {
	l, labels, _, weights, soft := checkedtest.Weighed()
	s, err := checked.NewSample(l, labels, weights, soft)
	if err != nil {
		t.Fatal(err)
	}
	var parts []int
	of := &checked.Sample{Classes: s.Classes}
	for i := range s.N {
		s.EachShare(i, func(c int, q float64) {
			parts, of.Label, of.Weight = append(parts, i), append(of.Label, int32(c)), append(of.Weight, q*s.W(i))
		})
	}
	rng := rand.New(rand.NewPCG(8, 0))
	b := newBasis(ofPrediction, s.Log, nil, rng)
	all := func(s *checked.Sample, n int) *targets { return &targets{s, checked.FirstToLast(n), nil} }
	one, many := b.design(s.Log, nil, all(s, s.N)), b.design(checked.RowsOf(s.Log, parts), nil, all(of, len(parts)))
	theta := make([]float64, one.width*4)
	for i := range theta {
		theta[i] = rng.NormFloat64() / 10
	}
	slopes, want := make([]float64, len(theta)), make([]float64, len(theta))
	a, c := newLearner(one).gradient(theta, slopes), newLearner(many).gradient(theta, want)
	// sums of float32 products, whose rounding is 1e-7
	same := scalar.EqualWithinAbs(a, c, 1e-6) && scalar.EqualWithinAbs(a, one.loss(theta), 1e-6)
	if !same || !floats.EqualApprox(slopes, want, 1e-6) {
		t.Errorf("the loss is %v and of parts %v, with slopes %v and %v", a, c, slopes, want)
	}
	if a, b := one.loss(theta), many.loss(theta); !scalar.EqualWithinAbs(a, b, 1e-12) {
		t.Errorf("the loss is %v and of parts %v", a, b)
	}
}

// TestTwinsShareAFold, however often a row is in the file.
func TestTwinsShareAFold(t *testing.T) {
	l, labels, z, _, _ := checkedtest.Weighed()
	var rows []int
	for i := range labels {
		rows = append(rows, i, i)
	}
	twice, err := checked.NewSample(checked.RowsOf(l, rows), checked.Pick(labels, rows), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	fold := foldsOf(places(twice, checked.RowsOf(z, rows)), 5, rand.New(rand.NewPCG(4, 0)))
	once := folds(len(labels), 5, rand.New(rand.NewPCG(4, 0)))
	for i, k := range once {
		if fold[2*i] != k || fold[2*i+1] != k {
			t.Fatalf("row %d is in fold %d, its copies in %d and %d", i, k, fold[2*i], fold[2*i+1])
		}
	}
	if many := foldsOf(make([]int, 10), 5, rand.New(rand.NewPCG(4, 0))); slices.Max(many) == 0 {
		t.Error("rows of one place have one fold, which leaves none to learn from")
	}
}

// TestDiagnosisOfWeights: the same laws, and rows are told by their numbers in the file.
func TestDiagnosisOfWeights(t *testing.T) {
	l, labels, z, _, soft := checkedtest.Weighed()
	weights := make([]float64, len(labels))
	for i := range weights {
		weights[i] = float64(min(i, 80)%4) / 4 // rows beyond 80 count alike, every fourth before them not at all
		if i >= 80 {
			weights[i] = 1
		}
	}
	diagnose := func(l *mat.Dense, labels []int, z *mat.Dense, w []float64, q *mat.Dense) *Diagnosis {
		t.Helper()
		e := Examination{Redraws: 39, Search: SearchSettings{Rows: 30}, Rows: w, Soft: q}
		d, err := Diagnose(t.Context(), l, labels, z, e, rand.New(rand.NewPCG(5, 0)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Map(l, labels, z, e); err != nil {
			t.Fatal(err)
		}
		return d
	}
	var counting []int
	threefold := slices.Clone(weights)
	for i, w := range weights {
		if threefold[i] *= 3; w > 0 {
			counting = append(counting, i)
		}
	}
	text := func(d *Diagnosis) string {
		t.Helper()
		out, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	for _, q := range []*mat.Dense{nil, soft} {
		d := diagnose(l, labels, z, weights, q)
		if text(d) != text(diagnose(l, labels, z, threefold, q)) {
			t.Error("weights times 3 say otherwise")
		}
		s, err := checked.NewSample(l, labels, weights, q)
		if err != nil {
			t.Fatal(err)
		}
		for c, told := range d.Classes {
			var confidence, frequency float64
			for i := range s.N {
				confidence += s.W(i) * s.Probability(i, c) / s.Total()
				frequency += s.W(i) * s.Hit(i, c) / s.Total()
			}
			if !scalar.EqualWithinAbs(told.Confidence, confidence, 1e-12) || !scalar.EqualWithinAbs(told.Frequency, frequency, 1e-12) || !scalar.EqualWithinAbs(told.Gap, confidence-frequency, 1e-12) {
				t.Errorf("class %d said %v and was %v, by weight %v and %v", c, told.Confidence, told.Frequency, confidence, frequency)
			}
		}
		left := diagnose(checked.RowsOf(l, counting), checked.Pick(labels, counting), checked.RowsOf(z, counting), weightsAt(weights, counting), checked.RowsOf(q, counting))
		for k := range left.Regions {
			left.Regions[k].Rows, left.Regions[k].Prototype = checked.Pick(counting, left.Regions[k].Rows), checked.Pick(counting, left.Regions[k].Prototype)
		}
		if text(d) != text(left) {
			t.Errorf("rows of weight 0 count:\n%s\n%s", text(d), text(left))
		}
	}
	alike := make([]float64, len(labels))
	for i := range alike {
		alike[i] = 3
	}
	if text(diagnose(l, labels, z, alike, nil)) != text(diagnose(l, labels, z, nil, nil)) {
		t.Error("a weight of 3 for all is not no weight")
	}
}

func weightsAt(x []float64, rows []int) (out []float64) {
	for _, i := range rows {
		out = append(out, x[i])
	}
	return out
}
