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
// misses its label with probability 1 − level at most, whatever the model.
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
// apart again only if both, and all within them, have 100 of its rows. The marginal sets use all rows.
func NewConformal(logProbs *mat.Dense, labels []int, embedding *mat.Dense, level float64, rng *rand.Rand) (*Conformal, error) {
	s, err := newSample(logProbs, labels)
	if err != nil {
		return nil, err
	}
	if err := s.checkFeatures(embedding); err != nil {
		return nil, err
	}
	switch {
	case !(level > 0 && level < 1):
		return nil, fmt.Errorf("metrics: prediction sets of level %v: want a number between 0 and 1", level)
	case s.rows < 2*setRows:
		return nil, fmt.Errorf("metrics: prediction sets: there are %d labelled rows; regions need %d, half to be found on and half for the scores", s.rows, 2*setRows)
	}
	half := folds(s.rows, 2, rng)
	grown, scored := apart(half, 0)
	out := &Conformal{Level: level}
	if out.tree, err = GrowTree(rowsOf(embedding, grown), s.misses(grown, s.classes), TreeSettings{Rows: setRows}, rng); err != nil {
		return nil, err
	}
	score := make([]float64, s.rows)
	for i, y := range labels {
		score[i] = 1 - s.prob[i*s.classes+y]
	}
	out.marginal = conformalQuantile(score, level)
	leaf := out.tree.Leaf(rowsOf(embedding, scored))
	out.cell = out.tree.cells(leaf, setRows)
	byCell := make([][]float64, slices.Max(out.cell)+1)
	for at, i := range scored {
		byCell[out.cell[leaf[at]]] = append(byCell[out.cell[leaf[at]]], score[i])
	}
	for _, scores := range byCell {
		out.threshold = append(out.threshold, conformalQuantile(scores, level))
	}
	return out, nil
}

// conformalQuantile is the ⌈(n + 1)·level⌉-th smallest of n scores, ∞ beyond them.
func conformalQuantile(scores []float64, level float64) float64 {
	sorted := slices.Sorted(slices.Values(scores))
	// an integer product that rounding lifted must not count one more
	k := int(math.Ceil(float64(len(sorted)+1)*level - 1e-9))
	if k > len(sorted) {
		return math.Inf(1)
	}
	return sorted[max(k, 1)-1]
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
			score := 1 - math.Exp(l)
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
	Rows     int     `json:"rows"`
	Coverage float64 `json:"coverage"`
	SE       float64 `json:"se"` // binomial, of the coverage
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

// Covered measures sets and marginal ones (N×C each), by the cells of their rows (N) and their labels (N).
// weights (N) are the numbers of rows that each counts as; nil: one.
func Covered(sets, marginal *mat.Dense, cell, labels []int, weights []float64) (*SetCoverage, error) {
	n, classes := sets.Dims()
	if m, c := marginal.Dims(); m != n || c != classes || len(cell) != n || len(labels) != n {
		return nil, fmt.Errorf("metrics: coverage: sets are %d×%d, marginal ones %d×%d, with %d cells and %d labels: they must be of the same rows", n, classes, m, c, len(cell), len(labels))
	}
	for i, k := range cell {
		if k < 0 || k >= n || labels[i] < 0 || labels[i] >= classes {
			return nil, fmt.Errorf("metrics: coverage: row %d has cell %d and label %d", i, k, labels[i])
		}
	}
	all := slices.Max(cell) + 1 // rows are of their cell, and of all
	covered, total := make([]Coverage, all+1), make([]float64, all+1)
	for i, k := range cell {
		weight := 1.0
		if weights != nil {
			weight = weights[i]
		}
		for _, k := range []int{k, all} {
			c := &covered[k]
			total[k] += weight
			c.Coverage += weight * sets.At(i, labels[i])
			c.Marginal += weight * marginal.At(i, labels[i])
			for y := range classes {
				c.Size += weight * sets.At(i, y)
				c.MarginalSize += weight * marginal.At(i, y)
			}
		}
	}
	for k, rows := range total {
		c := &covered[k]
		c.Rows = int(math.Round(rows))
		rows = cmp.Or(rows, 1)
		c.Coverage, c.Size, c.Marginal, c.MarginalSize = c.Coverage/rows, c.Size/rows, c.Marginal/rows, c.MarginalSize/rows
		c.SE = math.Sqrt(c.Coverage * (1 - c.Coverage) / rows)
	}
	return &SetCoverage{All: covered[all], Regions: covered[:all]}, nil
}
