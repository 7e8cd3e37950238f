package metrics

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
	sample   *sample

	dense     []float32 // (C+masks)×rows: e_jc·1[j∈D_c], then the distinct 1[j∈D_c]
	masks     int
	maskOf    []int       // C: which mask is class c's
	own       []int32     // C×rows: skipped, dominant or slot
	slots     int         // how many slots there are
	outside   []outsiders // of block after block, the rows of each slot
	outsideAt []int32     // rows+1: where those of the block are that begins at row j
}

// outsiders are the rows of a block in a slot, ascending: their numbers in the block, and their residuals.
type outsiders struct {
	slot int32
	rows []int32
	e    []float32
}

// binning says which rows are neighbours of each other: those in the same one of
// bins, per class, of more than small rows.
type binning struct {
	bins, small int
	of          func(i, c int) uint16
}

// oneBin has all rows in it.
var oneBin = binning{bins: 1, of: func(int, int) uint16 { return 0 }}

// newNeighbours prepares the rows of order, which begin new blocks as blocks says.
func newNeighbours(s *sample, z *scaled, order, blocks []int, b binning) *neighbours {
	n := &neighbours{
		rows: len(order), receivers: len(order), classes: s.classes, order: order, blocks: blocks,
		dim:      z.dim,
		position: z.positions(order),
		sample:   s,
		maskOf:   make([]int, s.classes),
		own:      make([]int32, s.classes*len(order)),
	}
	n.place(b)
	n.fill()
	return n
}

// residual is e_jc of the row at position j.
func (n *neighbours) residual(j, c int) float64 { return n.sample.residual(n.order[j], c) }

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
	count, place := make([]int, b.bins), make([]int32, b.bins)
	everyone := -1 // the mask of the classes with all rows in one bin
	for c := range n.classes {
		clear(count)
		for _, i := range n.order {
			count[b.of(i, c)]++
		}
		largest := 0
		for k := range count {
			if count[k] > count[largest] {
				largest = k
			}
		}
		for k, rows := range count {
			switch {
			case rows <= b.small:
				place[k] = skipped
			case k == largest:
				place[k] = dominant
			default:
				place[k] = int32(n.slots)
				n.slots++
			}
		}
		for j, i := range n.order {
			n.own[c*n.rows+j] = place[b.of(i, c)]
		}
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
}

// fill writes dense and outside.
func (n *neighbours) fill() {
	n.dense = make([]float32, (n.classes+n.masks)*n.rows)
	n.outsideAt = make([]int32, n.rows+1)
	for k, j0 := range n.blocks[:len(n.blocks)-1] {
		n.outsideAt[j0] = int32(len(n.outside))
		met := map[int32]int{} // where a slot is in outside
		for j := j0; j < n.blocks[k+1]; j++ {
			for c := range n.classes {
				e := float32(n.residual(j, c))
				switch place := n.own[c*n.rows+j]; {
				case place == dominant:
					n.dense[c*n.rows+j] = e
					n.dense[(n.classes+n.maskOf[c])*n.rows+j] = 1
				case place >= 0:
					at, before := met[place]
					if !before {
						at = len(n.outside)
						met[place] = at
						n.outside = append(n.outside, outsiders{slot: place})
					}
					o := &n.outside[at]
					o.rows, o.e = append(o.rows, int32(j-j0)), append(o.e, e)
				}
			}
		}
	}
	n.outsideAt[n.rows] = int32(len(n.outside))
}
