package baselines

import (
	"cmp"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LastLayer is a new last layer on the classifier's features, beside what it said:
//
//	posterior = softmax(ℓ + Δᵀℓ + Vᵀz + b) ,  z the standardized features
//
// from Δ = V = 0, b = 0, minimizing mean NLL + (λ/n)(‖Δ‖² + ‖V‖²). It is a control and
// nobody's method: a method that divides the features into regions should do better than
// these features do undivided. It needs features. A strength λ of 0 is 10, a nil method
// L-BFGS.
func LastLayer(method optim.Method, strength float64) *Smooth {
	of := lastLayerMap{strength: cmp.Or(strength, 10)}
	return &Smooth{title: "the last layer", of: of, method: method, begin: func(cal *data.Set) (*graph.Weights, optim.Method, error) {
		sizes, err := sizesOf(cal, withFeatures)
		if err != nil {
			return nil, nil, err
		}
		return lastLayerWeights(sizes.Classes, data.FitWeighted(cal.Features, cal.Weights)), nil, nil
	}}
}

// lastLayerMap has weights last/logits/weight (C×C, Δ), last/logits/bias (C, b),
// last/features (M×C, V) and as state the standardizer. Its inputs are ℓ and z.
type lastLayerMap struct{ strength float64 }

func lastLayerWeights(classes int, scale *data.Standardizer) *graph.Weights {
	m := len(scale.Mean)
	w := graph.NewWeights(tensor.Float64)
	w.Add("last/logits/weight", make([]float64, classes*classes), classes, classes)
	w.Add("last/logits/bias", make([]float64, classes), classes)
	w.Add("last/features", make([]float64, m*classes), m, classes)
	w.AddState("norm/mean", scale.Mean, m)
	w.AddState("norm/sd", scale.SD, m)
	return w
}

func (lastLayerMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	return lastLayerWeights(s.Classes, &data.Standardizer{Mean: make([]float64, s.Features), SD: ones(s.Features)}), nil
}

func (lastLayerMap) featureMean() string { return "norm/mean" }

func (lastLayerMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	scale := data.Standardizer{Mean: w.Float64s("norm/mean"), SD: w.Float64s("norm/sd")}
	if err := requireFeatures(v.Set, len(scale.Mean)); err != nil {
		return nil, err
	}
	return map[string]mat.Matrix{"floored": floored(v.LogProbs), "features": scale.Apply(v.Set.Features)}, nil
}

func (lastLayerMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, w *graph.Weights) (map[string]onnx.Value, error) {
	mean, sd := w.Float64s("norm/mean"), w.Float64s("norm/sd")
	z := g.Sub(g.Features(v.Sizes.Features), onnx.Table(g, mean, len(mean)))
	return map[string]onnx.Value{"floored": flooredONNX(g, v.LogProbs), "features": g.Div(z, onnx.Table(g, sd, len(sd)))}, nil
}

func (lastLayerMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	l, z := in.Input(b, "floored"), in.Input(b, "features")
	said := b.Plus(l, b.Linear("last/logits", l))
	return b.LogSoftmax(b.Plus(said, b.MatMul(z, b.Weight("last/features"))))
}

func (m lastLayerMap) Loss(b *graph.Builder, in layers.Batch, n int) *gorgonia.Node {
	return layers.PenalizedNLL(b, m, in, m.strength/float64(n), "last/logits/weight", "last/features")
}
