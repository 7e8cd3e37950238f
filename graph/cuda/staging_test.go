package cuda_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph/cuda"
	"calibra/graph/cuda/cudatest"
)

// Copies of all sizes arrive whole, whatever becomes of their source, with page-locked memory
// and without.
func TestHostLargeCopies(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		driver := cudatest.Driver(t, 1)
		driver.NoHostMemory = !pinned
		d, err := cuda.Open(driver)
		if err != nil {
			t.Fatal(err)
		}
		largeCopies(t, d)
	}
}

// The same on a card.
func TestCardLargeCopies(t *testing.T) { largeCopies(t, cudatest.Card(t)) }

func largeCopies(t *testing.T, d *cuda.Device) {
	d.Lock()
	defer d.Unlock()
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 1<<18 - 1, 1 << 18, 1 << 20, 1<<20 + 1, 3<<20 + 77} {
		x := make([]int32, n)
		for i := range x {
			x[i] = int32(rng.Uint32())
		}
		want := slices.Clone(x)
		a, b := d.Alloc(n), d.Alloc(n)
		cuda.Upload(d, a, x)
		clear(x)
		d.Copy(b, a)
		cuda.Download(d, x, b)
		if err := d.Err(); err != nil || !slices.Equal(x, want) {
			t.Errorf("%d numbers do not come back (%v)", n, err)
		}
		d.Free(a, b)
	}
}
