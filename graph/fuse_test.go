package graph_test

import (
	"math"
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

// TestPairedStepsShareTheirWork: in float32 the scores leave their derivatives to the gradient,
// in float64 each is computed by itself; steps on other rows in between leave no trace.
func TestPairedStepsShareTheirWork(t *testing.T) {
	const n = 90
	for _, c := range []int{2, 10, 37} {
		rng := rand.New(rand.NewPCG(9, uint64(c)))
		forms, direction := normals(rng, n*c*c), normals(rng, n*c)
		logs := make([]float64, n*c)
		for i := range logs {
			logs[i] = -rng.ExpFloat64()
		}
		gradient := func(dt tensor.Dtype) []float64 {
			w := graph.NewWeights(dt)
			w.Add("shift", make([]float64, c*c), c*c)
			a, logp, g := graph.Tensor(dt, forms, n, c*c), graph.Tensor(dt, logs, n, c), graph.Tensor(dt, direction, n, c)
			o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
				form := b.Apply(op.AddRow(), b.Take("a", a), b.Weight("shift"))
				scores := b.Apply(op.DirichletScores(1), form, b.Take("logp", logp))
				return b.Apply(op.Sum(2), b.Apply(op.Times(2), scores, b.Take("g", g)))
			})
			var last []float64
			for _, rows := range [][]int32{{0, 1, 2, 3}, {8, 7, 6, 5}, graph.Rows(0, n), {0, 1, 2, 3}} {
				_, grads, err := o.Gradient(rows)
				if err != nil {
					t.Fatal(err)
				}
				last = slices.Clone(graph.Float64s(grads[0]))
			}
			return last
		}
		got, want := gradient(tensor.Float32), gradient(tensor.Float64)
		for i, v := range want {
			if d := math.Abs(got[i] - v); !(d <= 2e-5*(1+math.Abs(v))) { // a float32 sum of four rows' gradients
				t.Fatalf("C = %d: gradient %d is %v, in float64 %v", c, i, got[i], v)
			}
		}
	}
}

// TestOpsLookUpOnceWhatTheyReplaceLooksUp: a program's sums by table and ramps are, to the bit, those of the ops by
// themselves, of codewords with many rows, with one and with none, and of elements in every piece.
func TestOpsLookUpOnceWhatTheyReplaceLooksUp(t *testing.T) {
	const n, w, k, p = 301, 3, 5, 4
	knots := []float64{-1, 0, .5}
	for _, c := range []int{1, 10, 64, 65} {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			rng := rand.New(rand.NewPCG(11, uint64(c)))
			numbers := make([]int32, n*w)
			for i := range numbers {
				numbers[i] = int32(rng.IntN(k-1) * rng.IntN(2))
			}
			numbers[7] = k - 1
			codes, x := graph.Codes(numbers, w), graph.Tensor(dt, normals(rng, n*c), n, c)
			places := slices.Clone(numbers)
			for at := range places {
				places[at] += int32(at % w * k)
			}
			at, shares := graph.Codes(places, w), graph.Tensor(dt, normals(rng, n*w), n, w)
			g, v := graph.Tensor(dt, normals(rng, n*c), n, c), graph.Tensor(dt, normals(rng, p), p, 1)
			weights := graph.NewWeights(dt)
			weights.Add("unused", []float64{0}, 1)
			got, err := graph.NewFunction(weights, func(b *graph.Builder) gorgonia.Nodes {
				z := b.Take("x", x)
				return gorgonia.Nodes{
					b.Apply(op.TableScatter(k), b.Take("codes", codes), z),
					b.Apply(op.ShareScatter(w, w*k), b.Take("places", at), b.Take("shares", shares), z),
					b.Apply(op.Ramps(knots), z, b.Table("v", v)),
					b.Apply(op.New(op.RampSumsOp{Knots: knots}), z, b.Take("g", g)),
				}
			}).Of(graph.Rows(0, n))
			if err != nil {
				t.Fatal(err)
			}
			for i, alone := range []struct {
				op op.Op
				in []gorgonia.Value
			}{
				{op.TableScatter(k), []gorgonia.Value{codes, x}},
				{op.ShareScatter(w, w*k), []gorgonia.Value{at, shares, x}},
				{op.Ramps(knots), []gorgonia.Value{x, v}},
				{op.New(op.RampSumsOp{Knots: knots}), []gorgonia.Value{x, g}},
			} {
				want, err := alone.op.Do(alone.in...)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(graph.Float64s(got[i]), graph.Float64s(want)) {
					t.Errorf("%v, %d columns: %v is %v in a program, %v alone", dt, c, alone.op, got[i], want)
				}
			}
		}
	}
}
