package graph_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/graph/work/worktest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func normals(rng *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

// network is a small loss that mixes our ops with Gorgonia's.
func network(x, labels *tensor.Dense) func(*graph.Builder) *gorgonia.Node {
	return func(b *graph.Builder) *gorgonia.Node {
		h := b.Linear("hidden", b.Take("x", x))
		h = b.Call(func() (*gorgonia.Node, error) { return gorgonia.Tanh(h) })
		return b.NLL(b.LogSoftmax(b.Linear("out", h)), b.Take("labels", labels))
	}
}

func networkWeights(dt tensor.Dtype, rng *rand.Rand) *graph.Weights {
	w := graph.NewWeights(dt)
	w.Add("hidden/weight", normals(rng, 12), 4, 3)
	w.Add("hidden/bias", normals(rng, 3), 3)
	w.Add("out/weight", normals(rng, 6), 3, 2)
	w.Add("out/bias", normals(rng, 2), 2)
	return w
}

// TestProgramEqualsTapeMachine builds one network in a Gorgonia graph by hand,
// runs it on Gorgonia's machine, and expects the same loss and gradient.
func TestProgramEqualsTapeMachine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := graph.Tensor(tensor.Float64, normals(rng, 20), 5, 4)
	labels := graph.Labels([]int{0, 1, 1, 0, 1})
	w := networkWeights(tensor.Float64, rng)
	objective := graph.NewObjective(w, network(x, labels))

	g := gorgonia.NewGraph()
	leaf := func(name string, v *tensor.Dense) *gorgonia.Node {
		return gorgonia.NewTensor(g, v.Dtype(), v.Dims(), gorgonia.WithShape(v.Shape()...), gorgonia.WithName(name), gorgonia.WithValue(v))
	}
	must := gorgonia.Must
	var learned gorgonia.Nodes
	for _, name := range w.Names() {
		learned = append(learned, leaf(name, w.Tensor(name)))
	}
	rows := leaf("rows", graph.Labels([]int{4, 0, 2}))
	h := must(gorgonia.ApplyOp(op.MatMul(), must(gorgonia.ApplyOp(op.Take(op.Matrix), leaf("x", x), rows)), learned[0]))
	h = must(gorgonia.Tanh(must(gorgonia.ApplyOp(op.AddRow(), h, learned[1]))))
	scores := must(gorgonia.ApplyOp(op.AddRow(), must(gorgonia.ApplyOp(op.MatMul(), h, learned[2])), learned[3]))
	loss := must(gorgonia.ApplyOp(op.NLL(), must(gorgonia.ApplyOp(op.LogSoftmax(), scores)), must(gorgonia.ApplyOp(op.Take(op.Indices), leaf("labels", labels), rows))))
	grads, err := gorgonia.Grad(loss, learned...)
	if err != nil {
		t.Fatal(err)
	}
	machine := gorgonia.NewTapeMachine(g)
	defer machine.Close()
	if err := machine.RunAll(); err != nil {
		t.Fatal(err)
	}

	for range 2 { // the second run finds the memory of the first
		got, gotGrads, err := objective.Gradient([]int32{4, 0, 2})
		if err != nil {
			t.Fatal(err)
		}
		if want := loss.Value().Data().(float64); got != want {
			t.Errorf("loss %v, TapeMachine says %v", got, want)
		}
		for i, name := range w.Learned() {
			want := grads[i].Value().Data().([]float64)
			for j, v := range gotGrads[i].Float64s() {
				if v != want[j] {
					t.Errorf("∂loss/∂%s[%d] = %v, TapeMachine says %v", name, j, v, want[j])
				}
			}
		}
	}
}

func TestGorgoniaMergesLeavesOfOneName(t *testing.T) {
	g := gorgonia.NewGraph()
	one := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("v"), gorgonia.WithShape(2), gorgonia.WithValue(graph.Tensor(tensor.Float64, []float64{1, 1}, 2)))
	two := gorgonia.NewVector(g, tensor.Float64, gorgonia.WithName("v"), gorgonia.WithShape(2), gorgonia.WithValue(graph.Tensor(tensor.Float64, []float64{2, 2}, 2)))
	if one != two {
		t.Fatal("Gorgonia no longer merges leaves of one name: Builder need not refuse them")
	}
	b := graph.NewBuilder(graph.NewWeights(tensor.Float64), 1)
	b.Table("v", graph.Tensor(tensor.Float64, []float64{1, 1}, 2))
	b.Table("v", graph.Tensor(tensor.Float64, []float64{2, 2}, 2))
	if b.Err() == nil || !strings.Contains(b.Err().Error(), `"v" stands for two tensors`) {
		t.Errorf("Builder lets one name stand for two tensors: %v", b.Err())
	}
}

