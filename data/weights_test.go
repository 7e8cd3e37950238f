package data

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// weighed are rows of two logits, which tell their numbers, with these weights.
func weighed(weights ...float64) *Set {
	n := len(weights)
	s := &Set{Logits: mat.NewDense(n, 2, nil), Labels: make([]int, n), Weights: weights}
	for i := range n {
		s.Logits.Set(i, 0, float64(i))
		s.Labels[i] = i % 2
	}
	return s
}

// TestForFit: weights of the rows that count sum to their number, whatever they are multiplied by, to the bit.
func TestForFit(t *testing.T) {
	s := weighed(1, 0, 3, .25, 0, 1.75)
	fit := s.ForFit()
	if !slices.Equal(fit.Numbers, []int{0, 2, 3, 5}) || !slices.Equal(fit.Labels, []int{0, 0, 1, 1}) {
		t.Errorf("the rows %v with labels %v are fitted to", fit.Numbers, fit.Labels)
	}
	if want := []float64{2. / 3, 2, 1. / 6, 7. / 6}; floats.Distance(fit.Weights, want, math.Inf(1)) > 0x1p-23 { // of float32
		t.Errorf("weights %v, want %v", fit.Weights, want)
	}
	rng := rand.New(rand.NewPCG(1, 0))
	for range 200 {
		many := weighed(make([]float64, 300)...)
		for i := range many.Weights {
			many.Weights[i] = rng.ExpFloat64()
		}
		c := math.Exp(20 * rng.NormFloat64())
		times := weighed(Each(many.Weights, func(w float64) float64 { return c * w })...)
		if !slices.Equal(many.ForFit().Weights, times.ForFit().Weights) {
			t.Fatalf("weights times %v are other weights", c)
		}
	}
	if alike := weighed(2.5, 0, 2.5, 2.5).ForFit(); alike.Weights != nil || alike.Len() != 3 {
		t.Errorf("equal weights are %v of %d rows", alike.Weights, alike.Len())
	}
	if huge := weighed(1e308, 5e307, 1e-300).ForFit(); !(floats.Sum(huge.Weights) > 2.99) {
		t.Errorf("large weights are %v", huge.Weights)
	}
	if weighed(0, 0).ForFit() != nil {
		t.Error("no row counts, and some is fitted to")
	}
	if n := Effective([]float64{3, 1}, 2); math.Abs(n-1.6) > 1e-15 { // (3+1)²/(9+1)
		t.Errorf("weights of 3 and 1 count as %v rows", n)
	}
}

// TestStratifyKeepsEqualRows on one side: rows that stand in the set twice are divided as they are once.
func TestStratifyKeepsEqualRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	once := weighed(make([]float64, 100)...)
	once.Weights = nil
	twice := once.Rows(slices.Concat(UpTo(100), rng.Perm(100)))
	fractions := []float64{.2, .2, .2, .2, .2}
	want, got := once.Stratify(fractions, newRand(3)), twice.Stratify(fractions, newRand(3))
	if plain := Stratify(once.Labels, fractions, newRand(3)); !slices.EqualFunc(plain, want, slices.Equal) {
		t.Error("rows that all differ are divided otherwise than by their labels")
	}
	for p := range want {
		first := slices.DeleteFunc(slices.Clone(got[p]), func(i int) bool { return i >= 100 })
		if !slices.Equal(first, want[p]) || len(got[p]) != 2*len(want[p]) {
			t.Errorf("part %d has %d rows, and the first 100 of them are %v, not %v", p, len(got[p]), first, want[p])
		}
	}
	for i := range 40 { // 41 of 100 rows are one
		once.Logits.SetRow(i+60, once.Logits.RawRowView(0))
		once.Labels[i+60] = 0
	}
	all := 0
	for p, part := range once.Stratify(fractions, newRand(3)) {
		if all += len(part); len(part) == 0 {
			t.Errorf("part %d is empty", p)
		}
		if i := slices.IndexFunc(part, func(i int) bool { return i == 0 || i >= 60 }); i >= 0 && len(part) < 41 {
			t.Errorf("part %d has some of 41 equal rows", p)
		}
	}
	constant := &Set{Logits: mat.NewDense(50, 2, nil), Labels: Each(UpTo(50), func(i int) int { return i % 2 })}
	if parts := constant.Stratify([]float64{.8, .2}, newRand(3)); len(parts[0]) != 40 {
		t.Errorf("of constant outputs %d rows of 50 are in the first part", len(parts[0]))
	}
	if all != 100 {
		t.Errorf("%d of 100 rows are divided", all)
	}
}

// TestWeightedEmbedding: whole weights are copies of the rows in means, deviations and components.
func TestWeightedEmbedding(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	x, weights, copies := mat.NewDense(60, 5, nil), make([]float64, 60), []int(nil)
	for i := range 60 {
		for j := range 5 {
			x.Set(i, j, rng.NormFloat64()*float64(1+j))
		}
		weights[i] = float64(i % 3)
		for range i % 3 {
			copies = append(copies, i)
		}
	}
	got, err := FitWeightedEmbedding(x, weights, 3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := FitEmbedding(RowsOf(x, copies), 3)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(got.Apply(x), want.Apply(x), 1e-9) || floats.Distance(got.Variances, want.Variances, math.Inf(1)) > 1e-12 { // sums in another order
		t.Errorf("variances %v of weights and %v of copies", got.Variances, want.Variances)
	}
}
