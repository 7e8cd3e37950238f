package metrics

import (
	"context"

	"calibra/experiments/metrics/internal/tile"
	"calibra/graph/work"
)

// lanes is the number of rows of a stripe.
const lanes = tile.Lanes

// blockRows is how many rows are summed in float32 before the sum moves on in
// float64: 256 terms cost at most 8 bits, 1e-5 of the sum, and about 1e-6 in practice.
const blockRows = 256

// stripe is the workspace in which 64 rows i meet all rows j of a neighbours, block
// by block: memory stays at N·C, never N², stripes are independent of each other,
// and each sum has one order of terms whatever the number of threads.
type stripe struct {
	*neighbours
	first, count int // positions first … first+count−1

	turned []float32 // d×lanes: the stripe's z/γ by column
	kernel []float32 // block×lanes: K_ji, 0 for j = i
	block  []float32 // height×lanes: each row's sums of the block over its own bins; any number where one is skipped
	total  []float64 // the same of all blocks

	observers []observer
}

// observer sees the kernel on its way through the stripes of one goroutine.
type observer interface {
	begin(t *stripe)
	// met is told that the stripe has met block k, the rows j0…j1−1.
	met(t *stripe, k, j0, j1 int)
	// end is told that the stripe has met all rows.
	end(t *stripe)
}

func (n *neighbours) newStripe(observers []observer) *stripe {
	return &stripe{
		neighbours: n,
		observers:  observers,
		turned:     make([]float32, n.dim*lanes),
		kernel:     make([]float32, n.longestBlock()*lanes),
		block:      make([]float32, n.height()*lanes),
		total:      make([]float64, n.height()*lanes),
	}
}

// moveTo moves the stripe to the positions from first on.
func (t *stripe) moveTo(first int) {
	t.first, t.count = first, min(lanes, t.receivers-first)
}

// turn writes the stripe's positions by column.
func (t *stripe) turn() {
	if t.count < lanes {
		clear(t.turned)
	}
	tile.Transpose(t.turned, lanes, t.position[t.first*t.dim:], t.dim, t.count, t.dim)
}

// run takes the stripe of positions from first on through all blocks.
func (t *stripe) run(first int) {
	t.moveTo(first)
	t.turn()
	clear(t.total)
	for _, o := range t.observers {
		o.begin(t)
	}
	for k := range t.outside {
		t.fillKernel(k)
		t.sum(k, t.kernel)
		for _, o := range t.observers {
			o.met(t, k, t.blocks[k], t.blocks[k+1])
		}
	}
	for _, o := range t.observers {
		o.end(t)
	}
}

// sum adds the rows of block k, whose kernel values are given.
func (t *stripe) sum(k int, kernel []float32) {
	j0, rows, order := t.blocks[k], t.blocks[k+1]-t.blocks[k], t.classes+t.masks
	clear(t.block)
	tile.Multiply(t.block, t.dense[j0:], t.rows, order, rows, kernel)
	tile.MultiplySquares(t.block[order*lanes:], t.dense[t.classes*t.rows+j0:], t.rows, t.masks, rows, kernel)
	tile.SumLists(t.block, t.outlying[t.first/lanes], t.outside[k], kernel)
	tile.Accumulate(t.total, t.block)
}

// fillKernel writes K_ji for j in block k and the rows i of the stripe, 0 for i = j.
func (t *stripe) fillKernel(k int) {
	j0, j1 := t.blocks[k], t.blocks[k+1]
	kernel := t.kernel[:(j1-j0)*lanes]
	tile.Distances(kernel, t.position[j0*t.dim:], t.dim, j1-j0, t.dim, t.turned)
	if t.narrow != nil {
		for at := range kernel {
			if l := at % lanes; l < t.count {
				kernel[at] *= t.narrow[t.first+l]
			}
		}
	}
	tile.Gaussian(kernel)
	if t.sample.Weight != nil {
		t.weigh(kernel, j0)
	}
	for j := max(j0, t.first); j < min(j1, t.first+t.count); j++ {
		kernel[(j-j0)*lanes+j-t.first] = 0
	}
}

// weigh makes kernel values of the rows from j0 on those of rows that count as w_j: w_j K_ji.
func (t *stripe) weigh(kernel []float32, j0 int) {
	for at := range kernel {
		kernel[at] *= float32(t.sample.Weight[t.order[j0+at/lanes]])
	}
}

// each takes all stripes through all blocks, each goroutine with observers of its
// own, which newObservers makes and which see disjoint rows.
func (n *neighbours) each(ctx context.Context, newObservers func() []observer) error {
	return work.Parts{What: "block of rows", N: (n.receivers + lanes - 1) / lanes}.With(ctx, func() func(context.Context, int) error {
		t := n.newStripe(newObservers())
		return func(_ context.Context, k int) error {
			t.run(k * lanes)
			return nil
		}
	})
}

// evenBlocks are blocks of at most blockRows of the rows.
func evenBlocks(order []int) (blocks []int) {
	for j := 0; j < len(order); j += blockRows {
		blocks = append(blocks, j)
	}
	return append(blocks, len(order))
}
