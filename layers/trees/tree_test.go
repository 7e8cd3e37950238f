package trees

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// drawn are rows whose gradient of two outputs is ±1 by the signs of columns 1 and 3.
func drawn(n int) (x, g, h *mat.Dense) {
	rng := rand.New(rand.NewPCG(1, 0))
	x, g, h = mat.NewDense(n, 5, nil), mat.NewDense(n, 2, nil), mat.NewDense(n, 2, nil)
	for i := range n {
		for j := range 5 {
			x.Set(i, j, rng.NormFloat64())
		}
		g.SetRow(i, []float64{math.Copysign(1, x.At(i, 1)), math.Copysign(2, x.At(i, 3))})
		h.SetRow(i, []float64{1, 1})
	}
	return x, g, h
}

var all = []int{0, 1, 2, 3, 4}

// TestTreeFindsTheColumnsThatMatter, the one that gains more first, near the edge; a leaf's value is
// the mean step of its rows, but for the ridge.
func TestTreeFindsTheColumnsThatMatter(t *testing.T) {
	x, g, h := drawn(2000)
	tree := Grow(NewBins(x, nil, nil), all, g, h, Settings{Depth: 2})
	if len(tree.Columns) != 2 || tree.Columns[0] != 3 || tree.Columns[1] != 1 {
		t.Fatalf("splits of columns %v, want 3, then 1", tree.Columns)
	}
	for _, edge := range tree.Edges { // of 32 quantiles one lies within 1/32 of the median
		if math.Abs(edge) > 0.1 {
			t.Errorf("an edge at %v, not near 0", edge)
		}
	}
	right := 0
	for i := range 2000 {
		v := tree.Values.RawRowView(tree.Leaf(x.RawRowView(i)))
		if v[0]*g.At(i, 0) < 0 && v[1]*g.At(i, 1) < 0 {
			right++
		}
	}
	if right < 1850 { // 2 edges, each off by at most 1/32 of the rows
		t.Errorf("%d of 2,000 steps go down", right)
	}
}

// TestConstantResidualIsOneLeaf: no split gains anything.
func TestConstantResidualIsOneLeaf(t *testing.T) {
	x, g, h := drawn(300)
	g.Apply(func(_, j int, _ float64) float64 { return float64(j) - 0.5 }, g)
	// with a ridge a leaf of all rows gains less than its parts; without it, nothing
	tree := Grow(NewBins(x, nil, nil), all, g, h, Settings{Ridge: 1e-12})
	if len(tree.Columns) != 0 || tree.Leaf(x.RawRowView(7)) != 0 {
		t.Errorf("splits of columns %v of a gradient that is the same everywhere", tree.Columns)
	}
	if v := tree.Values.RawRowView(0); math.Abs(v[0]-0.5) > 1e-9 || math.Abs(v[1]+0.5) > 1e-9 {
		t.Errorf("the leaf's value is %v, want 0.5 and −0.5", v)
	}
}

// TestLeavesOfLittleCurvature move nothing.
func TestLeavesOfLittleCurvature(t *testing.T) {
	x, g, h := drawn(300)
	h.Scale(1e-6, h)
	if v := Grow(NewBins(x, nil, nil), all, g, h, Settings{}).Values; mat.Norm(v, 2) != 0 {
		t.Errorf("values %v of rows without curvature", mat.Formatted(v))
	}
}

// TestLeafIsThatOfTheBins: a row falls where its bins did when the tree was grown.
func TestLeafIsThatOfTheBins(t *testing.T) {
	x, g, h := drawn(500)
	x.Apply(func(_, j int, v float64) float64 { return math.Round(v * float64(j)) }, x) // ties, and a column of one value
	b := NewBins(x, nil, nil)
	tree := Grow(b, all, g, h, Settings{})
	sum := newSums(tree.Values.RawMatrix().Rows, 2)
	for i := range 500 {
		sum.add(tree.Leaf(x.RawRowView(i)), g.RawRowView(i), h.RawRowView(i))
	}
	for leaf := range tree.Values.RawMatrix().Rows {
		want := -sum.g.At(leaf, 0) / (sum.h.At(leaf, 0) + 1)
		if got := tree.Values.At(leaf, 0); sum.h.At(leaf, 0) >= 1 && math.Abs(got-want) > 1e-12 {
			t.Errorf("leaf %d has the value %v, its rows say %v", leaf, got, want)
		}
	}
}
