package cuda_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph/cuda"
	"calibra/graph/cuda/cudatest"
)

// Copies of all sizes arrive whole, whatever becomes of their source at once, with page-locked
// memory and without.
func TestHostCopies(t *testing.T) {
	for _, pinned := range []bool{true, false} {
		driver := cudatest.Driver(t, 1)
		driver.NoHostMemory = !pinned
		d := cudatest.Open(t, driver)
		copies(t, d)
	}
}

// The same on a card.
func TestCardCopies(t *testing.T) { copies(t, cudatest.Card(t)) }

func copies(t *testing.T, d *cuda.Device) {
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
	// Many small ones in a row, more than the page-locked memory holds.
	const n, each = 4000, 1001
	all := d.Alloc(n * each)
	x := make([]int32, each)
	for i := range n {
		for j := range x {
			x[j] = int32(i*each + j)
		}
		cuda.Upload(d, all.Slice(4*i*each, 4*each), x)
	}
	back := make([]int32, n*each)
	cuda.Download(d, back, all)
	for i, v := range back {
		if int(v) != i {
			t.Fatalf("of copies in a row, number %d comes back as %d (%v)", i, v, d.Err())
		}
	}
	d.Free(all)
}
