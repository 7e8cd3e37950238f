package metrics

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestPairsMeetOnce: residuals and sample sizes are to the bit those of rows that meet all
// others by themselves, whatever the number of threads, with whole panels and with a rest.
func TestPairsMeetOnce(t *testing.T) {
	for _, rows := range []int{40, 512, 1100, 1600} {
		rng := rand.New(rand.NewPCG(uint64(rows), 3))
		p := generate(rows, 4, 7, 1, rng)
		s, err := newSample(p.logProbs, p.labels)
		if err != nil {
			t.Fatal(err)
		}
		settings, err := Settings{}.filled(4)
		if err != nil {
			t.Fatal(err)
		}
		b := bin(s, settings)
		z, err := b.checkEmbedding(p.embedding)
		if err != nil {
			t.Fatal(err)
		}
		n := b.parts(z, b.firstOrder(), evenBlocks)[0]
		local := func() *Local { return &Local{Residual: mat.NewDense(rows, 4, nil), ESS: mat.NewDense(rows, 4, nil)} }
		want := local()
		if err := n.each(t.Context(), &progress{}, func() []observer { return []observer{writer{want}} }); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			before := runtime.GOMAXPROCS(threads)
			got := local()
			err := n.eachPair(t.Context(), &progress{}, writer{got})
			runtime.GOMAXPROCS(before)
			if err != nil {
				t.Fatal(err)
			}
			for name, pair := range map[string][2]*mat.Dense{"residuals": {got.Residual, want.Residual}, "sample sizes": {got.ESS, want.ESS}} {
				if !same(pair[0], pair[1]) {
					t.Errorf("%d rows, %d threads: the %s differ", rows, threads, name)
				}
			}
		}
	}
}