func TestSoftmaxAndLogSoftmaxStayApart(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("x", []float64{1, 2, 3}, 1, 3)
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		logp := b.LogSoftmax(b.Weight("x"))
		return gorgonia.Nodes{logp, b.Apply(op.Exp(2), logp)}
	})
	out, err := f.Of([]int32{0})
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, p := range graph.Float64s(out[1]) {
		sum += p
	}
	if graph.Float64s(out[0])[2] >= 0 || sum < 1-1e-12 || sum > 1+1e-12 { // three roundings of numbers below 1
		t.Errorf("log p = %v, p = %v", out[0], out[1])
	}
}

func TestRandomNodesAreRefused(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("x", []float64{1, 2, 3, 4}, 2, 2)
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{b.Call(func() (*gorgonia.Node, error) { return gorgonia.Dropout(b.Weight("x"), 0.5) })}
	})
	if _, err := f.Of([]int32{0}); err == nil || !strings.Contains(err.Error(), "clock") {
		t.Errorf("a node seeded from the clock is accepted: %v", err)
	}
}

func TestGradientsDoNotAccumulate(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, labels := graph.Tensor(tensor.Float64, normals(rng, 20), 5, 4), graph.Labels([]int{0, 1, 1, 0, 1})
	o := graph.NewObjective(networkWeights(tensor.Float64, rng), network(x, labels))
	var first []float64
	for i := range 3 {
		_, grads, err := o.Gradient(graph.Rows(0, 5))
		if err != nil {
			t.Fatal(err)
		}
		g := graph.Float64s(grads[0])
		if i == 0 {
			first = g
		}
		for j := range g {
			if g[j] != first[j] {
				t.Fatalf("run %d: gradient %v, first %v", i, g[j], first[j])
			}
		}
	}
}

// TestStepsDoNotAllocate holds for graphs made of our ops; Gorgonia's own ops
// allocate their results.
func TestStepsDoNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 150 // more than a section has in a block
	x, labels := graph.Tensor(tensor.Float32, normals(rng, n*4), n, 4), graph.Labels(make([]int, n))
	w := graph.NewWeights(tensor.Float32)
	w.Add("out/weight", normals(rng, 8), 4, 2)
	w.Add("out/bias", normals(rng, 2), 2)
	o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		return b.NLL(b.LogSoftmax(b.Linear("out", b.Take("x", x))), b.Take("labels", labels))
	})
	for _, rows := range [][]int32{graph.Rows(0, 5), graph.Rows(0, n)} {
		if n := testing.AllocsPerRun(100, func() {
			if _, _, err := o.Gradient(rows); err != nil {
				t.Fatal(err)
			}
		}); n != 0 && !worktest.PoolsAllocate {
			t.Errorf("a step on %d rows allocates %v times", len(rows), n)
		}
	}
}

// TestRowsInSections: rows that are computed block by block are, to the bit, what they are in a batch that is no
// larger than a block; what needs them all waits for all.
func TestRowsInSections(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 150
	for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
		x := graph.Tensor(dt, normals(rng, n*4), n, 4)
		w := graph.NewWeights(dt)
		w.Add("out/weight", normals(rng, 4*3), 4, 3)
		w.Add("out/bias", normals(rng, 3), 3)
		rows := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
			h := b.Linear("out", b.Take("x", x))
			return gorgonia.Nodes{b.LogSoftmax(b.Apply(op.Times(2), h, b.Apply(op.Softplus(2), h)))}
		})
		want, err := rows.Tables(n, 50)
		if err != nil {
			t.Fatal(err)
		}
		got, err := rows.Tables(n, n)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(graph.Float64s(got[0]), graph.Float64s(want[0])) {
			t.Errorf("%v: rows are others in a large batch", dt)
		}
		pairs := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
			h := b.LogSoftmax(b.Linear("out", b.Take("x", x)))
			return gorgonia.Nodes{h, b.Apply(op.MatMulNT(), h, h)}
		})
		out, err := pairs.Of(graph.Rows(0, n))
		if err != nil {
			t.Fatal(err)
		}
		h, err := op.MatMulNT().Do(out[0], out[0])
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(graph.Float64s(out[1]), graph.Float64s(h)) {
			t.Errorf("%v: products of all pairs of rows are taken before all rows are there", dt)
		}
	}
}

