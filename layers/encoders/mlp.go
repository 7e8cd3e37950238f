package encoders

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gonum.org/v1/gonum/mat"
)

// MLP is a multilayer perceptron on standardized columns,
//
//	h₀ = (x − mean)/sd,   h_l = ReLU(h_{l−1} W_l + b_l),   logits = h_L W + b
//
// whose last hidden layer h_L are the features that a calibrator divides.
type MLP struct {
	Hidden []int // widths of h_1 … h_L; nil: 256, 128
	Optim  optim.Settings

	// Result of the last Fit.
	Result optim.Result

	classes int
	scaler  *data.Standardizer
	weights *graph.Weights
}

// evaluationBatch is the batch size of encoding and validation.
const evaluationBatch = 1024

// Fit trains the network on train's features and labels, stopping early on val if
// it is given. There are as many classes as the largest label of train tells.
func (m *MLP) Fit(ctx context.Context, train, val *data.Set, rng *rand.Rand) error {
	if train.Features == nil || train.Labels == nil {
		return fmt.Errorf("encoders: training needs features and labels")
	}
	if m.Hidden == nil {
		m.Hidden = []int{256, 128}
	}
	m.classes = 0
	for _, y := range train.Labels {
		m.classes = max(m.classes, y+1)
	}
	m.scaler = data.FitStandardizer(train.Features)
	_, width := train.Features.Dims()
	w := graph.NewWeights(tensor.Float64)
	for l, out := range append(m.Hidden[:len(m.Hidden):len(m.Hidden)], m.classes) {
		// He et al. 2015: N(0, 2/fan-in) keeps the variance through a ReLU.
		weight := make([]float64, width*out)
		for i := range weight {
			weight[i] = math.Sqrt(2/float64(width)) * rng.NormFloat64()
		}
		w.Add(layer(l)+"/weight", weight, width, out)
		w.Add(layer(l)+"/bias", make([]float64, out), out)
		width = out
	}
	m.weights = w.As(tensor.Float32)

	loss := func(s *data.Set) func(*graph.Builder) *gorgonia.Node {
		x, labels := graph.Matrix(tensor.Float32, m.scaler.Apply(s.Features)), graph.Labels(s.Labels)
		return func(b *graph.Builder) *gorgonia.Node {
			_, logits := m.forward(b, b.Take("x", x))
			return b.NLL(b.LogSoftmax(logits), b.Take("labels", labels))
		}
	}
	problem := optim.Problem{Loss: graph.NewObjective(m.weights, loss(train)), Rows: train.Len()}
	if val != nil {
		held := loss(val)
		f := graph.NewFunction(m.weights, func(b *graph.Builder) gorgonia.Nodes { return gorgonia.Nodes{held(b)} })
		problem.Validation = func() (float64, error) { return f.Mean(val.Len(), evaluationBatch) }
	}
	var err error
	if m.Result, err = optim.Minimize(ctx, problem, m.Optim, rng); err != nil {
		return fmt.Errorf("train the encoder: %w", err)
	}
	return nil
}

func layer(l int) string { return fmt.Sprintf("mlp/%d", l) }

// forward describes the last hidden layer and the logits of a batch.
func (m *MLP) forward(b *graph.Builder, x *gorgonia.Node) (features, logits *gorgonia.Node) {
	for l := range m.Hidden {
		x = b.Apply(op.ReLU(2), b.Linear(layer(l), x))
	}
	return x, b.Linear(layer(len(m.Hidden)), x)
}

// Encode gives the penultimate features and logits of each row of x, with x's
// labels: a set to be calibrated.
func (m *MLP) Encode(x *data.Set) (*data.Set, error) {
	if m.weights == nil {
		return nil, fmt.Errorf("encoders: the network is used before it is trained")
	}
	table := graph.Matrix(tensor.Float32, m.scaler.Apply(x.Features))
	width := m.Hidden[len(m.Hidden)-1]
	out := &data.Set{Features: mat.NewDense(x.Len(), width, nil), Logits: mat.NewDense(x.Len(), m.classes, nil), Labels: x.Labels}
	f := graph.NewFunction(m.weights, func(b *graph.Builder) gorgonia.Nodes {
		features, logits := m.forward(b, b.Take("x", table))
		return gorgonia.Nodes{features, logits}
	})
	err := f.Each(x.Len(), evaluationBatch, func(lo int, o []gorgonia.Value) error {
		copy(out.Features.RawMatrix().Data[lo*width:], graph.Float64s(o[0]))
		copy(out.Logits.RawMatrix().Data[lo*m.classes:], graph.Float64s(o[1]))
		return nil
	})
	return out, err
}
