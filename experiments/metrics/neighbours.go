package metrics

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"calibra/experiments/metrics/internal/tile"

	"gonum.org/v1/gonum/mat"
)

// lanes is the number of rows of a stripe.
const lanes = tile.Lanes

// blockRows is how many rows are summed in float32 before the sum moves on in
// float64: 256 terms cost at most 8 bits, 1e-5 of the sum, and about 1e-6 in practice.
const blockRows = 256

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
// of every row i and class c at once. One kernel value serves all classes. Most
// rows of a class share its largest bin D_c, so the sums of the rows in it are one
// product with the N×C matrices e_jc·1[j∈D_c] and 1[j∈D_c]; outside of it a row is in
// one or two classes as a rule, and adds itself to those bins alone.
//
// Rows are taken in stripes of 64: a stripe meets all rows block by block, so
// memory stays at N·C, never N², stripes are independent of each other, and each
// sum has one order of terms whatever the number of threads.
type neighbours struct {
	rows, classes int
	order         []int // the sample's row at each position; positions are what i and j count

	dim      int
	position []float32 // rows×d: z/γ

	residual []float64 // rows×C: e_ic

	dense     []float32 // (C+masks)×rows: e_jc·1[j∈D_c], then the distinct 1[j∈D_c]
	masks     int
	maskOf    []int      // C: which mask is class c's
	own       []int32    // C×rows: skipped, dominant or slot
	slots     int        // number of bins that are neither
	outsideAt []int32    // rows+1: where row j's share of outside begins
	outside   []outsider // the bins of row j that are not dominant
}

// outsider says that a row belongs to a slot and brings the residual e.
type outsider struct {
	slot int32
	e    float32
}

// newNeighbours prepares the rows of order, of embedding z (all rows × d), with the
// bins class (C × all rows, values below bins) of which those of smallBin rows or fewer are skipped.
func newNeighbours(s *sample, z *scaled, order []int, class [][]uint16, bins, smallBin int) *neighbours {
	n := &neighbours{
		rows: len(order), classes: s.classes, order: order,
		dim:      z.dim,
		position: make([]float32, len(order)*z.dim),
		residual: make([]float64, len(order)*s.classes),
		maskOf:   make([]int, s.classes),
		own:      make([]int32, s.classes*len(order)),
	}
	for j, i := range order {
		copy(n.position[j*n.dim:], z.row(i))
		for c := range s.classes {
			n.residual[j*s.classes+c] = s.residual(i, c)
		}
	}
	n.place(class, bins, smallBin)
	return n
}

// place fills own, dense and outside.
func (n *neighbours) place(class [][]uint16, bins, smallBin int) {
	largest := make([]int, n.classes)
	count := make([]int, bins)
	slotOf := make([]int32, bins)
	outsiders := make([]int32, n.rows+1)
	everyone := -1 // the mask of classes whose rows are all in one bin
	for c, of := range class {
		clear(count)
		for _, i := range n.order {
			count[of[i]]++
		}
		for b, k := range count {
			if k > count[largest[c]] {
				largest[c] = b
			}
		}
		for b, k := range count {
			switch {
			case k <= smallBin:
				slotOf[b] = skipped
			case b == largest[c]:
				slotOf[b] = dominant
			default:
				slotOf[b] = int32(n.slots)
				n.slots++
			}
		}
		for j, i := range n.order {
			slot := slotOf[of[i]]
			n.own[c*n.rows+j] = slot
			if slot >= 0 {
				outsiders[j+1]++
			}
		}
		switch all := count[largest[c]] == n.rows; {
		case all && everyone >= 0:
			n.maskOf[c] = everyone
		default:
			if all {
				everyone = n.masks
			}
			n.maskOf[c] = n.masks
			n.masks++
		}
	}
	for j := range n.rows {
		outsiders[j+1] += outsiders[j]
	}
	n.outsideAt = outsiders
	n.outside = make([]outsider, outsiders[n.rows])
	n.dense = make([]float32, (n.classes+n.masks)*n.rows)
	for j := range n.rows {
		at := n.outsideAt[j]
		for c := range n.classes {
			e := float32(n.residual[j*n.classes+c])
			switch slot := n.own[c*n.rows+j]; {
			case slot == dominant:
				n.dense[c*n.rows+j] = e
				n.dense[(n.classes+n.maskOf[c])*n.rows+j] = 1
			case slot >= 0:
				n.outside[at] = outsider{slot, e}
				at++
			}
		}
	}
}

// scaled is an embedding in units of the bandwidth, centred: only differences
// matter, and a far origin would cost float32 digits.
type scaled struct {
	dim  int
	data []float32 // N×d
}

func newScaled(z *mat.Dense, bandwidth float64) (*scaled, error) {
	rows, dim := z.Dims()
	centre := make([]float64, dim)
	for i := range rows {
		for k, x := range z.RawRowView(i) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("metrics: row %d: dimension %d of the embedding is %v: an embedding must be finite", i, k, x)
			}
			centre[k] += x / float64(rows)
		}
	}
	s := &scaled{dim: dim, data: make([]float32, rows*dim)}
	for i := range rows {
		for k, x := range z.RawRowView(i) {
			s.data[i*dim+k] = float32((x - centre[k]) / bandwidth)
		}
	}
	return s, nil
}

