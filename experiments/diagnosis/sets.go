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
// The score of a class is 1 − p (Sadinle, Lei and Wasserman 2019). With n labelled rows in a cell, the set of a row is
// the classes whose score is at most the ⌈(n + 1)·level⌉-th smallest of the labels', all classes where that is beyond
// n, and the top class always. If the rows are exchangeable, a set misses its label with probability 1 − level at most,
// whatever the model. With weights, which are 1 on average and 1 for the new row, the bound is the least score such
// that scores of total weight (n + 1)·level do not exceed it (Tibshirani, Foygel Barber, Candès and Ramdas 2019); a
// soft label has C scores, by its shares.
type Conformal struct {
	space     space
	codewords *mat.Dense // of the space; the rows nearest to one are a cell
	threshold []float64  // of each cell
	marginal  float64
}

// setRows is how many labelled rows a cell has, or more.
const setRows = 100

// NewConformal takes labelled rows that the model has not been fitted to. One random half of them gives the codewords,
// by k-means in the embedding and two more directions along which the residuals vary most, so that rows of a cell have
// similar errors. The other half gives the scores; codewords with fewer than 100 of its rows are left out. The marginal
// sets use all rows. It uses Rows and Soft of by.
func NewConformal(logProbs *mat.Dense, labels []int, embedding *mat.Dense, by metrics.Settings, level float64, rng *rand.Rand) (*Conformal, error) {
	s, err := checked.NewSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return nil, err
	}
	z, err := s.FeaturesOf(embedding)
	if err != nil {
		return nil, err
	}
	out, err := marginal(s, level)
	if err != nil {
		return nil, err
	}
	if s.N < 2*setRows {
		return nil, fmt.Errorf("diagnosis: prediction sets: there are %d labelled rows; regions need %d, half to be found on and half for the scores", s.N, 2*setRows)
	}
	half := foldsOf(places(s, z), 2, rng)
	grown, scored := apart(half, 0)
	inside := checked.RowsOf(z, grown)
	out.space, out.threshold = newSpace(inside, s.Misses(grown, s.Classes)), nil
	words := lloyd(out.space.place(inside), min(defaultCodewords, max(1, len(grown)/setRows)), rng)
	out.codewords = dissolved(words, out.space.place(checked.RowsOf(z, scored)), setRows)
	cells, _ := out.codewords.Dims()
	byCell := make([][]weighedScore, cells)
	for at, k := range out.cells(len(scored), checked.RowsOf(z, scored)) {
		byCell[k] = scores(s, byCell[k], scored[at])
	}
	for _, of := range byCell {
		out.threshold = append(out.threshold, conformalQuantile(of, level))
	}
	return out, nil
}

// NewMarginal is [NewConformal] without an embedding: all rows are one region.
func NewMarginal(logProbs *mat.Dense, labels []int, by metrics.Settings, level float64) (*Conformal, error) {
	s, err := checked.NewSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return nil, err
	}
	return marginal(s, level)
}

func marginal(s *checked.Sample, level float64) (*Conformal, error) {
	if !(level > 0 && level < 1) {
		return nil, fmt.Errorf("diagnosis: prediction sets of level %v: want a number between 0 and 1", level)
	}
	all := make([]weighedScore, 0, s.N)
	for i := range s.N {
		all = scores(s, all, i)
	}
	quantile := conformalQuantile(all, level)
	return &Conformal{threshold: []float64{quantile}, marginal: quantile}, nil
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

// cells are those of rows (N), one without an embedding.
func (c *Conformal) cells(rows int, embedding *mat.Dense) []int {
	if c.codewords == nil {
		return make([]int, rows)
	}
	return nearest(c.space.place(embedding), c.codewords)
}

// Sets are the prediction sets of rows, N×C each, 1 where the class is in the set, and the
// cell of each row (N). The embedding (N×d) is that of NewConformal's rows, nil of NewMarginal.
func (c *Conformal) Sets(logProbs, embedding *mat.Dense) (regional, marginal *mat.Dense, cell []int) {
	n, classes := logProbs.Dims()
	regional, marginal, cell = mat.NewDense(n, classes, nil), mat.NewDense(n, classes, nil), c.cells(n, embedding)
	for i := range n {
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
