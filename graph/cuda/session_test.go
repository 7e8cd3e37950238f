package cuda_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"calibra/graph"
	"calibra/graph/cuda"
	"calibra/graph/cuda/cudatest"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// squareplus is (x + √(x² + 4))/2, an op that no device has.
type squareplus struct{}

func (squareplus) Signature() []op.Kind                          { return []op.Kind{op.Matrix, op.Matrix} }
func (squareplus) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }
func (squareplus) Run(out gorgonia.Value, in []gorgonia.Value)   { apply(out, in, squareplusOf) }
func (squareplus) WRT() []bool                                   { return []bool{true} }
func (squareplus) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) gorgonia.Nodes {
	return gorgonia.Nodes{op.New(squareplusGrad{}).Of(in[0], g)}
}

// squareplusGrad is g·(1 + x/√(x² + 4))/2.
type squareplusGrad struct{}

func (squareplusGrad) Signature() []op.Kind                          { return []op.Kind{op.Matrix, op.Matrix, op.Matrix} }
func (squareplusGrad) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }
func (squareplusGrad) Run(out gorgonia.Value, in []gorgonia.Value) {
	apply(out, in, func(x float64) float64 { return (1 + x/math.Sqrt(x*x+4)) / 2 })
	if op.IsFloat32(out) {
		times(op.Values[float32](out), op.Values[float32](in[1]))
	} else {
		times(op.Values[float64](out), op.Values[float64](in[1]))
	}
}

func squareplusOf(x float64) float64 { return (x + math.Sqrt(x*x+4)) / 2 }

func apply(out gorgonia.Value, in []gorgonia.Value, f func(float64) float64) {
	if op.IsFloat32(out) {
		mapTo(op.Values[float32](out), op.Values[float32](in[0]), f)
	} else {
		mapTo(op.Values[float64](out), op.Values[float64](in[0]), f)
	}
}

func mapTo[F op.Float](out, x []F, f func(float64) float64) {
	for i, v := range x {
		out[i] = F(f(float64(v)))
	}
}

func times[F op.Float](out, g []F) {
	for i := range out {
		out[i] *= g[i]
	}
}

// network is a small classifier with squareplus between its layers.
func network() (optim.Problem, *graph.Weights, *graph.Function) {
	const rows, hidden = 40, 7
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := graph.Tensor(tensor.Float32, normals(rng, rows*4), rows, 4), make([]int, rows)
	for i := range y {
		y[i] = i % 3
	}
	labels, w := graph.Labels(y), graph.NewWeights(tensor.Float32)
	w.Add("hidden/weight", normals(rng, 4*hidden), 4, hidden)
	w.Add("hidden/bias", normals(rng, hidden), hidden)
	w.Add("out/weight", normals(rng, hidden*3), hidden, 3)
	w.Add("out/bias", normals(rng, 3), 3)
	loss := func(b *graph.Builder) *gorgonia.Node {
		h := b.Apply(op.New(squareplus{}), b.Linear("hidden", b.Take("x", x)))
		return b.NLL(b.LogSoftmax(b.Linear("out", h)), b.Take("labels", labels))
	}
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes { return gorgonia.Nodes{loss(b)} })
	return optim.Problem{Loss: graph.NewObjective(w, loss), Rows: rows}, w, f
}

// A fit with an op that has no kernel runs on the device, but for that op, ends where the CPU
// does, and says so once.
func TestHostOpWithoutAKernel(t *testing.T) {
	for _, rule := range []optim.Rule{optim.Adam{Rate: 0.05}, optim.Lion{Rate: 1e-3}} {
		run := func(e graph.Executor) []float64 {
			p, w, f := network()
			p.Validation = func(s graph.Session) (float64, error) { return s.Mean(f, p.Rows, 16) }
			if _, err := optim.Minimize(t.Context(), p, optim.Settings{Rule: rule, Batch: 16, Epochs: 4, Executor: e}, rand.New(rand.NewPCG(3, 4))); err != nil {
				t.Fatal(err)
			}
			return w.Float64s("hidden/weight")
		}
		driver := cudatest.Driver(t, 1)
		e, told := cudatest.Told(cudatest.Open(t, driver))
		want, got := run(nil), run(e)
		if driver.Launches == 0 {
			t.Error("nothing ran on the device")
		}
		if !floats.EqualApprox(want, got, 1e-5) {
			t.Errorf("%T: the weights are %v, on the CPU %v", rule, got, want)
		}
		run(e)
		said := slices.DeleteFunc(slices.Clone(*told), func(s string) bool { return !strings.Contains(s, "squareplus has no CUDA kernel") })
		if len(said) != 1 {
			t.Errorf("the notices are %q", *told)
		}
	}
}

