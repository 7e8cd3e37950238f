package trees

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph/work"
)

// Growth grows extremely randomized trees (Geurts, Ernst and Wehenkel 2006), each of a bootstrap sample (Breiman 1996):
// as many draws of a group, with replacement, as there are groups. A node of several classes visits ⌊√P⌋ columns, drawn
// without replacement, and more until one is not constant in the node's rows. Each has one threshold, uniform between
// its least and its greatest value there; a row of a value above goes to the right. The split is the one with the least
// Gini impurity of its sides, the first of those that are equal:
//
//	most Σ_c L_c²/Σ_c L_c + Σ_c R_c²/Σ_c R_c
//
// with the weights L and R of the classes on its sides. Trees grow until a leaf has one class, or rows of one kind.
type Growth struct {
	Trees int    // at most; 0: 300
	Bytes int    // of the nodes in a file, at most: as the first [fewest] trees say; 0: 20,000,000
	Seed  uint64 // tree t draws from PCG(Seed, t)
}

// fewest is how many trees there are, if as many are wanted, whatever their size.
const fewest = 20

// Forest grows trees on s. An interrupted forest is none.
func (g Growth) Forest(ctx context.Context, s *Sample) (*Forest, error) {
	f := &Forest{Columns: s.columns, Classes: s.classes, Shares: s.shares}
	most := cmp.Or(g.Trees, 300)
	if err := g.grow(work.Span(ctx, "", 0, float64(min(fewest, most))/float64(most)), f, s, min(fewest, most)); err != nil {
		return nil, err
	}
	fitting := cmp.Or(g.Bytes, 20_000_000) * len(f.trees) / f.Bytes()
	if most = min(most, max(fewest, fitting)); most == len(f.trees) {
		return f, nil
	}
	if err := g.grow(work.Span(ctx, "", float64(fewest)/float64(most), 1), f, s, most); err != nil {
		return nil, err
	}
	return f, nil
}

// grow grows more trees, until there are so many.
func (g Growth) grow(ctx context.Context, f *Forest, s *Sample, until int) error {
	from := len(f.trees)
	trees, drawn := make([][]node, until-from), make([][]bool, until-from)
	err := work.Parts{N: until - from}.With(ctx, func() func(context.Context, int) error {
		w := newGrower(s)
		return func(_ context.Context, k int) error {
			trees[k], drawn[k] = w.grow(rand.New(rand.NewPCG(g.Seed, uint64(from+k))))
			return nil
		}
	})
	f.trees, f.drawn = append(f.trees, trees...), append(f.drawn, drawn...)
	return err
}

// grower grows one tree after another.
type grower struct {
	s       *Sample
	rng     *rand.Rand
	columns []int32   // in the order drawn last
	bag     []entry   // in the order of the leaves, as far as they are grown
	local   []int32   // of each entry of a node, the number of its class among those of the node
	at      []int32   // of each class that number
	values  []float32 // of the columns that were read last, of each entry of a node
	right   []entry   // of a node
	sums    []float64 // of the classes of a node by weight, on the left and on the right
	tree    []node
}

func newGrower(s *Sample) *grower {
	return &grower{s: s, columns: make([]int32, s.columns), at: make([]int32, s.classes), sums: make([]float64, 2*s.classes)}
}

// grow is a tree of a bag that rng draws, with the groups in it.
func (w *grower) grow(rng *rand.Rand) ([]node, []bool) {
	w.rng, w.bag, w.tree = rng, w.bag[:0], w.tree[:0]
	for j := range w.columns {
		w.columns[j] = int32(j)
	}
	copies, drawn := make([]float64, len(w.s.groups)), make([]bool, len(w.s.groups))
	for range copies {
		copies[rng.IntN(len(copies))]++
	}
	for g, n := range copies {
		if drawn[g] = n > 0; drawn[g] {
			for _, e := range w.s.groups[g] {
				e.weight *= n
				w.bag = append(w.bag, e)
			}
		}
	}
	if n := len(w.bag); n > len(w.local) {
		w.values, w.local = make([]float32, together*n), make([]int32, n)
	}
	w.split(w.bag)
	return slices.Clone(w.tree), drawn
}

// split adds the node of these entries, and all below it.
func (w *grower) split(of []entry) {
	at := len(w.tree)
	w.tree = append(w.tree, node{})
	classes := w.classes(of)
	if kind := w.s.kind[of[0].row]; classes == 1 || w.alike(of, kind) {
		w.tree[at].column = -1 - of[0].class
		if mixed := w.s.mixed[kind]; classes > 1 {
			w.tree[at].column = -1 - int32(w.s.classes) - mixed
		}
		return
	}
	column, threshold := w.best(of, classes)
	left := w.divide(of, column, threshold)
	w.split(of[:left])
	w.tree[at] = node{threshold, column, int32(len(w.tree))}
	w.split(of[left:])
}

