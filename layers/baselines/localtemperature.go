package baselines

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LocalTemperature is local temperature scaling: a temperature for each row,
//
//	posterior = softmax(ℓ e^(−t − uᵀz)) ,  T(x) = e^(t + uᵀz)
//
// after Ding et al. (2021), whose T(x) is a small convolutional network of a pixel's
// surroundings in image and logits. A feature vector has no surroundings, so here
// log T is linear in z, the 50 leading principal components of the standardized
// features, each divided by its standard deviation. Maximum likelihood with the
// penalty ‖u‖²/n, the weight of a standard normal prior on √2·u, from T = 1. It needs features; a nil method is
// L-BFGS.
func LocalTemperature(method optim.Method) *Smooth {
	begin := func(cal *data.Set, w *graph.Weights) (optim.Method, error) { return nil, fitEmbedding(w, cal) }
	of := localTemperatureMap{}
	return &Smooth{title: "local temperatures", of: of, method: method, needs: []need{toEmbed}, begin: begin}
}

// localTemperatureMap has weights temperature/weight (P×1), temperature/log (1) and
// the embedding's. It reads ℓ and z.
type localTemperatureMap struct{}

func (localTemperatureMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w, p := graph.NewWeights(tensor.Float64), components(s)
	w.Add("temperature/weight", make([]float64, p), p, 1)
	w.Add("temperature/log", []float64{0}, 1)
	addEmbedding(w, s)
	return w, nil
}

func (localTemperatureMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	z, err := embed(w, v.Set)
	if err != nil {
		return nil, err
	}
	variances := w.Float64s("embedding/variances")
	z.Apply(func(_, j int, v float64) float64 { return v / math.Sqrt(max(variances[j], 1e-12)) }, z)
	return map[string]mat.Matrix{"components": z}, nil
}

func (localTemperatureMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, w *graph.Weights) (map[string]onnx.Value, error) {
	sd := slices.Clone(w.Float64s("embedding/variances"))
	for j, v := range sd {
		sd[j] = math.Sqrt(max(v, 1e-12))
	}
	z := g.Div(embedONNX(g, v.Sizes, w), onnx.Table(g, sd, len(sd)))
	return map[string]onnx.Value{"components": z}, nil
}

func (localTemperatureMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	l, z := in.LogProbs, in.Input(b, "components")
	log := b.AddRow(b.MatMul(z, b.Weight("temperature/weight")), b.Weight("temperature/log")) // B×1
	inverse := b.Apply(op.Exp(2), b.Apply(op.Scale(2, -1), log))                              // 1/T
	return b.LogSoftmax(b.Times(l, in.EachClass(b, inverse)))
}

func (m localTemperatureMap) Loss(b *graph.Builder, in layers.Batch, n int) *gorgonia.Node {
	return layers.PenalizedNLL(b, m, in, 1/float64(n), "temperature/weight")
}