func TestUpdatesWaitForCommit(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("x", []float64{1, 2}, 2)
	w.AddState("mean", []float64{0, 0}, 2)
	o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		b.Update("mean", b.Apply(op.Blend(1, 0.5), b.Weight("mean"), b.Weight("x")))
		return b.Apply(op.Sum(1), b.Weight("x"))
	})
	if _, _, err := o.Gradient([]int32{0}); err != nil {
		t.Fatal(err)
	}
	if got := w.Float64s("mean"); got[0] != 0 || got[1] != 0 {
		t.Errorf("the state moved before Commit: %v", got)
	}
	if err := o.Commit(1); err != nil {
		t.Fatal(err)
	}
	if got := w.Float64s("mean"); got[0] != .5 || got[1] != 1 {
		t.Errorf("after Commit the state is %v, not [0.5 1]", got)
	}
}

// TestUpdatesBesideOutputs: what updates need is computed beside what outputs need, and is the same.
func TestUpdatesBesideOutputs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const rows, features, words = 256, 64, 16
	w := graph.NewWeights(tensor.Float32)
	w.Add("out/weight", normals(rng, features*3), features, 3)
	w.Add("out/bias", normals(rng, 3), 3)
	w.AddState("words", normals(rng, words*4), words, 4)
	w.AddState("counts", make([]float64, words), words)
	w.AddState("loss", make([]float64, rows*3), rows, 3)
	x := graph.Matrix(tensor.Float32, mat.NewDense(rows, features, normals(rng, rows*features)))
	labels := graph.Labels(make([]int, rows))
	// step is the gradient and the states after a step, where updates are outputs as well or not.
	step := func(alsoOutputs bool) (values [][]float64) {
		var states gorgonia.Nodes
		describe := func(b *graph.Builder) gorgonia.Nodes {
			codes := b.Apply(op.Nearest(), b.Take("x", x), b.Weight("words"))
			logits := b.Linear("out", b.Apply(op.Gather(), b.Weight("words"), codes))
			loss := b.NLL(b.LogSoftmax(logits), b.Take("labels", labels))
			states = gorgonia.Nodes{b.Apply(op.ScatterAdd(words), codes, b.Take("x", x)), b.Apply(op.Count(), codes, b.Weight("counts")), b.LogSoftmax(logits)}
			for i, name := range []string{"words", "counts", "loss"} {
				b.Update(name, states[i])
			}
			out := append(gorgonia.Nodes{loss}, b.Gradient(loss)...)
			if alsoOutputs {
				out = append(out, states...)
			}
			return out
		}
		b := graph.NewBuilder(w.Clone(), rows)
		p, err := b.Compile(describe(b)...)
		if err == nil {
			copy(b.RowNumbers(), graph.Rows(0, rows))
			err = p.Run()
		}
		if err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			values = append(values, graph.Float64s(p.Output(i)))
		}
		for _, u := range p.Updates {
			values = append(values, graph.Float64s(p.Values[u.Source]))
		}
		return values
	}
	for i, want := range step(true) {
		if got := step(false)[i]; !slices.Equal(got, want) {
			t.Errorf("value %d is %v beside others, %v after them", i, got[:3], want[:3])
		}
	}
}

func TestErrorsStickAndNameTheirCause(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("used", []float64{1, 2}, 1, 2)
	w.Add("idle", []float64{1, 2}, 1, 2)
	for _, c := range []struct {
		describe func(*graph.Builder) *gorgonia.Node
		want     string
	}{
		{func(b *graph.Builder) *gorgonia.Node { return b.Apply(op.Sum(2), b.Weight("used")) }, `does not depend on weight "idle"`},
		{func(b *graph.Builder) *gorgonia.Node { b.Weight("idle"); return b.Apply(op.Sum(2), b.Weight("used")) }, `does not depend on weight "idle"`},
		{func(b *graph.Builder) *gorgonia.Node {
			codes := b.Apply(op.Nearest(), b.Weight("used"), b.Weight("idle"))
			return b.Apply(op.Sum(2), b.Apply(op.TableSum(), b.Weight("used"), codes))
		}, `reads weight "idle" by ops alone that have no gradient`},
		{func(b *graph.Builder) *gorgonia.Node { return b.Plus(b.Weight("missing"), b.Weight("used")) }, `no weight "missing"`},
		{func(b *graph.Builder) *gorgonia.Node { return b.MatMul(b.Weight("used"), b.Weight("used")) }, "the shapes do not fit"},
		{func(b *graph.Builder) *gorgonia.Node { b.Weight("idle"); return b.Weight("used") }, "a loss is one number"},
	} {
		_, _, err := graph.NewObjective(w, c.describe).Gradient([]int32{0})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error %v does not say %q", err, c.want)
		}
	}
}

