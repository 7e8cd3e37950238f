package metrics

import (
	"context"
	"runtime"

	"calibra/experiments/metrics/internal/tile"
	"calibra/graph/simd"
)

// mostSums bounds the sums that are kept of all rows while pairs meet once, in bytes.
const mostSums = 256 << 20

// mutual says whether each pair of rows may meet once: all rows receive what all rows give,
// what it gives is what it receives, and the sums of all stripes have room.
func (n *neighbours) mutual() bool {
	return n.sample.weight == nil && n.receivers == n.rows && 3*8*n.classes*n.rows <= mostSums
}

// panelRows is how many rows a panel has: stripes enough for all threads, and a tile of two
// panels that stays in the cache. A multiple of blockRows.
func panelRows() int {
	const least = 512
	return max(least, (2*lanes*runtime.GOMAXPROCS(0)+blockRows-1)/blockRows*blockRows)
}

// pairing takes all stripes through all blocks, as each does, but computes K_ij = K_ji once.
// Panels A < B of rows meet: the stripes of A compute the tile and add the rows of B, then
// the stripes of B add the rows of A from its transpose. A stripe so adds blocks in the
// order of their rows whatever the number of threads and the size of the panels, and has
// the same bits as if it met all rows by itself.
type pairing struct {
	*neighbours
	panel  int
	totals []sums       // of each stripe
	mirror [2][]float32 // panel/64 × panel × 64: for each stripe of B its kernel values to the rows of A
	turn   int          // the mirror that is written
}

// eachPair measures all rows, and tells out of each stripe.
func (n *neighbours) eachPair(ctx context.Context, progress *progress, out observer) error {
	m := &pairing{neighbours: n, panel: min(panelRows(), (n.rows+lanes-1)/lanes*lanes)}
	for range (n.rows + lanes - 1) / lanes {
		m.totals = append(m.totals, newSums(n.classes*lanes))
	}
	for i := range m.mirror {
		m.mirror[i] = make([]float32, m.panel*m.panel)
	}
	stripes := make([]*stripe, min(runtime.GOMAXPROCS(0), len(m.totals)))
	for i := range stripes {
		stripes[i] = n.newStripe([]observer{out})
	}
	for a := 0; a < n.rows; a += m.panel {
		for b := a; b-m.panel < n.rows; b += m.panel {
			if err := m.round(ctx, stripes, a, b); err != nil {
				return err
			}
			m.turn = 1 - m.turn
		}
		progress.add(min(m.panel, n.rows-a))
	}
	return ctx.Err()
}

// round lets the stripes of panel a meet panel b, and those of the panel before b take what
// the last round mirrored; b may lie behind the last panel, and a is met by itself first.
func (m *pairing) round(ctx context.Context, stripes []*stripe, a, b int) error {
	var tasks []func(t *stripe)
	if b < m.rows {
		for first := a; first < min(a+m.panel, m.rows); first += lanes {
			tasks = append(tasks, func(t *stripe) { m.give(t, first, a, b) })
		}
	}
	if before := b - m.panel; before > a {
		for first := before; first < min(before+m.panel, m.rows); first += lanes {
			tasks = append(tasks, func(t *stripe) { m.take(t, first, before, a) })
		}
	}
	if b >= m.rows { // the stripes of a have met all rows
		for first := a; first < min(a+m.panel, m.rows); first += lanes {
			tasks = append(tasks, func(t *stripe) { m.finish(t, first) })
		}
	}
	return inParallelWith(ctx, len(tasks), func() func(int) {
		t := stripes[0]
		stripes = stripes[1:]
		return func(k int) { tasks[k](t) }
	})
}

// moveTo moves t to the stripe at first, with its sums.
func (m *pairing) moveTo(t *stripe, first int) {
	t.moveTo(first)
	t.total = m.totals[first/lanes]
}

// give lets the stripe at first, of panel a, meet the rows of panel b, and mirrors the tile.
func (m *pairing) give(t *stripe, first, a, b int) {
	m.moveTo(t, first)
	t.turn()
	for j0 := b; j0 < min(b+m.panel, m.rows); j0 += blockRows {
		j1 := min(j0+blockRows, m.rows)
		t.fillKernel(j0, j1)
		t.sum(j0, j1, t.kernel)
		if a == b {
			continue
		}
		for j := j0; j < j1; j += lanes {
			to := m.mirror[m.turn][(j-b)*m.panel+(first-a)*lanes:]
			simd.Transpose(to, lanes, t.kernel[(j-j0)*lanes:], lanes, min(lanes, j1-j), lanes)
		}
	}
}

// take lets the stripe at first, of panel b, meet the rows of panel a in the mirror.
func (m *pairing) take(t *stripe, first, b, a int) {
	m.moveTo(t, first)
	from := m.mirror[1-m.turn][(first-b)*m.panel:]
	for j0 := a; j0 < a+m.panel; j0 += blockRows {
		j1 := min(j0+blockRows, a+m.panel)
		kernel := from[(j0-a)*lanes : (j1-a)*lanes]
		tile.Square(t.squares, kernel)
		t.sum(j0, j1, kernel)
	}
}

// finish tells the observers of the stripe at first.
func (m *pairing) finish(t *stripe, first int) {
	m.moveTo(t, first)
	for _, o := range t.observers {
		o.end(t)
	}
}
