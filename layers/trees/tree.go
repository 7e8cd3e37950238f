package trees

import (
	"cmp"

	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Tree is the splits of D levels and the values of 2^D leaves.
type Tree struct {
	Columns []int      // D
	Edges   []float64  // D: a value above goes to the leaf with the level's bit
	Values  *mat.Dense // 2^D×C
}

// Settings of [Grow].
type Settings struct {
	Depth     int     // D at most; 0: 4
	Ridge     float64 // λ; 0: 1
	Curvature float64 // a leaf of less, over all outputs, has the value 0 and gains nothing; 0: 1
}

// leastGain is the part of what is gained so far that a level must add.
const leastGain = 1e-9

// Grow grows a tree on the gradients g and curvatures h (N×C each) that splits some columns of b.
// If no split gains anything, the tree is one leaf.
func Grow(b *Bins, columns []int, g, h *mat.Dense, s Settings) *Tree {
	s = Settings{cmp.Or(s.Depth, 4), cmp.Or(s.Ridge, 1), cmp.Or(s.Curvature, 1)}
	t := &Tree{}
	leaves := make([]int, b.rows)
	for range s.Depth {
		search := &level{b: b, columns: columns, g: g, h: h, Settings: s, leaves: leaves, count: 1 << len(t.Columns), best: make([]split, len(columns))}
		work.Run(len(columns), search)
		best := split{}
		for _, at := range search.best {
			if at.gain > best.gain {
				best = at
			}
		}
		if before := search.score(); !(best.gain > before+leastGain*(1+before)) {
			break
		}
		t.Columns, t.Edges = append(t.Columns, best.column), append(t.Edges, b.edges[best.column][best.edge])
		for i, code := range b.codes[best.column] {
			leaves[i] *= 2
			if int(code) > best.edge {
				leaves[i]++
			}
		}
	}
	t.Values = (&level{b: b, g: g, h: h, Settings: s, leaves: leaves, count: 1 << len(t.Columns)}).values()
	return t
}

// Leaf is the leaf of a row.
func (t *Tree) Leaf(row []float64) int {
	leaf := 0
	for l, j := range t.Columns {
		leaf *= 2
		if row[j] > t.Edges[l] {
			leaf++
		}
	}
	return leaf
}

// split is of a column, after a number of edges.
type split struct {
	column, edge int
	gain         float64
}

// level is a search for the split of all leaves so far.
type level struct {
	Settings
	b       *Bins
	columns []int
	g, h    *mat.Dense // N×C
	leaves  []int      // N, of count
	count   int
	best    []split // of each column
}

// Block finds the best split of a column.
func (l *level) Block(at int) {
	j := l.columns[at]
	_, c := l.g.Dims()
	bins := len(l.b.edges[j]) + 1
	sums := newSums(l.count*bins, c)
	for i, code := range l.b.codes[j] {
		sums.add(l.leaves[i]*bins+int(code), l.g.RawRowView(i), l.h.RawRowView(i))
	}
	l.best[at] = split{column: j}
	below, above := newSums(l.count, c), newSums(l.count, c)
	for leaf := range l.count {
		for k := range bins {
			above.add(leaf, sums.g.RawRowView(leaf*bins+k), sums.h.RawRowView(leaf*bins+k))
		}
	}
	for edge := range bins - 1 {
		gain := 0.0
		for leaf := range l.count {
			g, h := sums.g.RawRowView(leaf*bins+edge), sums.h.RawRowView(leaf*bins+edge)
			below.add(leaf, g, h)
			floats.Sub(above.g.RawRowView(leaf), g)
			floats.Sub(above.h.RawRowView(leaf), h)
			gain += l.gain(below, leaf) + l.gain(above, leaf)
		}
		if gain > l.best[at].gain {
			l.best[at].edge, l.best[at].gain = edge, gain
		}
	}
}

// gain is Σ_k G²/(H + λ) of a leaf.
func (l *level) gain(s sums, leaf int) (gain float64) {
	h := s.h.RawRowView(leaf)
	if floats.Sum(h) < l.Curvature {
		return 0
	}
	for k, g := range s.g.RawRowView(leaf) {
		gain += g * g / (max(h[k], 0) + l.Ridge)
	}
	return gain
}

// whole are the sums of each leaf.
func (l *level) whole() sums {
	_, c := l.g.Dims()
	s := newSums(l.count, c)
	for i, leaf := range l.leaves {
		s.add(leaf, l.g.RawRowView(i), l.h.RawRowView(i))
	}
	return s
}

// score is what the leaves gain as they are.
func (l *level) score() (score float64) {
	s := l.whole()
	for leaf := range l.count {
		score += l.gain(s, leaf)
	}
	return score
}

// values are −G/(H + λ) of each leaf.
func (l *level) values() *mat.Dense {
	s := l.whole()
	out := mat.DenseCopyOf(s.g)
	for leaf := range l.count {
		row, h := out.RawRowView(leaf), s.h.RawRowView(leaf)
		enough := floats.Sum(h) >= l.Curvature
		for k := range row {
			if row[k] /= -(h[k] + l.Ridge); !enough {
				row[k] = 0
			}
		}
	}
	return out
}

// sums are those of gradients and curvatures, row by row.
type sums struct{ g, h *mat.Dense }

func newSums(rows, c int) sums { return sums{mat.NewDense(rows, c, nil), mat.NewDense(rows, c, nil)} }

func (s sums) add(row int, g, h []float64) {
	floats.Add(s.g.RawRowView(row), g)
	floats.Add(s.h.RawRowView(row), h)
}
