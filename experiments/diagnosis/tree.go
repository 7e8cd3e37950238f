package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/experiments/internal/checked"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Tree is nested regions of an embedding: codewords, and unions of them two by two.
//
// A row lies in the region of its nearest codeword, and in every union that holds it. The
// codewords are k-means' in the embedding with two directions more, along which the
// residuals of the rows that the tree is grown on vary most; those near each other are
// united first (Ward 1963). So regions are neighbourhoods that tend to be wrong alike.
type Tree struct {
	space     space
	codewords *mat.Dense // leaves×(d+r)
	nodes     []node     // the leaves in the order of the codewords, then the unions; last the root
}

// node is a region: a leaf, or the union of two others.
type node struct {
	left, right int // −1 of a leaf
	parent      int // −1 of the root
	centre      []float64
	rows        int // that the tree was grown on
}

// TreeSettings is the shape of a Tree. Its zero value is the default.
type TreeSettings struct {
	Codewords int // at most; 0 means 32
	Rows      int // a region has so many of the rows it was found on, or more; 0 means 50
}

const (
	defaultCodewords = 32
	defaultRegion    = 50
	lloydPasses      = 15
	lloydRows        = 8000 // at most, that codewords are learned from
	// residualDirections are added to the embedding, with as much variance as all of it.
	residualDirections = 2
)

func (s TreeSettings) filled() (TreeSettings, error) {
	if s.Codewords < 0 || s.Rows < 0 {
		return s, fmt.Errorf("diagnosis: a search around %d codewords for regions of %d rows: want numbers above 0", s.Codewords, s.Rows)
	}
	s.Codewords, s.Rows = cmp.Or(s.Codewords, defaultCodewords), cmp.Or(s.Rows, defaultRegion)
	return s, nil
}

// GrowTree finds regions of the embedding (N×d) from the residuals p_ic − 1[y_i = c] of
// its rows (N×C), or from the embedding alone if residuals is nil. There must be as many
// rows as one region needs.
func GrowTree(embedding, residuals *mat.Dense, s TreeSettings, rng *rand.Rand) (*Tree, error) {
	s, err := s.filled()
	if err != nil {
		return nil, err
	}
	n, _ := embedding.Dims()
	if n < s.Rows {
		return nil, fmt.Errorf("diagnosis: %d rows are fewer than the %d of a region", n, s.Rows)
	}
	t := &Tree{space: newSpace(embedding, residuals)}
	x := t.space.place(embedding)
	t.codewords = lloyd(x, min(s.Codewords, max(1, n/s.Rows)), rng)
	t.dissolve(x, s.Rows)
	t.unite(x)
	return t, nil
}

// Leaves is how many codewords there are: regions 0 to Leaves − 1.
func (t *Tree) Leaves() int { k, _ := t.codewords.Dims(); return k }

// Leaf is the region of each row's codeword (N).
func (t *Tree) Leaf(embedding *mat.Dense) []int {
	return nearest(t.space.place(embedding), t.codewords)
}

// space is the embedding's coordinates less their mean, and the residual directions, each
// part with a total variance of 1.
type space struct {
	mean, sd   []float64 // d
	unit       float64
	directions *mat.Dense // d×r, of standardized coordinates; nil for none
	scale      float64    // of the directions
}

func newSpace(z, residuals *mat.Dense) space {
	n, d := z.Dims()
	s := space{}
	s.mean, s.sd = checked.Moments(z)
	total := floats.Dot(s.sd, s.sd)
	s.unit = 1
	if total > 0 {
		s.unit = 1 / math.Sqrt(total)
	}
	if residuals == nil {
		return s
	}
	standard := mat.NewDense(n, d, nil)
	for i := range n {
		s.standardize(standard.RawRowView(i), z.RawRowView(i))
	}
	var cross mat.Dense // ZᵀE, d×C
	cross.Mul(standard.T(), residuals)
	var svd mat.SVD
	if !svd.Factorize(&cross, mat.SVDThin) {
		return s
	}
	var u mat.Dense
	svd.UTo(&u)
	_, most := u.Dims()
	s.directions = mat.DenseCopyOf(u.Slice(0, d, 0, min(residualDirections, most)))
	var along mat.Dense
	along.Mul(standard, s.directions)
	_, sd := checked.Moments(&along)
	if total := floats.Dot(sd, sd); total > 0 {
		s.scale = 1 / math.Sqrt(total)
	}
	return s
}

func (s *space) standardize(dst, z []float64) {
	for j, x := range z {
		dst[j] = 0
		if s.sd[j] > 0 {
			dst[j] = (x - s.mean[j]) / s.sd[j]
		}
	}
}

// place is the rows in the space, N×(d+r).
func (s *space) place(z *mat.Dense) *mat.Dense {
	n, d := z.Dims()
	r := 0
	if s.directions != nil {
		_, r = s.directions.Dims()
	}
	out := mat.NewDense(n, d+r, nil)
	standard := make([]float64, d)
	for i := range n {
		row := out.RawRowView(i)
		for j, x := range z.RawRowView(i) {
			row[j] = (x - s.mean[j]) * s.unit
		}
		if r > 0 {
			s.standardize(standard, z.RawRowView(i))
			for k := range r {
				for j, x := range standard {
					row[d+k] += s.scale * x * s.directions.At(j, k)
				}
			}
		}
	}
	return out
}

