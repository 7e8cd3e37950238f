package metrics

import (
	"context"
	"sync"

	"calibra/experiments/metrics/internal/tile"
	"calibra/graph/work"
)

// mostSums bounds the sums that are kept of all rows while pairs meet once, in bytes.
const mostSums = 256 << 20

// mutual reports whether each pair of rows may meet once: all rows receive what all rows give,
// what it gives is what it receives, and the sums of all stripes have room.
func (n *neighbours) mutual() bool {
	return n.sample.Weight == nil && n.narrow == nil && n.receivers == n.rows && 3*8*n.classes*n.rows <= mostSums
}

// pairing takes all stripes through all blocks, as each does, but computes K_ij = K_ji once.
// Blocks a < b of rows meet: the stripes of a compute the tile and add the rows of b, then
// the stripes of b add the rows of a from its transpose. Block b meets a after a block before
// a has met both, so a stripe adds blocks in their order whatever the number of threads,
// and has the same bits as if it met all rows by itself.
type pairing struct {
	*neighbours
	totals [][]float64 // of each stripe

	lock  sync.Mutex
	moved *sync.Cond // next or meets have changed
	next  []int      // of each block, which it meets next of those from itself on
	meets []bool     // of each block, whether it does so now
	left  int        // meetings that nobody has begun
	rows  int        // that have met all
	tell  func()     // reports them
}

// eachPair measures all rows, in even blocks, and passes each stripe to out.
func (n *neighbours) eachPair(ctx context.Context, out observer) error {
	blocks := len(n.blocks) - 1
	m := &pairing{neighbours: n, meets: make([]bool, blocks), left: blocks * (blocks + 1) / 2}
	m.moved = sync.NewCond(&m.lock)
	for a := range blocks {
		m.next = append(m.next, a)
	}
	for range n.outlying {
		m.totals = append(m.totals, make([]float64, n.height()*lanes))
	}
	m.tell = func() {
		work.Report(ctx, float64(m.rows)/float64(n.receivers), "row %d of %d", m.rows, n.receivers)
	}
	return work.Parts{N: min(work.Threads(), (blocks+1)/2)}.Do(ctx, func(within context.Context, _ int) error {
		m.work(within, n.newStripe([]observer{out}), make([]float32, blockRows*blockRows))
		return nil
	})
}

// work lets blocks meet until all have been begun.
func (m *pairing) work(ctx context.Context, t *stripe, mirror []float32) {
	for a := 0; ctx.Err() == nil; {
		if a = m.begin(a); a < 0 {
			return
		}
		m.meet(t, a, mirror)
	}
}

// begin takes a block that can meet its next one, the last one again if it can; −1 where all have been begun.
func (m *pairing) begin(last int) int {
	m.lock.Lock()
	defer m.lock.Unlock()
	for m.left > 0 {
		a := last
		if !m.ready(a) {
			a = m.soonest()
		}
		if a >= 0 {
			m.meets[a] = true
			m.left--
			return a
		}
		m.moved.Wait()
	}
	return -1
}

// ready reports whether block a can meet its next one, which has met all before a.
func (m *pairing) ready(a int) bool {
	return !m.meets[a] && m.next[a] < len(m.next) && (a == 0 || m.next[a-1] > m.next[a])
}

// soonest is the block that is ready and has the most blocks to wait for it, −1 if there is none.
func (m *pairing) soonest() int {
	found := -1
	for a, next := range m.next {
		if m.ready(a) && (found < 0 || a+next < found+m.next[found]) {
			found = a
		}
		if next == a { // and no block behind it has met any
			break
		}
	}
	return found
}

// end records that block a has met its next one.
func (m *pairing) end(a int) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.next[a]++; m.next[a] == len(m.next) {
		m.rows = min(m.rows+blockRows, m.receivers)
		m.tell()
	}
	m.meets[a] = false
	m.moved.Broadcast()
}

// meet lets block a meet its next one, by way of the mirror: for each stripe of b its kernel values to the rows of a.
func (m *pairing) meet(t *stripe, a int, mirror []float32) {
	defer m.end(a)
	b := m.next[a]
	for first := m.blocks[a]; first < m.blocks[a+1]; first += lanes {
		m.moveTo(t, first)
		t.turn()
		t.fillKernel(b)
		t.sum(b, t.kernel)
		for j, rows := 0, m.blocks[b+1]-m.blocks[b]; a < b && j < rows; j += lanes {
			tile.Transpose(mirror[j*blockRows+(first-m.blocks[a])*lanes:], lanes, t.kernel[j*lanes:], lanes, min(lanes, rows-j), lanes)
		}
	}
	if a < b {
		for first := m.blocks[b]; first < m.blocks[b+1]; first += lanes {
			m.moveTo(t, first)
			t.sum(a, mirror[(first-m.blocks[b])*blockRows:])
		}
	}
	if b == len(m.next)-1 {
		m.finish(t, a)
	}
}

// moveTo moves t to the stripe at first, with its sums.
func (m *pairing) moveTo(t *stripe, first int) {
	t.moveTo(first)
	t.total = m.totals[first/lanes]
}

// finish passes the stripes of block a, which has met all, to the observers.
func (m *pairing) finish(t *stripe, a int) {
	for first := m.blocks[a]; first < m.blocks[a+1]; first += lanes {
		m.moveTo(t, first)
		for _, o := range t.observers {
			o.end(t)
		}
	}
}
