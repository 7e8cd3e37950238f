package optim_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"calibra/optim"

	"gonum.org/v1/gonum/floats"
)

// TestMixture holds weights to the conditions of Karush, Kuhn and Tucker: no part of
// positive weight at the start has g_m above 1 by more than the gap. Rows that nothing explains,
// and parts of weight 0, have no part in it.
func TestMixture(t *testing.T) {
	const n, m, gap = 3000, 5, 1e-9
	rng := rand.New(rand.NewPCG(1, 2))
	p := make([]float64, n*m)
	for i := range n {
		for k := range m {
			p[i*m+k] = math.Exp(rng.NormFloat64() * float64(k) / m)
		}
		if i%10 == 0 {
			clear(p[i*m : (i+1)*m-1]) // the last part alone, which has no weight
		}
	}
	w := []float64{.3, .3, .2, .2, 0}
	if err := (optim.Mixture{Densities: p, Gap: gap}).Minimize(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if w[4] != 0 || math.Abs(floats.Sum(w)-1) > 1e-12 || floats.Min(w) < 0 {
		t.Fatalf("weights %v", w)
	}
	g := make([]float64, m)
	for i := range n {
		row := p[i*m : (i+1)*m]
		if said := floats.Dot(w, row); said > 0 {
			floats.AddScaled(g, 1/(.9*n*said), row)
		}
	}
	if above := floats.Max(g[:4]) - 1; above > gap {
		t.Errorf("g = %v: the loss may be %v above the least", g, above)
	}
}

// BenchmarkMixture mixes six parts that are nearly alike, of 100,000 rows.
func BenchmarkMixture(b *testing.B) {
	const n, m = 100_000, 6
	rng := rand.New(rand.NewPCG(1, 2))
	p := make([]float64, n*m)
	for i := range n {
		common := rng.NormFloat64()
		for k := range m {
			p[i*m+k] = math.Exp(common + .1*rng.NormFloat64())
		}
	}
	for b.Loop() {
		w := []float64{1. / m, 1. / m, 1. / m, 1. / m, 1. / m, 1. / m}
		if err := (optim.Mixture{Densities: p}).Minimize(b.Context(), w); err != nil {
			b.Fatal(err)
		}
	}
}
