package encoders

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Network is an architecture: how its weights begin, and the graph from rows to
// features and logits. The weights have the names and shapes of the state dict of
// the same network in PyTorch: the weight of a linear layer is out×in.
type Network interface {
	// Name is the name of the architecture on the command line and in config.json.
	Name() string
	// Init draws the weights for rows of the given shape, in float64. Settings
	// that the shape does not allow are a *data.InputError.
	Init(shape []int, classes int, rng *rand.Rand) (*graph.Weights, error)
	// Forward describes the features (B×M) and the logits (B×C) of B standardized
	// rows x (B×product of shape).
	Forward(p *Pass, x *gorgonia.Node) (features, logits *gorgonia.Node)
	// Width is M, the number of features.
	Width() int
}

// Pass is one graph being described: of a training step, or of inference.
// Dropout, batch norm and augmentation differ between the two.
type Pass struct {
	*graph.Builder
	Shape []int // of a row
	train *training
	step  *gorgonia.Node
	drops uint64 // random ops so far, which distinguishes their draws
}

// training is what a training step has and inference has not.
type training struct {
	one  *tensor.Dense
	seed func() uint64 // drawn once, when a random op first needs it
}

// stepName is the state that counts training steps, for the random ops.
const stepName = "training/step"

// counter is the number of this training step, which grows from step to step.
func (p *Pass) counter() *gorgonia.Node {
	if p.step == nil && p.Err() == nil {
		p.step = p.Weight(stepName)
		p.Update(stepName, p.Plus(p.step, p.Table("training/one", p.train.one)))
	}
	return p.step
}

// seed is another number for every random op of a pass.
func (p *Pass) seed() uint64 {
	p.drops++
	return p.train.seed() + p.drops
}

// Dropout is inverted dropout while training, x at inference.
func (p *Pass) Dropout(rate float64, x *gorgonia.Node) *gorgonia.Node {
	if p.train == nil || rate == 0 {
		return x
	}
	return p.Apply(op.Dropout(rate, p.seed()), x, p.counter())
}

// Linear is x·Wᵀ + v for weights named name.weight (out×in) and name.bias (out).
func (p *Pass) Linear(name string, x *gorgonia.Node) *gorgonia.Node {
	return p.AddRow(p.Apply(op.MatMulNT(), x, p.Weight(name+".weight")), p.Weight(name+".bias"))
}

// ReLU is max(x, 0).
func (p *Pass) ReLU(x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	return p.Apply(op.ReLU(x.Dims()), x)
}

// The constants of PyTorch's norm layers.
const (
	normEpsilon       = 1e-5
	batchNormMomentum = 0.1
)

// LayerNorm normalizes the rows of a matrix by weights name.weight and name.bias.
func (p *Pass) LayerNorm(name string, x *gorgonia.Node) *gorgonia.Node {
	return p.Apply(op.LayerNorm(normEpsilon), x, p.Weight(name+".weight"), p.Weight(name+".bias"))
}

// BatchNorm normalizes the channels of a matrix or of images: by the batch's own
// moments while training, which also move the averages name.running_mean and
// name.running_var, and by those averages at inference.
func (p *Pass) BatchNorm(name string, x *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil {
		return nil
	}
	dims := x.Dims()
	mean, variance := name+".running_mean", name+".running_var"
	mu, v := p.Weight(mean), p.Weight(variance)
	if p.train != nil {
		mu = p.Apply(op.ChannelMean(dims), x)
		v = p.Apply(op.ChannelVariance(dims), x, mu)
		n := float64(x.Shape().TotalSize() / x.Shape()[1])
		if n > 1 { // one value has no variance
			unbiased := p.Apply(op.Scale(1, n/(n-1)), v)
			p.Update(mean, p.Apply(op.Blend(1, 1-batchNormMomentum), p.Weight(mean), mu))
			p.Update(variance, p.Apply(op.Blend(1, 1-batchNormMomentum), p.Weight(variance), unbiased))
		}
	}
	return p.Apply(op.BatchNorm(dims, normEpsilon), x, mu, v, p.Weight(name+".weight"), p.Weight(name+".bias"))
}

