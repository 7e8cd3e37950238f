package graph_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestFusedOpsReadRowsInPlace assigns and sums slots of rows taken inside the graph,
// where the ops fuse, and of the same rows as a table of their own, where they
// cannot.
func TestFusedOpsReadRowsInPlace(t *testing.T) {
	const n, d, w, k = 9, 19, 3, 4
	rows := []int32{8, 0, 3, 3, 5}
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		rng := rand.New(rand.NewPCG(7, 8))
		x := normals(rng, n*d*w)
		var part []float64
		for _, r := range rows {
			part = append(part, x[int(r)*d*w:(int(r)+1)*d*w]...)
		}
		weights := graph.NewWeights(dt)
		weights.Add("codewords", normals(rng, k*d), k, d)
		features, taken := graph.Tensor(dt, x, n, d*w), graph.Tensor(dt, part, len(rows), d*w)
		describe := func(z func(*graph.Builder) *gorgonia.Node) *graph.Function {
			return graph.NewFunction(weights, func(b *graph.Builder) gorgonia.Nodes {
				codes := b.Apply(op.Nearest(), z(b), b.Weight("codewords"))
				return gorgonia.Nodes{codes, b.Apply(op.ScatterAdd(k), codes, z(b))}
			})
		}
		got, err := describe(func(b *graph.Builder) *gorgonia.Node { return b.Take("features", features) }).Of(rows)
		if err != nil {
			t.Fatal(err)
		}
		want, err := describe(func(b *graph.Builder) *gorgonia.Node { return b.Table("taken", taken) }).Of(rows)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got[0].(*tensor.Dense).Int32s(), want[0].(*tensor.Dense).Int32s()) {
			t.Errorf("%v: codes %v in place, %v copied", dt, got[0], want[0])
		}
		if !slices.Equal(graph.Float64s(got[1]), graph.Float64s(want[1])) {
			t.Errorf("%v: sums %v in place, %v copied", dt, got[1], want[1])
		}
	}
}
