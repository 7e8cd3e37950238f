package metrics

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// pairsOf are so many rows, in one part.
func pairsOf(t *testing.T, rows int) *neighbours {
	p := generate(rows, 4, 7, 1, rand.New(rand.NewPCG(uint64(rows), 3)))
	b, z, err := prepare(p.logProbs, p.labels, p.embedding, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	return b.parts(z, b.firstOrder(), evenBlocks)[0]
}

// TestPairsMeetOnce: residuals and sample sizes are to the bit those of rows that meet all
// others by themselves, whatever the number of threads, with whole blocks and with a rest.
func TestPairsMeetOnce(t *testing.T) {
	for _, rows := range []int{40, 512, 1100, 1600} {
		n := pairsOf(t, rows)
		local := func() *Local { return &Local{Residual: mat.NewDense(rows, 4, nil), ESS: mat.NewDense(rows, 4, nil)} }
		want := local()
		if err := n.each(t.Context(), func() []observer { return []observer{writer{want}} }); err != nil {
			t.Fatal(err)
		}
		for _, threads := range []int{1, 3} {
			before := runtime.GOMAXPROCS(threads)
			got := local()
			err := n.eachPair(t.Context(), writer{got})
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

// ender is an observer that does something at the end of each stripe.
type ender func()

func (ender) begin(*stripe)              {}
func (ender) met(*stripe, int, int, int) {}
func (do ender) end(*stripe)             { do() }

// TestPairsPart: where measuring is called off or a thread panics, the others do not wait for ever.
func TestPairsPart(t *testing.T) {
	n := pairsOf(t, 2000)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	ctx, cancel := context.WithCancel(t.Context())
	if err := n.eachPair(ctx, ender(cancel)); !errors.Is(err, context.Canceled) {
		t.Errorf("called off, it gives %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("a panic did not reach the caller")
		}
	}()
	n.eachPair(t.Context(), ender(func() { panic("wrong") }))
}
