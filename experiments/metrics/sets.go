package metrics

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Conformal makes prediction sets that hold the label with a chosen probability: over all
// rows (marginal), and within each cell of an embedding (Mondrian, Vovk, Lindsay, Nouretdinov and Gammerman 2003).
//
// The score of a class is 1 − p (Sadinle, Lei and Wasserman 2019). With n labelled rows in a cell, the set of a
// row is the classes whose score is at most the ⌈(n + 1)·level⌉-th smallest of the labels', all classes where
// that is beyond n, and the top class always. If the rows are exchangeable, a set
// misses its label with probability 1 − level at most, whatever the model. Of rows that count differently it is
// the least score that scores of a weight of (n + 1)·level in all do not exceed, the weights being 1 on average and the new
// row's 1 (Tibshirani, Foygel Barber, Candès and Ramdas 2019); a soft label has C scores, by its shares.
type Conformal struct {
	Level     float64
	tree      *Tree
	cell      []int     // of each leaf of the tree
	threshold []float64 // of each cell
	marginal  float64
}

// setRows is how many labelled rows a cell has, or more.
const setRows = 100

// NewConformal takes labelled rows that the model has not been fitted to. One half of them, drawn
// at random, grows a [Tree]; the scores of the other half decide which regions stay apart: two that were united are told
// apart again only if both, and all within them, have 100 of its rows. The marginal sets use all rows. Of by it takes
// Rows and Soft.
func NewConformal(logProbs *mat.Dense, labels []int, embedding *mat.Dense, by Settings, level float64, rng *rand.Rand) (*Conformal, error) {
	s, err := newSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return nil, err
	}
	z, err := s.featuresOf(embedding)
	if err != nil {
		return nil, err
	}
	switch {
	case !(level > 0 && level < 1):
		return nil, fmt.Errorf("metrics: prediction sets of level %v: want a number between 0 and 1", level)
	case s.rows < 2*setRows:
		return nil, fmt.Errorf("metrics: prediction sets: there are %d labelled rows; regions need %d, half to be found on and half for the scores", s.rows, 2*setRows)
	}
	half := foldsOf(s.places(z), 2, rng)
	grown, scored := apart(half, 0)
	out := &Conformal{Level: level}
	if out.tree, err = GrowTree(rowsOf(z, grown), s.misses(grown, s.classes), TreeSettings{Rows: setRows}, rng); err != nil {
		return nil, err
	}
	all := make([]weighedScore, 0, s.rows)
	for i := range s.rows {
		all = s.scores(all, i)
	}
	out.marginal = conformalQuantile(all, level)
	leaf := out.tree.Leaf(rowsOf(z, scored))
	out.cell = out.tree.cells(leaf, setRows)
	byCell := make([][]weighedScore, slices.Max(out.cell)+1)
	for at, i := range scored {
		cell := &byCell[out.cell[leaf[at]]]
		*cell = s.scores(*cell, i)
	}
	for _, scores := range byCell {
		out.threshold = append(out.threshold, conformalQuantile(scores, level))
	}
	return out, nil
}

// weighedScore is the score of a label.
type weighedScore struct{ score, weight float64 }

// scores adds those of row i to all.
func (s *sample) scores(all []weighedScore, i int) []weighedScore {
	s.eachShare(i, func(c int, q float64) {
		all = append(all, weighedScore{1 - s.prob[i*s.classes+c], q * s.w(i)})
	})
	return all
}

// conformalQuantile is the least score that scores of a weight of (n + 1)·level, n that of all, do not exceed: the
// ⌈(n + 1)·level⌉-th smallest of n rows. It is ∞ beyond them.
func conformalQuantile(scores []weighedScore, level float64) float64 {
	sorted := slices.SortedFunc(slices.Values(scores), func(a, b weighedScore) int { return cmp.Compare(a.score, b.score) })
	var n, below float64
	for _, s := range sorted {
		n += s.weight
	}
	for _, s := range sorted {
		// a product that rounding lifted must not count one more
		if below += s.weight; below >= (n+1)*level-1e-9 {
			return s.score
		}
	}
	return math.Inf(1)
}

