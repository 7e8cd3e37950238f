package layers

import (
	"math"
	"testing"

	"calibra/graph"

	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MapsAgree reports whether each map's loss and gradient by an executor are the CPU's, in float32, at a
// random point.
func MapsAgree(t *testing.T, e graph.Executor) {
	view, labels, sizes := region(3)
	rows := graph.Rows(0, len(labels))
	for name, variants := range allMaps {
		t.Run(name, func(t *testing.T) {
			for _, m := range variants {
				rng := newRand(5)
				w, err := m.Init(sizes, rng)
				if err != nil {
					t.Fatal(err)
				}
				w = w.As(tensor.Float32)
				if len(w.Learned()) == 0 {
					continue
				}
				rows32, y := view.Rows(tensor.Float32, sizes), graph.Labels(labels)
				loss := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
					return b.NLL(m.LogProbs(b, rows32.Batch(b)), b.Take("labels", y))
				})
				for _, weight := range w.Learned() {
					for i, values := 0, w.Tensor(weight).Float32s(); i < len(values); i++ {
						values[i] += float32(away(m, sizes) * rng.NormFloat64())
					}
				}
				s, err := e.Gradients(loss, len(rows))
				if err != nil {
					t.Fatal(err)
				}
				got, gradients, err := s.Gradient(rows)
				s.Close()
				if err != nil {
					t.Fatal(err)
				}
				want, grads, err := loss.Gradient(rows)
				if err != nil {
					t.Fatal(err)
				}
				if !scalar.EqualWithinAbs(got, want, 1e-5*math.Max(1, math.Abs(want))) {
					t.Errorf("%T %+v: the loss is %v on the device, %v on the CPU", m, m, got, want)
				}
				for k, weight := range w.Learned() {
					x, y := gradients[k].Float32s(), grads[k].Float32s()
					for i, v := range y {
						if !(math.Abs(float64(x[i]-v)) <= 1e-5*math.Max(1, math.Abs(float64(v)))) {
							t.Fatalf("%T %+v: ∂L/∂%s[%d] is %v on the device, %v on the CPU", m, m, weight, i, x[i], v)
						}
					}
				}
			}
		})
	}
}
