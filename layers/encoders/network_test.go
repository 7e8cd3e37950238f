package encoders

import (
	"slices"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/graphtest"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// small is a network of each architecture, of a size that finite differences take.
var small = map[string]struct {
	network Network
	shape   []int
}{
	"mlp":    {&MLP{Hidden: []int{4, 3}}, []int{5}},
	"resmlp": {&ResMLP{Block: 3, Hidden: 4, Blocks: 2, HiddenDropout: 0.2, ResidualDropout: 0.1}, []int{5}},
	"ftt":    {&FTTransformer{Token: 4, Heads: 2, Hidden: 3, AttentionDropout: 0.2, HiddenDropout: 0.1}, []int{3}},
	"resnet": {&ResNet{Widths: []int{2, 3}, Blocks: 1, Dropout: 0.2, Shift: 1}, []int{2, 4, 5}},
}

// TestEveryArchitectureIsChecked: an architecture that small lacks is not tested.
func TestEveryArchitectureIsChecked(t *testing.T) {
	for _, of := range architectures {
		name := nameOf(of)
		if small[name].network == nil {
			t.Errorf("%s is not in the table of small networks", name)
		}
	}
}

// TestGradients checks the loss of a training step, dropout and augmentation included, by each
// weight.
func TestGradients(t *testing.T) {
	for name, c := range small {
		t.Run(name, func(t *testing.T) {
			train := &training{graph.Tensor(tensor.Float64, []float64{1}, 1), func() uint64 { return 7 }}
			rng := newRand(3)
			w, err := c.network.Init(c.shape, 3, rng)
			if err != nil {
				t.Fatal(err)
			}
			for _, weight := range w.Learned() { // away from the zeros that biases begin with
				values := w.Tensor(weight).Float64s()
				for i := range values {
					values[i] += 0.3 * rng.NormFloat64()
				}
			}
			w = withoutKeyBias(w)
			counter := graph.NewWeights(tensor.Float64)
			counter.AddState(stepName, []float64{5}, 1)
			w.Join(counter)
			const rows = 6
			values := make([]float64, rows*Values(c.shape))
			for i := range values {
				values[i] = rng.NormFloat64()
			}
			x, labels := graph.Tensor(tensor.Float64, values, rows, Values(c.shape)), graph.Labels([]int{0, 1, 2, 0, 1, 0})
			if err := graphtest.Gradient(w, rows, func(b *graph.Builder) *gorgonia.Node {
				features, logits := c.network.Forward(&Pass{Builder: b, Shape: c.shape, train: train}, b.Take("x", x))
				if b.Err() == nil && (features.Shape()[1] != c.network.Width() || logits.Shape()[1] != 3) {
					t.Errorf("features are %v, logits %v", features.Shape(), logits.Shape())
				}
				return b.NLL(b.LogSoftmax(logits), b.Take("labels", labels))
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// withoutKeyBias has attention's key biases as state: they add one number to all
// scores of a query, which a softmax does not see, and so have no gradient to check.
func withoutKeyBias(w *graph.Weights) *graph.Weights {
	out := graph.NewWeights(tensor.Float64)
	learned := w.Learned()
	for _, name := range w.Names() {
		if slices.Contains(learned, name) && !strings.HasSuffix(name, "W_k.bias") {
			out.Add(name, w.Float64s(name), w.Tensor(name).Shape()...)
		} else {
			out.AddState(name, w.Float64s(name), w.Tensor(name).Shape()...)
		}
	}
	return out
}
