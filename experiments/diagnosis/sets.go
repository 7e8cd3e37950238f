package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics"

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
func NewConformal(logProbs *mat.Dense, labels []int, embedding *mat.Dense, by metrics.Settings, level float64, rng *rand.Rand) (*Conformal, error) {
	s, err := checked.NewSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return nil, err
	}
	z, err := s.FeaturesOf(embedding)
	if err != nil {
		return nil, err
	}
	switch {
	case !(level > 0 && level < 1):
		return nil, fmt.Errorf("diagnosis: prediction sets of level %v: want a number between 0 and 1", level)
	case s.N < 2*setRows:
		return nil, fmt.Errorf("diagnosis: prediction sets: there are %d labelled rows; regions need %d, half to be found on and half for the scores", s.N, 2*setRows)
	}
	half := foldsOf(places(s, z), 2, rng)
	grown, scored := apart(half, 0)
	out := &Conformal{Level: level}
	if out.tree, err = GrowTree(checked.RowsOf(z, grown), s.Misses(grown, s.Classes), TreeSettings{Rows: setRows}, rng); err != nil {
		return nil, err
	}
	all := make([]weighedScore, 0, s.N)
	for i := range s.N {
		all = scores(s, all, i)
	}
	out.marginal = conformalQuantile(all, level)
	leaf := out.tree.Leaf(checked.RowsOf(z, scored))
	out.cell = out.tree.cells(leaf, setRows)
	byCell := make([][]weighedScore, slices.Max(out.cell)+1)
	for at, i := range scored {
		cell := &byCell[out.cell[leaf[at]]]
		*cell = scores(s, *cell, i)
	}
	for _, of := range byCell {
		out.threshold = append(out.threshold, conformalQuantile(of, level))
	}
	return out, nil
}

// weighedScore is the score of a label.
type weighedScore struct{ score, weight float64 }

// scores adds those of row i to all.
func scores(s *checked.Sample, all []weighedScore, i int) []weighedScore {
	s.EachShare(i, func(c int, q float64) {
		all = append(all, weighedScore{1 - s.Prob[i*s.Classes+c], q * s.W(i)})
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
			score := 1 - p - checked.OnEdge(p)
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