func (s *scaled) row(i int) []float32 { return s.data[i*s.dim : (i+1)*s.dim] }

// sums are the three sums of one stripe, each C×lanes.
type sums struct{ r, s, q []float64 }

// stripe is the workspace in which one goroutine meets the rows of a stripe with all others.
type stripe struct {
	*neighbours
	first, count int       // positions first … first+count−1
	turned       []float32 // d×lanes: the stripe's z/γ by column
	kernel       []float32 // blockRows×lanes: K_ji
	squares      []float32 // blockRows×lanes: K_ji²
	firstOrder   []float32 // (C+masks)×lanes: R of each class, S of each mask
	secondOrder  []float32 // masks×lanes: Q of each mask
	slot         []float32 // slots×3×lanes: R, S, Q of the bins that are not dominant
	total        sums
}

func (n *neighbours) newStripe() *stripe {
	size := n.classes * lanes
	return &stripe{
		neighbours:  n,
		turned:      make([]float32, n.dim*lanes),
		kernel:      make([]float32, blockRows*lanes),
		squares:     make([]float32, blockRows*lanes),
		firstOrder:  make([]float32, (n.classes+n.masks)*lanes),
		secondOrder: make([]float32, n.masks*lanes),
		slot:        make([]float32, n.slots*3*lanes),
		total:       sums{make([]float64, size), make([]float64, size), make([]float64, size)},
	}
}

// begin turns to the stripe of positions from first on.
func (t *stripe) begin(first int) {
	t.first, t.count = first, min(lanes, t.rows-first)
	clear(t.turned)
	for l := range t.count {
		for k, x := range t.position[(first+l)*t.dim:][:t.dim] {
			t.turned[k*lanes+l] = x
		}
	}
	clear(t.total.r)
	clear(t.total.s)
	clear(t.total.q)
}

// meet adds the rows j0…j1−1, at most blockRows.
func (t *stripe) meet(j0, j1 int) {
	t.fillKernel(j0, j1)
	clear(t.firstOrder)
	tile.Multiply(t.firstOrder, t.dense[j0:], t.rows, t.classes+t.masks, j1-j0, t.kernel)
	clear(t.secondOrder)
	tile.Multiply(t.secondOrder, t.dense[t.classes*t.rows+j0:], t.rows, t.masks, j1-j0, t.squares)
	for j := j0; j < j1; j++ {
		k, squares := t.kernel[(j-j0)*lanes:], t.squares[(j-j0)*lanes:]
		for _, o := range t.outside[t.outsideAt[j]:t.outsideAt[j+1]] {
			tile.AddMoments(t.slot[3*o.slot*lanes:], o.e, k, squares)
		}
	}
	t.collect()
	if met := t.outside[t.outsideAt[j0]:t.outsideAt[j1]]; len(met) < t.slots {
		for _, o := range met {
			clear(t.slot[3*o.slot*lanes:][:3*lanes])
		}
	} else {
		clear(t.slot)
	}
}

// fillKernel writes K_ji and K_ji² for j in j0…j1−1 and the rows i of the stripe, 0 for i = j.
func (t *stripe) fillKernel(j0, j1 int) {
	k, squares := t.kernel[:(j1-j0)*lanes], t.squares[:(j1-j0)*lanes]
	tile.Distances(k, t.position[j0*t.dim:], t.dim, j1-j0, t.dim, t.turned)
	tile.Gaussian(k, squares)
	for l := range t.count {
		if j := t.first + l; j0 <= j && j < j1 {
			k[(j-j0)*lanes+l], squares[(j-j0)*lanes+l] = 0, 0
		}
	}
}

// collect adds each row's own-bin sums of the block to the totals.
func (t *stripe) collect() {
	for c := range t.classes {
		own := t.own[c*t.rows+t.first:][:t.count]
		mask := t.maskOf[c]
		r, s, q := t.total.r[c*lanes:], t.total.s[c*lanes:], t.total.q[c*lanes:]
		for l, slot := range own {
			switch {
			case slot == dominant:
				r[l] += float64(t.firstOrder[c*lanes+l])
				s[l] += float64(t.firstOrder[(t.classes+mask)*lanes+l])
				q[l] += float64(t.secondOrder[mask*lanes+l])
			case slot >= 0:
				at := int(3*slot)*lanes + l
				r[l] += float64(t.slot[at])
				s[l] += float64(t.slot[at+lanes])
				q[l] += float64(t.slot[at+2*lanes])
			}
		}
	}
}

// each calls visit with every stripe once its sums are complete, from several
// goroutines at a time, for disjoint rows.
func (n *neighbours) each(ctx context.Context, progress func(rows int), visit func(*stripe)) error {
	var next atomic.Int64
	var report sync.Mutex
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), (n.rows+lanes-1)/lanes) {
		wait.Go(func() {
			t := n.newStripe()
			for {
				first := int(next.Add(lanes)) - lanes
				if first >= n.rows || ctx.Err() != nil {
					return
				}
				t.begin(first)
				for j := 0; j < n.rows; j += blockRows {
					t.meet(j, min(j+blockRows, n.rows))
				}
				visit(t)
				report.Lock()
				progress(t.count)
				report.Unlock()
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}
