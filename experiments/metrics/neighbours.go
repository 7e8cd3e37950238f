package metrics

import (
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics/internal/tile"
	"calibra/graph/work"
)

// Where the bin of a row and class has its sums.
const (
	skipped  = -2 // the bin is too small to be measured
	dominant = -1 // the class's largest bin: in the dense product
	// 0… : the slot of one of the other bins
)

// neighbours prepares the kernel sums over same-bin rows,
//
//	S_ic = Σ_j K_ij,  Q_ic = Σ_j K_ij²,  R_ic = Σ_j K_ij e_jc ,  j ≠ i, b_c(j) = b_c(i),
//
// (of rows that count as w_j, w_j K_ij in place of K_ij)
//
// of every row i and class c at once. One kernel value serves all classes. Most
// rows of a class share its largest bin D_c, so the sums of the rows in it are one
// product with the N×C matrices e_jc·1[j∈D_c] and 1[j∈D_c]; outside of it a row is in
// one or two classes as a rule, and adds itself to those bins alone.
type neighbours struct {
	rows, classes int
	receivers     int   // of the rows, the first: where the kernel is summed
	order         []int // the sample's row at each position; positions are what i and j count
	blocks        []int // the positions where a block of rows begins, and lastly rows

	dim      int
	position []float32 // rows×d: z/γ
	narrow   []float32 // rows: γ²/γ_i²; nil: 1
	sample   *checked.Sample

	dense    []float32 // (C+masks)×rows: e_jc·1[j∈D_c], then the distinct 1[j∈D_c]
	masks    int
	maskOf   []int          // C: which mask is class c's
	own      []int32        // C×rows: skipped, dominant or slot
	slots    int            // how many slots there are
	outside  []tile.Lists   // of each block, the rows in each slot: their numbers in the block and their residuals
	outlying []tile.Columns // of each stripe, its rows in slots
}

// binning is which rows are neighbours of each other: those in the same one of
// bins, per class, of more than small rows.
type binning struct {
	bins, small int
	of          func(i, c int) uint16
}

// oneBin has all rows in it.
var oneBin = binning{bins: 1, of: func(int, int) uint16 { return 0 }}

// newNeighbours prepares the rows of order, which begin new blocks at blocks, and of which the first are receivers.
func newNeighbours(s *checked.Sample, z *scaled, order, blocks []int, receivers int, b binning) *neighbours {
	n := &neighbours{
		rows: len(order), receivers: receivers, classes: s.Classes, order: order, blocks: blocks,
		dim:      z.dim,
		position: z.positions(order),
		sample:   s,
		maskOf:   make([]int, s.Classes),
		own:      make([]int32, s.Classes*len(order)),
	}
	if z.narrow != nil {
		n.narrow = checked.Pick(z.narrow, order)
	}
	n.place(b)
	n.fill()
	return n
}

// residual is e_jc of the row at position j.
func (n *neighbours) residual(j, c int) float64 { return n.sample.Residual(n.order[j], c) }

// longestBlock is how many rows the largest block has.
func (n *neighbours) longestBlock() int {
	longest := 0
	for k, j0 := range n.blocks[:len(n.blocks)-1] {
		longest = max(longest, n.blocks[k+1]-j0)
	}
	return longest
}

// place gives each bin its place: own, masks and slots.
func (n *neighbours) place(b binning) {
	counts, places := make([][]int, n.classes), make([][]int32, n.classes)
	work.Each(n.classes, 1, func(c int) {
		counts[c] = make([]int, b.bins)
		for j, i := range n.order {
			bin := b.of(i, c)
			counts[c][bin]++
			n.own[c*n.rows+j] = int32(bin)
		}
	})
	everyone := -1 // the mask of the classes with all rows in one bin
	for c, count := range counts {
		largest := 0
		for k := range count {
			if count[k] > count[largest] {
				largest = k
			}
		}
		places[c] = n.placesOf(count, largest, b.small)
		all := count[largest] == n.rows
		if all && everyone >= 0 {
			n.maskOf[c] = everyone
			continue
		}
		if all {
			everyone = n.masks
		}
		n.maskOf[c] = n.masks
		n.masks++
	}
	work.Each(n.classes, 1, func(c int) {
		own := n.own[c*n.rows : (c+1)*n.rows]
		for j, bin := range own {
			own[j] = places[c][bin]
		}
	})
}

// placesOf are the places of a class's bins, of which some have new slots.
func (n *neighbours) placesOf(count []int, largest, small int) []int32 {
	place := make([]int32, len(count))
	for k, rows := range count {
		switch {
		case rows <= small:
			place[k] = skipped
		case k == largest:
			place[k] = dominant
		default:
			place[k] = int32(n.slots)
			n.slots++
		}
	}
	return place
}

// fill writes dense, outside and outlying.
func (n *neighbours) fill() {
	n.dense = make([]float32, (n.classes+n.masks)*n.rows)
	n.outside = make([]tile.Lists, len(n.blocks)-1)
	work.Each(len(n.outside), 1, func(k int) { n.outside[k] = n.fillBlock(n.blocks[k], n.blocks[k+1]) })
	outlying := 0
	for c := range n.classes {
		for _, place := range n.own[c*n.rows:][:n.receivers] {
			if place >= 0 {
				outlying++
			}
		}
	}
	columns := make([]tile.Column, 0, outlying)
	for j := 0; j < n.receivers; j += lanes {
		first := len(columns)
		columns = n.columns(columns, j, min(j+lanes, n.receivers))
		n.outlying = append(n.outlying, tile.NewColumns(columns[first:]))
	}
}

// fillBlock writes dense for the rows j0…j1−1, a block, and gives those in slots.
func (n *neighbours) fillBlock(j0, j1 int) tile.Lists {
	from := make([]int32, n.slots+1)
	for c := range n.classes {
		mask := n.dense[(n.classes+n.maskOf[c])*n.rows:]
		for j, place := range n.own[c*n.rows:][j0:j1] {
			switch j += j0; {
			case place == dominant:
				n.dense[c*n.rows+j] = float32(n.residual(j, c))
				mask[j] = 1
			case place >= 0:
				from[place+1]++
			}
		}
	}
	for slot := range n.slots {
		from[slot+1] += from[slot]
	}
	rows, e, next := make([]int32, from[n.slots]), make([]float32, from[n.slots]), slices.Clone(from)
	for c := range n.classes {
		for j, place := range n.own[c*n.rows:][j0:j1] {
			if place >= 0 {
				rows[next[place]], e[next[place]] = int32(j), float32(n.residual(j0+j, c))
				next[place]++
			}
		}
	}
	return tile.NewLists(from, rows, e)
}

// columns adds to all the outlying rows j0…j1−1, a stripe.
func (n *neighbours) columns(all []tile.Column, j0, j1 int) []tile.Column {
	for c := range n.classes {
		r, s, q := n.sumsOf(c)
		for l, place := range n.own[c*n.rows:][j0:j1] {
			if place >= 0 {
				all = append(all, tile.Column{R: int32(r + l), S: int32(s + l), Q: int32(q + l), List: place})
			}
		}
	}
	return all
}

// height is how many rows of lanes the sums of a stripe have: R of each class, S and Q of each mask.
func (n *neighbours) height() int { return n.classes + 2*n.masks }

// sumsOf is where those of class c are in them.
func (n *neighbours) sumsOf(c int) (r, s, q int) {
	return c * lanes, (n.classes + n.maskOf[c]) * lanes, (n.classes + n.masks + n.maskOf[c]) * lanes
}