// lloyd is k-means from k-means++ seeds (Arthur and Vassilvitskii 2007).
func lloyd(of mat.Matrix, k int, rng *rand.Rand) *mat.Dense {
	n, d := of.Dims()
	x, dense := of.(*mat.Dense)
	switch {
	case n > lloydRows:
		x, n = checked.RowsOf(of, rng.Perm(n)[:lloydRows]), lloydRows
	case !dense:
		x = checked.RowsOf(of, checked.FirstToLast(n))
	}
	words := mat.NewDense(k, d, nil)
	seed(words, x, rng)
	count := make([]float64, k)
	for range lloydPasses {
		word := nearest(x, words)
		words.Zero()
		clear(count)
		for i, w := range word {
			floats.Add(words.RawRowView(w), x.RawRowView(i))
			count[w]++
		}
		for w, rows := range count {
			if rows == 0 {
				words.SetRow(w, x.RawRowView(rng.IntN(n)))
				continue
			}
			floats.Scale(1/rows, words.RawRowView(w))
		}
	}
	return words
}

// seed draws words among the rows of x, each by the squared distance to those before.
func seed(words, x *mat.Dense, rng *rand.Rand) {
	n, _ := x.Dims()
	k, _ := words.Dims()
	distance := make([]float64, n) // squared, to the nearest word so far
	next := rng.IntN(n)
	for w := range k {
		words.SetRow(w, x.RawRowView(next))
		var sum float64
		for i := range distance {
			if d2 := checked.Squared(x.RawRowView(i), words.RawRowView(w)); w == 0 || d2 < distance[i] {
				distance[i] = d2
			}
			sum += distance[i]
		}
		u := rng.Float64() * sum
		for next = 0; next < n-1; next++ {
			if u -= distance[next]; u < 0 {
				break
			}
		}
	}
}

// nearest is the row of words nearest to each row of x, the first among equals:
// argmin ‖w‖² − 2 wᵀx.
func nearest(x mat.Matrix, words *mat.Dense) []int {
	n, d := x.Dims()
	k, _ := words.Dims()
	norm := make([]float64, k)
	for w := range norm {
		norm[w] = floats.Dot(words.RawRowView(w), words.RawRowView(w))
	}
	word := make([]int, n)
	product, block := make([]float64, min(n, nearestBlock)*k), make([]float64, min(n, nearestBlock)*d)
	for first := 0; first < n; first += nearestBlock {
		rows := min(nearestBlock, n-first)
		product := product[:rows*k]
		for i := range rows {
			row := block[i*d : (i+1)*d]
			copy(row, checked.RowOf(x, first+i, row))
		}
		simd.Dgemm(blas.NoTrans, blas.Trans, rows, k, d, 1, block, d, words.RawMatrix().Data, d, 0, product, k)
		for i := range rows {
			best := math.Inf(1)
			for w, dot := range product[i*k : (i+1)*k] {
				if d2 := norm[w] - 2*dot; d2 < best {
					best, word[first+i] = d2, w
				}
			}
		}
	}
	return word
}

// nearestBlock is how many rows meet all codewords at once.
const nearestBlock = 1024

// dissolve removes the smallest codeword until each has so many of the rows.
func (t *Tree) dissolve(x *mat.Dense, rows int) {
	for {
		k, d := t.codewords.Dims()
		count := make([]int, k)
		for _, w := range nearest(x, t.codewords) {
			count[w]++
		}
		least := 0
		for w := range count {
			if count[w] < count[least] {
				least = w
			}
		}
		if k == 1 || count[least] >= rows {
			return
		}
		kept := mat.NewDense(k-1, d, nil)
		for w, at := 0, 0; w < k; w++ {
			if w != least {
				kept.SetRow(at, t.codewords.RawRowView(w))
				at++
			}
		}
		t.codewords = kept
	}
}

// unite builds the unions, each time of the two regions whose rows spread least when
// united: n_a n_b/(n_a + n_b) · ‖centre_a − centre_b‖².
func (t *Tree) unite(x *mat.Dense) {
	k, d := t.codewords.Dims()
	t.nodes = make([]node, k)
	for w := range t.nodes {
		t.nodes[w] = node{left: -1, right: -1, parent: -1, centre: make([]float64, d)}
	}
	for i, w := range nearest(x, t.codewords) {
		t.nodes[w].rows++
		floats.Add(t.nodes[w].centre, x.RawRowView(i))
	}
	open := make([]int, k)
	for w := range t.nodes {
		open[w] = w
		floats.Scale(1/float64(max(1, t.nodes[w].rows)), t.nodes[w].centre)
	}
	for len(open) > 1 {
		bestA, bestB, best := 0, 1, math.Inf(1)
		for a := range open {
			for b := range a {
				p, q := &t.nodes[open[a]], &t.nodes[open[b]]
				m, n := float64(p.rows), float64(q.rows)
				if cost := m * n / (m + n) * checked.Squared(p.centre, q.centre); cost < best {
					bestA, bestB, best = b, a, cost
				}
			}
		}
		a, b := open[bestA], open[bestB]
		p, q := t.nodes[a], t.nodes[b]
		u := node{left: a, right: b, parent: -1, rows: p.rows + q.rows, centre: make([]float64, d)}
		floats.AddScaled(u.centre, float64(p.rows)/float64(u.rows), p.centre)
		floats.AddScaled(u.centre, float64(q.rows)/float64(u.rows), q.centre)
		t.nodes[a].parent, t.nodes[b].parent = len(t.nodes), len(t.nodes)
		open[bestA] = len(t.nodes)
		open = append(open[:bestB], open[bestB+1:]...)
		t.nodes = append(t.nodes, u)
	}
}