// Its gradients are the CPU's too.
func TestHostGradientsWithoutAKernel(t *testing.T) {
	p, _, _ := network()
	s, err := cudatest.On(cudatest.Device(t, 1)).Gradients(p.Loss, p.Rows)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	got, grads, err := s.Gradient(graph.Rows(0, p.Rows))
	if err != nil {
		t.Fatal(err)
	}
	want, gradients, err := p.Loss.Gradient(graph.Rows(0, p.Rows))
	if err != nil || math.Abs(got-want) > 1e-5 {
		t.Errorf("the loss is %v, on the CPU %v (%v)", got, want, err)
	}
	for i := range gradients {
		if !floats.EqualApprox(graph.Float64s(grads[i]), graph.Float64s(gradients[i]), 1e-5) {
			t.Errorf("gradient %d is %v, on the CPU %v", i, grads[i], gradients[i])
		}
	}
}

// The scores and gradients of a product that this process makes without the product, as that is
// large, are left to the device's kernels: no step of such a fit comes back to the CPU. The
// product is too large to be emulated, and for this device: the fit ends at its memory.
func TestHostLargeFormIsTheDevices(t *testing.T) {
	const rows, k, c = 9, 1, 1940 // above 2²⁵ entries
	rng := rand.New(rand.NewPCG(5, 6))
	w, logp := graph.NewWeights(tensor.Float32), graph.Tensor(tensor.Float32, normals(rng, rows*c), rows, c)
	w.Add("mass", normals(rng, rows*k), rows, k)
	w.Add("a", normals(rng, k*c), k, c)
	o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		form := b.MatMul(b.Weight("mass"), b.Apply(op.Outer(), b.Weight("a"), b.Weight("a")))
		return b.Apply(op.Sum(2), b.Apply(op.DirichletScores(1), form, b.Take("logp", logp)))
	})
	here, err := o.Program(rows)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(here.Steps, func(s graph.Step) bool { return !cuda.Has(s.Op) }) {
		t.Error("no step of this process is its alone")
	}
	driver := cudatest.Driver(t, 1)
	driver.Capacity = 64 << 20
	e, told := cudatest.Told(cudatest.Open(t, driver))
	if _, err := e.Gradients(o, rows); !cudatest.OutOfMemory(err) {
		t.Errorf("%d bytes are enough: %v", driver.Capacity, err)
	}
	if len(*told) != 1 || !strings.Contains((*told)[0], "working on") {
		t.Errorf("the notices are %q", *told)
	}
}

// An observer and a validation loss may fit on the device that their fit is on, and fits may
// run there side by side: nobody waits for ever.
func TestHostFitsWithinFits(t *testing.T) {
	e := cudatest.On(cudatest.Device(t, 1))
	fit := func(observe func(optim.Epoch), validation func(graph.Session) (float64, error)) []float64 {
		p, w, _ := network()
		p.Validation = validation
		if _, err := optim.Minimize(t.Context(), p, optim.Settings{Batch: 16, Epochs: 2, Executor: e, Observe: observe}, rand.New(rand.NewPCG(3, 4))); err != nil {
			t.Error(err)
		}
		return w.Float64s("hidden/weight")
	}
	alone, done := fit(nil, nil), make(chan []float64)
	for range 3 {
		go func() {
			done <- fit(func(optim.Epoch) { fit(nil, nil) }, func(graph.Session) (float64, error) {
				fit(nil, nil)
				return -rand.Float64(), nil
			})
		}()
	}
	for range 3 {
		select {
		case w := <-done:
			if len(w) != len(alone) {
				t.Errorf("%d weights", len(w))
			}
		case <-time.After(time.Minute):
			t.Fatal("a fit waits for a fit that waits for it")
		}
	}
}

func normals(rng *rand.Rand, n int) []float64 { return randoms(rng, n, 1) }
