package baselines

import (
	"math"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// TestLocalNetsAgainstReference compares the loss's pieces and the gradients of
// JS + CE by similarities and logits with the published implementation in float64.
func TestLocalNetsAgainstReference(t *testing.T) {
	var r struct {
		Embedding, Logits [][]float64
		Labels            []int
		Variance          float64 `json:"kernel_variance"`
		Expect            struct {
			Kernel        [][]float64 `json:"kernel_estimate"`
			JS            float64     `json:"js_distance"`
			CE            float64     `json:"kernel_cross_entropy"`
			GradEmbedding [][]float64 `json:"grad_embedding"`
			GradLogits    [][]float64 `json:"grad_logits"`
		}
	}
	golden(t, "local_nets", &r)
	n := len(r.Labels)
	w := graph.NewWeights(tensor.Float64)
	s, u := matrix(r.Embedding), matrix(r.Logits)
	_, d := s.Dims()
	_, c := u.Dims()
	w.Add("s", s.RawMatrix().Data, n, d)
	w.Add("u", u.RawMatrix().Data, n, c)
	hot := make([]float64, n*c)
	for i, y := range r.Labels {
		hot[i*c+y] = 1
	}
	var pieces gorgonia.Nodes
	loss := func(b *graph.Builder) *gorgonia.Node {
		labels := graph.Labels(r.Labels)
		rows := b.Table("numbers", graph.Labels(data.UpTo(n)))
		p1 := neighbourhood(b, b.Weight("s"), b.Table("onehot", graph.Tensor(tensor.Float64, hot, n, c)), rows, nil, math.Sqrt(r.Variance))
		js := b.Apply(op.JensenShannon(), p1, b.Apply(op.Exp(2), b.LogSoftmax(b.Weight("u"))), b.Table("weights", graph.Tensor(tensor.Float64, ones(n), n)))
		ce := b.NLL(clipped(b, p1), b.Table("labels", labels))
		pieces = gorgonia.Nodes{p1, js, ce}
		return b.Plus(js, ce)
	}
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes { loss(b); return pieces })
	out, err := f.Of(graph.Rows(0, n))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "kernel estimate", graph.Float64s(out[0]), matrix(r.Expect.Kernel).RawMatrix().Data, 1e-8)
	near(t, "JS distance", graph.Float64s(out[1]), []float64{r.Expect.JS}, 1e-8)
	near(t, "cross-entropy", graph.Float64s(out[2]), []float64{r.Expect.CE}, 1e-8)
	_, grads, err := graph.NewObjective(w, loss).Gradient(graph.Rows(0, n))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "∂loss/∂s", grads[0].Float64s(), matrix(r.Expect.GradEmbedding).RawMatrix().Data, 1e-8)
	near(t, "∂loss/∂u", grads[1].Float64s(), matrix(r.Expect.GradLogits).RawMatrix().Data, 1e-8)
}

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d values, not %d", what, len(got), len(want))
		return
	}
	var worst float64
	for i := range want {
		worst = max(worst, math.Abs(got[i]-want[i]))
	}
	if !(worst <= tolerance) {
		t.Errorf("%s differs from the reference by %.2g, more than %.0e", what, worst, tolerance)
	}
	t.Logf("%s differs by at most %.2g", what, worst)
}