// Conv is a convolution without bias by the weight name.weight (O×C×k×k).
func (p *Pass) Conv(name string, stride, pad int, x *gorgonia.Node) *gorgonia.Node {
	return p.Apply(op.Conv(stride, pad), x, p.Weight(name+".weight"))
}

// initial draws weights, as many as memory has room for; after the first that has none it
// draws no more, and done returns the error.
type initial struct {
	*graph.Weights
	rng *rand.Rand
	err error
}

func newInitial(rng *rand.Rand) *initial {
	return &initial{Weights: graph.NewWeights(tensor.Float64), rng: rng}
}

// Sizes of a network have a bound of their own, so that their products are numbers and
// their layers can be counted.
const (
	mostWidth  = 1 << 16
	mostLayers = 1 << 10
)

// checkSizes refuses a number of layers, or widths, that no network has.
func checkSizes(layers int, widths ...int) error {
	if layers > mostLayers {
		return data.Inputf("", "a network of %d layers is too deep; at most %d are possible", layers, mostLayers)
	}
	for _, width := range widths {
		if width > mostWidth {
			return data.Inputf("", "a layer of width %d is too wide; at most %d are possible", width, mostWidth)
		}
	}
	return nil
}

// weightBytes is what a weight takes in training: as it is drawn, in single precision,
// its gradient, two moments and the best so far.
const weightBytes = 8 + 5*4

// add adds a weight of that shape, of the values that draw gives of their number, if there is
// room beside those that are there.
func (w *initial) add(name string, draw func(n int) []float64, shape ...int) {
	n := Values(shape)
	if w.err == nil {
		w.err = data.CheckRoom("", "a network of these sizes", w.Size()+n, weightBytes, "weights")
	}
	if w.err == nil {
		w.Add(name, draw(n), shape...)
	}
}

// done is the weights, if all of them had room.
func (w *initial) done() (*graph.Weights, error) {
	if w.err != nil {
		return nil, w.err
	}
	return w.Weights, nil
}

// uniform adds a weight of U(−bound, bound).
func (w *initial) uniform(name string, bound float64, shape ...int) {
	w.add(name, func(n int) []float64 { return graph.Uniforms(n, bound, w.rng) }, shape...)
}

// constant adds a weight of one value.
func (w *initial) constant(name string, value float64, shape ...int) {
	w.add(name, func(n int) []float64 { return slices.Repeat([]float64{value}, n) }, shape...)
}

// linear adds a linear layer as torch.nn.Linear begins: U(−1/√in, 1/√in).
func (w *initial) linear(name string, in, out int) {
	bound := 1 / math.Sqrt(float64(in))
	w.uniform(name+".weight", bound, out, in)
	w.uniform(name+".bias", bound, out)
}

// norm adds what LayerNorm begins with: γ = 1, β = 0.
func (w *initial) norm(name string, m int) {
	w.constant(name+".weight", 1, m)
	w.constant(name+".bias", 0, m)
}

// batchNorm adds what BatchNorm begins with.
func (w *initial) batchNorm(name string, m int) {
	w.norm(name, m)
	if w.err == nil {
		w.AddState(name+".running_mean", make([]float64, m), m)
		w.AddState(name+".running_var", slices.Repeat([]float64{1}, m), m)
	}
}

// conv adds N(0, 2/(O·k²)), which keeps the variance of gradients through a ReLU
// (He et al. 2015, fan-out, as torchvision begins).
func (w *initial) conv(name string, in, out, k int) {
	sd := math.Sqrt(2 / float64(out*k*k))
	w.add(name+".weight", func(n int) []float64 { return graph.Normals(n, 0, sd, w.rng) }, out, in, k, k)
}