// classes is how many classes a node has, and numbers them.
func (w *grower) classes(of []entry) (n int) {
	for i := range w.at {
		w.at[i] = -1
	}
	for i, e := range of {
		if w.at[e.class] < 0 {
			w.at[e.class] = int32(n)
			n++
		}
		w.local[i] = w.at[e.class]
	}
	return n
}

// alike is whether all rows are of the kind.
func (w *grower) alike(of []entry, kind int32) bool {
	for _, e := range of {
		if w.s.kind[e.row] != kind {
			return false
		}
	}
	return true
}

// together is how many columns are read at a time: rows are far apart in memory.
const together = 4

// best draws the splits of a node of so many classes: some columns, then their thresholds. None is better than one of
// two sides of one class each, so that none is drawn after it.
func (w *grower) best(of []entry, classes int) (column int32, threshold float32) {
	visits, most := int(math.Sqrt(float64(len(w.columns)))), math.Inf(-1)
	for from := 0; from < visits || math.IsInf(most, -1) && from < len(w.columns); {
		columns := w.columns[from : from+max(1, min(together, visits-from))]
		for i := range columns {
			k := from + i + w.rng.IntN(len(w.columns)-from-i)
			columns[i], w.columns[k] = w.columns[k], columns[i]
		}
		from += len(columns)
		w.read(of, columns)
		for i, j := range columns {
			values := w.values[i*len(of) : (i+1)*len(of)]
			lo, hi := extent(values)
			if lo == hi {
				continue
			}
			t := below(float64(lo)+w.rng.Float64()*(float64(hi)-float64(lo)), lo, hi)
			gain, pure := w.gain(of, values, classes, t)
			if gain > most || pure {
				column, threshold, most = j, t, gain
			}
			if pure {
				return column, threshold
			}
		}
	}
	return column, threshold
}

// below is the greatest number of single precision that is v or less, at least lo and less than hi.
func below(v float64, lo, hi float32) float32 {
	t := float32(v)
	if float64(t) > v {
		t = math.Nextafter32(t, lo)
	}
	if t >= hi {
		return lo
	}
	return t
}

// read reads some columns of a node, one after another.
func (w *grower) read(of []entry, columns []int32) {
	n := len(of)
	if len(columns) < together {
		for i, j := range columns {
			for at := range of {
				w.values[i*n+at] = w.s.row(int(of[at].row))[j]
			}
		}
		return
	}
	a, b, c, d := w.values[:n], w.values[n:2*n], w.values[2*n:3*n], w.values[3*n:4*n]
	p := w.s.columns
	j, k, l, m := w.s.x[columns[0]:], w.s.x[columns[1]:], w.s.x[columns[2]:], w.s.x[columns[3]:]
	for at := range of {
		x := int(of[at].row) * p
		a[at], b[at], c[at], d[at] = j[x], k[x], l[x], m[x]
	}
}

// extent are the least and the greatest value.
func extent(values []float32) (lo, hi float32) {
	lo, hi = values[0], values[0]
	for _, v := range values {
		if v < lo {
			lo = v
		} else if v > hi {
			hi = v
		}
	}
	return lo, hi
}

// gain is Σ_c L_c²/Σ_c L_c + Σ_c R_c²/Σ_c R_c of a threshold, and whether either side has one class.
func (w *grower) gain(of []entry, values []float32, classes int, threshold float32) (gain float64, pure bool) {
	sums := w.sums[:2*classes]
	clear(sums)
	local := w.local[:len(of)]
	for i, v := range values {
		above := int(math.Float32bits(threshold-v) >> 31) // 1 if v > threshold, without a branch that nobody can foresee
		sums[int(local[i])+above*classes] += of[i].weight
	}
	there := 0
	for ; len(sums) > 0; sums = sums[classes:] {
		var all, squares float64
		for _, v := range sums[:classes] {
			if v > 0 {
				there++
			}
			all, squares = all+v, squares+v*v
		}
		gain += squares / all
	}
	return gain, there == 2
}

// divide puts the entries on the left of a split before the others, and is how many there are. They stay in the order
// of their rows, in which columns are read fastest.
func (w *grower) divide(of []entry, column int32, threshold float32) (left int) {
	right := w.right[:0]
	for _, e := range of {
		if w.s.row(int(e.row))[column] > threshold {
			right = append(right, e)
		} else {
			of[left] = e
			left++
		}
	}
	copy(of[left:], right)
	w.right = right
	return left
}
