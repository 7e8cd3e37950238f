package trees

import (
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph/onnx"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Forest is classification trees that vote.
type Forest struct {
	Columns, Classes int        // P, C
	Shares           *mat.Dense // K×C: of the classes in leaves of several; nil: there are none

	trees [][]node
	drawn [][]bool // of each tree the groups in its bag; nil of a forest that was read
}

// node is a split or a leaf. Its left child is the next node.
type node struct {
	threshold float32 // a row with a number above goes to the right
	column    int32   // of a split; a leaf has −1 − class, or −1 − C − its row of the shares
	right     int32   // child
}

// Len is T, the number of trees.
func (f *Forest) Len() int { return len(f.trees) }

// Bytes is the size of the trees in a file: 4 bytes for each node, and 4 for the threshold of each split.
func (f *Forest) Bytes() (bytes int) {
	for _, tree := range f.trees {
		bytes += 4 * (len(tree) + len(tree)/2) // all nodes but the root have a sibling
	}
	return bytes
}

// leaf is the node that a row of P numbers falls into.
func leaf(tree []node, row []float32) int32 {
	at := int32(0)
	for {
		n := &tree[at]
		if n.column < 0 {
			return at
		}
		at++
		if row[n.column] > n.threshold {
			at = n.right
		}
	}
}

// vote adds a leaf, by its column, to the votes for the classes (C).
func (f *Forest) vote(votes []float64, column int32) {
	if c := int(-1 - column); c < f.Classes {
		votes[c]++
	} else {
		floats.Add(votes, f.Shares.RawRowView(c-f.Classes))
	}
}

// walked is how many rows walk down a tree before it leaves the cache.
const walked = 64

// visit hands over the leaf of each of n rows in each tree.
func (f *Forest) visit(n int, x Rows, leafOf func(i, t int, at int32)) {
	p := f.Columns
	work.Ranges(n, walked, func(lo, hi int) {
		rows := make([]float32, (hi-lo)*p)
		for i := lo; i < hi; i++ {
			x(rows[(i-lo)*p:(i-lo+1)*p], i)
		}
		for t, tree := range f.trees {
			for i := lo; i < hi; i++ {
				leafOf(i, t, leaf(tree, rows[(i-lo)*p:(i-lo+1)*p]))
			}
		}
	})
}

// Frequencies are the shares of the classes among the votes of all trees for n rows (N×C).
func (f *Forest) Frequencies(n int, x Rows) *mat.Dense {
	out := mat.NewDense(n, f.Classes, nil)
	f.visit(n, x, func(i, t int, at int32) { f.vote(out.RawRowView(i), f.trees[t][at].column) })
	out.Scale(1/float64(len(f.trees)), out)
	return out
}

// words are how many times 64 dimensions the space of [Forest.Embed] has.
const words = 2

// Embed places n rows so that those which share leaves are near (N×128). The share of the trees in which two rows end
// in one leaf is their proximity (Breiman 2003). Each leaf has P signs s, drawn by its tree and its place:
//
//	z_i = Σ_t s_t,leaf(i) / √(T P) ,  E z_i·z_j = proximity of i and j
//
// The standard deviation of a product is at most 1/√P, .09; the P signs of a leaf are the same in every process.
func (f *Forest) Embed(n int, x Rows) *mat.Dense {
	const width = 64
	out := mat.NewDense(n, words*width, nil)
	f.visit(n, x, func(i, t int, at int32) {
		signs, z := rand.NewPCG(uint64(t), uint64(at)), out.RawRowView(i)
		for w := range words {
			bits := signs.Uint64()
			for k := range width {
				z[w*width+k] += 2*float64(bits>>k&1) - 1
			}
		}
	})
	out.Scale(1/math.Sqrt(float64(len(f.trees)*words*width)), out)
	return out
}

// OutOfBag are, of the rows that the forest was grown on, the shares of the classes among the votes of the trees whose
// bags have no row of the row's group (N×C), in the order in which the rows came; 1/C where there is no such tree.
func (f *Forest) OutOfBag(s *Sample) *mat.Dense {
	out := mat.NewDense(s.rows, f.Classes, nil)
	work.Ranges(s.rows, walked, func(lo, hi int) {
		trees := make([]float64, hi-lo)
		for t, tree := range f.trees {
			for place := lo; place < hi; place++ {
				if g := s.group[place]; g < 0 || !f.drawn[t][g] {
					f.vote(out.RawRowView(s.order[place]), tree[leaf(tree, s.row(place))].column)
					trees[place-lo]++
				}
			}
		}
		for place := lo; place < hi; place++ {
			votes := out.RawRowView(s.order[place])
			if trees[place-lo] == 0 {
				floats.AddConst(1/float64(f.Classes), votes)
			} else {
				floats.Scale(1/trees[place-lo], votes)
			}
		}
	})
	return out
}

// Nodes are the trees one after another, each from its root on, a split before all of its left child and that before
// all of its right child: the columns, whole numbers as [node] has them, and the thresholds of the splits alone.
func (f *Forest) Nodes() (columns, thresholds []float64) {
	for _, tree := range f.trees {
		for _, n := range tree {
			if columns = append(columns, float64(n.column)); n.column >= 0 {
				thresholds = append(thresholds, float64(n.threshold))
			}
		}
	}
	return columns, thresholds
}

// ONNX adds the sums of the votes of all trees for rows x, in float32 (N×P), to g, in float64 (N×C).
func (f *Forest) ONNX(g *onnx.Network, x onnx.Value) onnx.Value {
	all := make([][]onnx.TreeNode, len(f.trees))
	for t, tree := range f.trees {
		for i, n := range tree {
			if n.column >= 0 {
				all[t] = append(all[t], onnx.TreeNode{Column: int(n.column), Threshold: n.threshold, Left: i + 1, Right: int(n.right)})
				continue
			}
			leaf, votes := onnx.TreeNode{Leaf: true}, make([]float64, f.Classes)
			f.vote(votes, n.column)
			for c, v := range votes {
				if v > 0 {
					leaf.Votes = append(leaf.Votes, onnx.Vote{Class: c, Weight: float32(v)})
				}
			}
			all[t] = append(all[t], leaf)
		}
	}
	return g.Trees(x, all, f.Classes)
}

// ReadForest is the forest of such nodes, of P columns and C classes, with the shares of its leaves of several classes.
func ReadForest(p, classes int, columns, thresholds []float64, shares *mat.Dense) (*Forest, error) {
	f := &Forest{Columns: p, Classes: classes, Shares: shares}
	least := -float64(classes)
	if shares != nil {
		least -= float64(shares.RawMatrix().Rows)
	}
	for at := 0; at < len(columns); {
		var tree []node
		var open []int32 // splits whose left child is being read
		for whole := false; !whole; at++ {
			if at == len(columns) {
				return nil, fmt.Errorf("trees: tree %d ends before its last leaf", len(f.trees))
			}
			v := columns[at]
			if v != math.Trunc(v) || v < least || v >= float64(p) {
				return nil, fmt.Errorf("trees: node %d is %v, neither one of %d columns nor a leaf", at, v, p)
			}
			if v >= 0 {
				if len(thresholds) == 0 {
					return nil, fmt.Errorf("trees: there are fewer thresholds than splits")
				}
				open = append(open, int32(len(tree)))
				tree, thresholds = append(tree, node{threshold: float32(thresholds[0]), column: int32(v)}), thresholds[1:]
				continue
			}
			tree = append(tree, node{column: int32(v)})
			if whole = len(open) == 0; !whole {
				tree[open[len(open)-1]].right = int32(len(tree))
				open = open[:len(open)-1]
			}
		}
		f.trees = append(f.trees, tree)
	}
	if len(f.trees) == 0 || len(thresholds) > 0 {
		return nil, fmt.Errorf("trees: %d trees and %d thresholds more than splits", len(f.trees), len(thresholds))
	}
	return f, nil
}