// cells cuts the tree from its root, as long as both parts keep so many of the rows whose
// leaves are given, and numbers what is left: for each leaf its cell.
func (t *Tree) cells(leaf []int, rows int) []int {
	count := make([]int, len(t.nodes))
	for _, l := range leaf {
		for k := l; k >= 0; k = t.nodes[k].parent {
			count[k]++
		}
	}
	cell, cells := make([]int, t.Leaves()), 0
	const open = -1
	var cut func(k, in int) // region k, which lies in a cell or is open to be cut
	cut = func(k, in int) {
		n := t.nodes[k]
		if leaf := n.left < 0; in == open && (leaf || count[n.left] < rows || count[n.right] < rows) {
			in = cells
			cells++
		}
		if n.left < 0 {
			cell[k] = in
			return
		}
		cut(n.left, in)
		cut(n.right, in)
	}
	cut(len(t.nodes)-1, open)
	return cell
}

// Sets are the prediction sets of rows, N×C each, 1 where the class is in the set, and the
// cell of each row (N).
func (c *Conformal) Sets(logProbs, embedding *mat.Dense) (regional, marginal *mat.Dense, cell []int) {
	n, classes := logProbs.Dims()
	regional, marginal, cell = mat.NewDense(n, classes, nil), mat.NewDense(n, classes, nil), c.tree.Leaf(embedding)
	for i := range n {
		cell[i] = c.cell[cell[i]]
		row := logProbs.RawRowView(i)
		top := floats.MaxIdx(row)
		for k, l := range row {
			p := math.Exp(l)
			score := 1 - p - onEdge(p)
			if k == top || score <= c.threshold[cell[i]] {
				regional.Set(i, k, 1)
			}
			if k == top || score <= c.marginal {
				marginal.Set(i, k, 1)
			}
		}
	}
	return regional, marginal, cell
}

// Coverage is how often prediction sets hold the label.
type Coverage struct {
	Rows     int     `json:"rows"` // that count
	Coverage float64 `json:"coverage"`
	SE       float64 `json:"se"` // binomial, of the coverage, by the effective number of rows
	Size     float64 `json:"mean_size"`
	// Marginal are the same of the sets that use no region.
	Marginal     float64 `json:"marginal_coverage"`
	MarginalSize float64 `json:"marginal_mean_size"`
}

// SetCoverage is the coverage of prediction sets over all rows, and in each cell.
type SetCoverage struct {
	All     Coverage   `json:"all"`
	Regions []Coverage `json:"regions"`
}

// Covered measures sets and marginal ones (N×C each) of predictions, by the cells of their rows (N) and their labels (N).
// Of by it takes Rows and Soft.
func Covered(logProbs, sets, marginal *mat.Dense, cell, labels []int, by Settings) (*SetCoverage, error) {
	s, err := newSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return nil, err
	}
	n, classes := sets.Dims()
	if m, c := marginal.Dims(); m != n || c != classes || len(cell) != n || s.input != n || s.classes != classes {
		return nil, fmt.Errorf("metrics: coverage: predictions are %d×%d, sets %d×%d, marginal ones %d×%d, with %d cells: they must be of the same rows", s.input, s.classes, n, classes, m, c, len(cell))
	}
	if i := slices.IndexFunc(cell, func(k int) bool { return k < 0 || k >= n }); i >= 0 {
		return nil, fmt.Errorf("metrics: coverage: row %d has cell %d", i, cell[i])
	}
	all := slices.Max(cell) + 1 // rows are of their cell, and of all
	covered, total, squares := make([]Coverage, all+1), make([]float64, all+1), make([]float64, all+1)
	for at := range s.rows {
		i, w := s.inputRow(at), s.w(at)
		for _, k := range []int{cell[i], all} {
			c := &covered[k]
			c.Rows++
			total[k] += w
			squares[k] += w * w
			for y := range classes {
				c.Coverage += w * s.share(at, y) * sets.At(i, y)
				c.Marginal += w * s.share(at, y) * marginal.At(i, y)
				c.Size += w * sets.At(i, y)
				c.MarginalSize += w * marginal.At(i, y)
			}
		}
	}
	for k, n := range total {
		if n == 0 {
			continue
		}
		c := &covered[k]
		c.Coverage, c.Size, c.Marginal, c.MarginalSize = c.Coverage/n, c.Size/n, c.Marginal/n, c.MarginalSize/n
		c.SE = math.Sqrt(max(0, c.Coverage*(1-c.Coverage)) * squares[k] / (n * n))
	}
	return &SetCoverage{All: covered[all], Regions: covered[:all]}, nil
}
