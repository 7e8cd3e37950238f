package layers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers/trees"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Leaf gives each slot the leaf of an oblivious tree of its own (as He et al. 2014 encode rows for
// a linear model), grown on what a base without codes leaves of the calibration rows: the logits
// at their best temperature or, of rows without logits, the shares of the classes. A tree is as
// deep as its leaves are at most Codewords, and at most 6 levels; one that finds nothing to split
// is one leaf.
//
// A leaf's codeword is the mean of the slots in it. The splits are the state codebook/columns and
// codebook/edges (w×D each).
type Leaf struct {
	Codewords int // leaves of a slot's tree at most; 0: 64

	leaves
}

var _ Supervised = Leaf{}

// Over is the sizes of cal's features in w slots (0: 64), each with the leaves of its tree.
func (c Leaf) Over(cal *data.Set, slots int) (Sizes, error) {
	return leavesOver(cal, slots, c.Codewords)
}

// Init grows the trees.
func (c Leaf) Init(_ context.Context, w *graph.Weights, cal *data.Set, s Sizes, _ *rand.Rand) error {
	left, err := residualsOf(cal, s)
	if err != nil {
		return err
	}
	c.add(w, cal, s, func(slot columns, depth int) ([]int, []float64) {
		t := trees.Grow(trees.NewBins(slot, nil, cal.Weights), data.UpTo(slot.n), left.gradient, left.curvature, trees.Settings{Depth: depth})
		return t.Columns, t.Edges
	})
	return nil
}

// Twin is trees as deep whose splits are drawn.
func (c Leaf) Twin() Codes { return DrawnLeaf{Codewords: c.Codewords} }

// Supervised is true.
func (Leaf) Supervised() bool { return true }

// DrawnLeaf is [Leaf] with splits that are drawn: a column of the slot, and its value in a row.
type DrawnLeaf struct {
	Codewords int // as of Leaf

	leaves
}

var _ Codes = DrawnLeaf{}

// Over is that of Leaf.
func (c DrawnLeaf) Over(cal *data.Set, slots int) (Sizes, error) {
	return leavesOver(cal, slots, c.Codewords)
}

// Init draws the splits.
func (c DrawnLeaf) Init(_ context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	c.add(w, cal, s, func(slot columns, depth int) (at []int, edges []float64) {
		for range depth {
			j := rng.IntN(slot.n)
			at, edges = append(at, j), append(edges, slot.At(rng.IntN(cal.Len()), j))
		}
		return at, edges
	})
	return nil
}

// Twin is itself.
func (c DrawnLeaf) Twin() Codes { return c }

// deepest is how many levels a tree has at most.
const deepest = 6

// leavesOver are the sizes of slots with trees of so many leaves at most.
func leavesOver(cal *data.Set, slots, most int) (Sizes, error) {
	most = cmp.Or(most, 1<<deepest)
	if most < 2 {
		return Sizes{}, &SettingError{fmt.Sprintf("a tree of %d leaves divides nothing; choose at least 2", most)}
	}
	s, err := sizesOver(cal, slots, 1<<min(bits.Len(uint(most))-1, deepest))
	s.Codewords *= s.Slots
	s.Apart = true
	return s, err
}

// leaves are codes by trees, one for each slot.
type leaves struct{ words }

// depth is D.
func (leaves) depth(s Sizes) int { return bits.Len(uint(s.perBook())) - 1 }

// add adds the trees with the mean of the slots in each leaf. A level that splits nothing has the
// largest number for its edge; a leaf of no slot is the mean of all.
func (c leaves) add(w *graph.Weights, cal *data.Set, s Sizes, split func(slot columns, depth int) (at []int, edges []float64)) {
	depth, d := c.depth(s), s.Features/s.Slots
	n, each := cal.Len(), s.perBook()
	all := &mat.Dense{}
	all.CloneFrom(data.Dense(cal.Features))
	asked, edges, means := make([]float64, s.Slots*depth), make([]float64, s.Slots*depth), mat.NewDense(s.Codewords, d, nil)
	for i := range s.Slots {
		slot := columns{all, i * d, d}
		tree := trees.Tree{}
		tree.Columns, tree.Edges = split(slot, depth)
		for l := range depth {
			edges[i*depth+l] = math.MaxFloat32
			if from := depth - len(tree.Columns); l >= from { // levels that split nothing come first
				asked[i*depth+l], edges[i*depth+l] = float64(tree.Columns[l-from]), tree.Edges[l-from]
			}
		}
		counts, mean := make([]float64, each), make([]float64, d)
		for row := range n {
			z := all.RawRowView(row)[i*d:][:d]
			leaf := tree.Leaf(z)
			counts[leaf]++
			floats.Add(means.RawRowView(i*each+leaf), z)
			floats.AddScaled(mean, 1/float64(n), z)
		}
		for leaf, count := range counts {
			if count == 0 {
				means.SetRow(i*each+leaf, mean)
			} else {
				floats.Scale(1/count, means.RawRowView(i*each+leaf))
			}
		}
	}
	w.AddState("codebook/codewords", means.RawMatrix().Data, s.Codewords, d)
	w.AddState("codebook/columns", asked, s.Slots, depth)
	w.AddState("codebook/edges", edges, s.Slots, depth)
}

// State is the codewords with the splits.
func (c leaves) State(s Sizes) map[string]tensor.Shape {
	shapes := c.words.State(s)
	shapes["codebook/columns"] = tensor.Shape{s.Slots, c.depth(s)}
	shapes["codebook/edges"] = shapes["codebook/columns"]
	return shapes
}

// Assign describes the leaf of each slot.
func (leaves) Assign(b *graph.Builder, z *gorgonia.Node, _ Sizes) Assignment {
	return Assignment{Codes: b.Apply(op.Leaves(), z, b.Weight("codebook/columns"), b.Weight("codebook/edges"))}
}