func TestNonFiniteNamesTheOp(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("x", []float64{1, 1000}, 2)
	o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		return b.Apply(op.Sum(1), b.Apply(op.Exp(1), b.Weight("x")))
	})
	if _, _, err := o.Gradient([]int32{0}); err != nil {
		t.Fatal(err)
	}
	if got := o.NonFinite(1); !strings.Contains(got, "exp") {
		t.Errorf("the overflowing op is %q", got)
	}
}

// TestNoNode: what was to describe an input or an output and gave none is told.
func TestNoNode(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("v", []float64{1}, 1)
	b := graph.NewBuilder(w, 1)
	if b.Plus(b.Weight("v"), nil); b.Err() == nil || !strings.Contains(b.Err().Error(), "input 1 ") {
		t.Errorf("an input that is no node: %v", b.Err())
	}
	if _, err := graph.NewBuilder(w, 1).Compile(nil); err == nil || !strings.Contains(err.Error(), "output 0 ") {
		t.Errorf("an output that is no node: %v", err)
	}
}

// doubled is twice its input, and counts how often it is computed.
type doubled struct{ Of op.Kind }

var doublings int

func (o doubled) Form() string { return op.Alike(o.Of, 1) }

func (doubled) Run(out op.Value, in []op.Value) {
	doublings++
	for i, x := range op.Values[float64](in[0]) {
		op.Values[float64](out)[i] = 2 * x
	}
}

func (o doubled) Grad(_ op.Nodes, _, g *op.Node) op.Nodes { return op.Nodes{op.New(o).Of(g)} }

// TestGradientsOfTheSameRows: what depends on tables and rows alone is computed again for other rows, not for other
// weights nor in another pass over the same pieces, and loss and gradient are those of an objective that computes all.
func TestGradientsOfTheSameRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	x, labels := graph.Tensor(tensor.Float64, normals(rng, 20), 5, 4), graph.Labels([]int{0, 1, 1, 0, 1})
	w := networkWeights(tensor.Float64, rng)
	describe := func(b *graph.Builder) *gorgonia.Node {
		z := b.Apply(op.New(doubled{op.Matrix}), b.Take("x", x))
		h := b.Call(func() (*gorgonia.Node, error) { return gorgonia.Tanh(b.Linear("hidden", z)) })
		return b.NLL(b.LogSoftmax(b.Linear("out", h)), b.Take("labels", labels))
	}
	own := graph.NewObjective(w, describe)
	gradients, err := graph.CPU.Gradients(own, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer gradients.Close()
	all := graph.NewObjective(w, describe)
	for _, step := range []struct {
		rows      []int32
		doublings int
	}{
		{[]int32{4, 0, 2}, 1}, {[]int32{4, 0, 2}, 0}, {[]int32{1, 3}, 1}, {[]int32{4, 0, 2}, 0}, {[]int32{4, 0, 1}, 1}, {[]int32{1, 3}, 0},
		{[]int32{0, 1}, 1}, {[]int32{2, 3}, 1}, {[]int32{0, 1}, 0}, {[]int32{2, 3}, 0}, // piece after piece, twice
		{[]int32{0, 1}, 0}, {nil, 0}, {[]int32{0, 1}, 1}, {[]int32{2, 3}, 1}, // somebody else between
	} {
		if step.rows == nil {
			if _, _, err := own.Gradient([]int32{4, 4}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		doublings = 0
		loss, grads, err := gradients.Gradient(step.rows)
		if err != nil {
			t.Fatal(err)
		}
		if doublings != step.doublings {
			t.Errorf("rows %v: doubled %d times, not %d", step.rows, doublings, step.doublings)
		}
		want, wantGrads, err := all.Gradient(step.rows)
		if err != nil {
			t.Fatal(err)
		}
		if loss != want {
			t.Errorf("rows %v: loss %v, not %v", step.rows, loss, want)
		}
		for i, name := range w.Learned() {
			if !slices.Equal(grads[i].Float64s(), wantGrads[i].Float64s()) {
				t.Errorf("rows %v: another gradient of %s", step.rows, name)
			}
			w.SetValues(name, normals(rng, w.Tensor(name).DataSize()))
		}
	}
}
