package metrics

import (
	"context"
	"sync"

	"calibra/experiments/metrics/internal/tile"
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

	turned      []float32 // d×lanes: the stripe's z/γ by column
	kernel      []float32 // block×lanes: K_ji, 0 for j = i
	squares     []float32 // block×lanes: K_ji²
	firstOrder  []float32 // (C+masks)×lanes: the block's R of each class, S of each mask
	secondOrder []float32 // masks×lanes: the block's Q of each mask
	slot        []float32 // slots×3×lanes: the block's R, S, Q of the bins that have slots, 0 where it has no row of theirs

	outlying []outlying                  // of the stripe's rows, class by class
	block    struct{ r, s, q []float32 } // C×lanes: own-bin sums of the block
	total    sums                        // own-bin sums of all blocks

	observers []observer
}

// outlying is a row in another bin than the class's largest: where it is in C×lanes, and its bin's place.
type outlying struct {
	at    int
	place int32
}

// sums are Σ K e, Σ K and Σ K², C×lanes each, or C of a single row.
type sums struct{ r, s, q []float64 }

func newSums(size int) sums {
	return sums{make([]float64, size), make([]float64, size), make([]float64, size)}
}

func (s sums) clear() {
	clear(s.r)
	clear(s.s)
	clear(s.q)
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
	longest := n.longestBlock()
	t := &stripe{
		neighbours:  n,
		observers:   observers,
		turned:      make([]float32, n.dim*lanes),
		kernel:      make([]float32, longest*lanes),
		squares:     make([]float32, longest*lanes),
		firstOrder:  make([]float32, (n.classes+n.masks)*lanes),
		secondOrder: make([]float32, n.masks*lanes),
		slot:        make([]float32, n.slots*3*lanes),
	}
	size := n.classes * lanes
	t.block.r, t.block.s, t.block.q = make([]float32, size), make([]float32, size), make([]float32, size)
	t.total = newSums(size)
	return t
}

// moveTo moves the stripe to the positions from first on.
func (t *stripe) moveTo(first int) {
	t.first, t.count = first, min(lanes, t.receivers-first)
	t.outlying = t.outlying[:0]
	for c := range t.classes {
		for l, place := range t.own[c*t.rows+first:][:t.count] {
			if place != dominant {
				t.outlying = append(t.outlying, outlying{c*lanes + l, place})
			}
		}
	}
}

// turn writes the stripe's positions by column.
func (t *stripe) turn() {
	clear(t.turned)
	for l := range t.count {
		for k, x := range t.position[(t.first+l)*t.dim:][:t.dim] {
			t.turned[k*lanes+l] = x
		}
	}
}

// run takes the stripe of positions from first on through all blocks.
func (t *stripe) run(first int) {
	t.moveTo(first)
	t.turn()
	t.total.clear()
	for _, o := range t.observers {
		o.begin(t)
	}
	for k, j0 := range t.blocks[:len(t.blocks)-1] {
		j1 := t.blocks[k+1]
		t.meet(j0, j1)
		for _, o := range t.observers {
			o.met(t, k, j0, j1)
		}
	}
	for _, o := range t.observers {
		o.end(t)
	}
}

// meet adds the rows j0…j1−1.
func (t *stripe) meet(j0, j1 int) {
	t.fillKernel(j0, j1)
	t.sum(j0, j1, t.kernel)
}

// sum adds the rows j0…j1−1, a block, whose kernel values are given and whose squares are there.
func (t *stripe) sum(j0, j1 int, kernel []float32) {
	clear(t.firstOrder)
	tile.Multiply(t.firstOrder, t.dense[j0:], t.rows, t.classes+t.masks, j1-j0, kernel)
	clear(t.secondOrder)
	tile.Multiply(t.secondOrder, t.dense[t.classes*t.rows+j0:], t.rows, t.masks, j1-j0, t.squares)
	met := t.outside[t.outsideAt[j0]:t.outsideAt[j1]]
	for _, o := range met {
		tile.SumMoments(t.slot[3*o.slot*lanes:], o.rows, o.e, kernel, t.squares)
	}
	t.collect()
	for _, o := range met {
		clear(t.slot[3*o.slot*lanes:][:3*lanes])
	}
}

// fillKernel writes K_ji and K_ji² for j in j0…j1−1 and the rows i of the stripe, 0 for i = j.
func (t *stripe) fillKernel(j0, j1 int) {
	k, squares := t.kernel[:(j1-j0)*lanes], t.squares[:(j1-j0)*lanes]
	tile.Distances(k, t.position[j0*t.dim:], t.dim, j1-j0, t.dim, t.turned)
	tile.Gaussian(k, squares)
	if t.sample.weight != nil {
		t.weigh(k, squares, j0)
	}
	for l := range t.count {
		if j := t.first + l; j0 <= j && j < j1 {
			k[(j-j0)*lanes+l], squares[(j-j0)*lanes+l] = 0, 0
		}
	}
}

// weigh makes kernel values and squares of the rows from j0 on those of rows that count as w_j:
// w_j K_ji and w_j² K_ji².
func (t *stripe) weigh(k, squares []float32, j0 int) {
	for at := range k {
		w := float32(t.sample.weight[t.order[j0+at/lanes]])
		k[at] *= w
		squares[at] *= w * w
	}
}

// collect takes each row's own-bin sums of the block and adds them to the totals.
func (t *stripe) collect() {
	copy(t.block.r, t.firstOrder)
	for c, mask := range t.maskOf {
		copy(t.block.s[c*lanes:(c+1)*lanes], t.firstOrder[(t.classes+mask)*lanes:])
		copy(t.block.q[c*lanes:(c+1)*lanes], t.secondOrder[mask*lanes:])
	}
	for _, o := range t.outlying {
		var r, s, q float32
		if o.place >= 0 {
			sums := t.slot[3*int(o.place)*lanes+o.at%lanes:]
			r, s, q = sums[0], sums[lanes], sums[2*lanes]
		}
		t.block.r[o.at], t.block.s[o.at], t.block.q[o.at] = r, s, q
	}
	addTo(t.total.r, t.block.r)
	addTo(t.total.s, t.block.s)
	addTo(t.total.q, t.block.q)
}

func addTo(total []float64, x []float32) {
	total = total[:len(x)]
	for i, v := range x {
		total[i] += float64(v)
	}
}

// each takes all stripes through all blocks, each goroutine with observers of its
// own, which newObservers makes and which see disjoint rows.
func (n *neighbours) each(ctx context.Context, progress *progress, newObservers func() []observer) error {
	return inParallelWith(ctx, (n.receivers+lanes-1)/lanes, func() func(int) {
		t := n.newStripe(newObservers())
		return func(k int) {
			t.run(k * lanes)
			progress.add(t.count)
		}
	})
}

// progress counts the rows that have met all others.
type progress struct {
	lock        sync.Mutex
	done, total int
	report      func(done, total int)
}

func (p *progress) add(rows int) {
	p.lock.Lock()
	defer p.lock.Unlock()
	p.done += rows
	if p.report != nil {
		p.report(p.done, p.total)
	}
}

// evenBlocks are blocks of at most blockRows of the rows.
func evenBlocks(order []int) (blocks []int) {
	for j := 0; j < len(order); j += blockRows {
		blocks = append(blocks, j)
	}
	return append(blocks, len(order))
}
