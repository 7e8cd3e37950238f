package encoders

import (
	"testing"

	"calibra/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// BenchmarkStep times one training step's forward and backward pass over 128 rows of
// random values, and says what 50,000 rows, an epoch of all of CIFAR-10's training
// images, take at that rate.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name    string
		network Network
		shape   []int
		classes int
	}{
		{"mlp", &MLP{}, []int{16}, 26},
		{"resmlp", &ResMLP{}, []int{16}, 26},
		{"ftt", &FTTransformer{}, []int{16}, 26},
		{"resnet", &ResNet{}, []int{3, 32, 32}, 10},
	} {
		b.Run(c.name, func(b *testing.B) {
			const rows = 128
			rng := newRand(1)
			w, err := c.network.Init(c.shape, c.classes, rng)
			if err != nil {
				b.Fatal(err)
			}
			counter := graph.NewWeights(tensor.Float32)
			counter.AddState(stepName, []float64{0}, 1)
			values, y := make([]float64, rows*Values(c.shape)), make([]int, rows)
			for i := range values {
				values[i] = rng.NormFloat64()
			}
			for i := range y {
				y[i] = rng.IntN(c.classes)
			}
			x, labels := graph.Tensor(tensor.Float32, values, rows, Values(c.shape)), graph.Labels(y)
			one := graph.Tensor(tensor.Float32, []float64{1}, 1)
			o := graph.NewObjective(w.As(tensor.Float32).Join(counter), func(g *graph.Builder) *gorgonia.Node {
				_, logits := c.network.Forward(&Pass{Builder: g, Shape: c.shape, train: &training{one, func() uint64 { return 1 }}}, g.Take("x", x))
				return g.NLL(g.LogSoftmax(logits), g.Take("labels", labels))
			})
			batch := graph.Rows(0, rows)
			step := func() {
				if _, _, err := o.Gradient(batch); err != nil {
					b.Fatal(err)
				}
				if err := o.Commit(rows); err != nil {
					b.Fatal(err)
				}
			}
			step() // compiles
			b.ReportAllocs()
			for b.Loop() {
				step()
			}
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*50000/rows, "s/50000rows")
		})
	}
}
