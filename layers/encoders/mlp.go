package encoders

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// MLP is a multilayer perceptron on standardized columns,
//
//	h₀ = (x − mean)/sd,   h_l = ReLU(W_l h_{l−1} + b_l),   logits = W h_L + b
//
// whose last hidden layer h_L are the features that a calibrator divides. Its
// weights are named as in the Python package rtdl_revisiting_models.
type MLP struct {
	Hidden []int `json:"hidden"` // widths of h_1 … h_L; nil: 256, 128

	// Optim has the settings of Fit, and Result says how its last call ended.
	Optim  optim.Settings `json:"-"`
	Result optim.Result   `json:"-"`

	model *Model
}

var _ Network = (*MLP)(nil)

func (*MLP) Name() string { return "mlp" }

func (m *MLP) hidden() []int {
	if m.Hidden == nil {
		return []int{256, 128}
	}
	return m.Hidden
}

// Width is the width of the last hidden layer.
func (m *MLP) Width() int { return m.hidden()[len(m.hidden())-1] }

func hiddenLayer(l int) string { return fmt.Sprintf("blocks.%d.linear", l) }

// Init draws N(0, 2/fan-in), which keeps the variance through a ReLU (He et al.
// 2015), and biases of zero.
func (m *MLP) Init(shape []int, classes int, rng *rand.Rand) (*graph.Weights, error) {
	if m.Hidden != nil && len(m.Hidden) == 0 {
		return nil, data.Inputf("", "an MLP needs at least one hidden layer, whose values are the features")
	}
	if err := checkSizes(len(m.hidden()), m.hidden()...); err != nil {
		return nil, err
	}
	w := newInitial(rng)
	in := Values(shape)
	he := func(name string, out int) {
		w.add(name+".weight", func(n int) []float64 {
			weight := make([]float64, n)
			for i := range in {
				for o := range out {
					weight[o*in+i] = math.Sqrt(2/float64(in)) * rng.NormFloat64()
				}
			}
			return weight
		}, out, in)
		w.constant(name+".bias", 0, out)
		in = out
	}
	for l, out := range m.hidden() {
		if out < 1 {
			return nil, data.Inputf("", "a hidden layer of width %d is none", out)
		}
		he(hiddenLayer(l), out)
	}
	he("output", classes)
	return w.done()
}

func (m *MLP) Forward(p *Pass, x *gorgonia.Node) (features, logits *gorgonia.Node) {
	for l := range m.hidden() {
		x = p.ReLU(p.Linear(hiddenLayer(l), x))
	}
	return x, p.Linear("output", x)
}

// Fit trains the network in float64 on train's features and labels, stopping early on
// val if it is given. There are as many classes as the largest label of train implies.
func (m *MLP) Fit(ctx context.Context, train, val *data.Set, rng *rand.Rand) error {
	if train.Features == nil || train.Labels == nil {
		return fmt.Errorf("encoders: training needs features and labels")
	}
	var held *data.Inputs
	if val != nil {
		held = inputs(val)
	}
	var err error
	m.model, m.Result, err = Train(ctx, m, inputs(train), held, Settings{Optim: m.Optim, Type: tensor.Float64}, rng)
	return err
}

func inputs(s *data.Set) *data.Inputs {
	labels := s.Labels
	if labels == nil {
		labels = make([]int, s.Len())
	}
	return (&data.Table{Features: data.Dense(s.Features), Labels: labels}).Inputs()
}

// Encode gives the penultimate features and logits of each row of x, with x's
// labels: a set to be calibrated.
func (m *MLP) Encode(x *data.Set) (*data.Set, error) {
	if m.model == nil {
		return nil, fmt.Errorf("encoders: the network is used before it is trained")
	}
	out, err := EncodeInputs(context.Background(), m.model, inputs(x))
	if err != nil {
		return nil, err
	}
	out.Labels, out.Numbers = x.Labels, x.Numbers
	return out, nil
}
