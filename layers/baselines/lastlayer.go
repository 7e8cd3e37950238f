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
	return &Smooth{title: "the last layer", of: of, method: method, needs: []need{withFeatures}, begin: beginStandardizing}
}

// lastLayerMap has weights last/logits/weight (C×C, Δ), last/logits/bias (C, b),
// last/features (M×C, V) and as state the standardizer. Its inputs are ℓ and z.
type lastLayerMap struct{ strength float64 }

func (lastLayerMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("last/logits/weight", make([]float64, s.Classes*s.Classes), s.Classes, s.Classes)
	w.Add("last/logits/bias", make([]float64, s.Classes), s.Classes)
	w.Add("last/features", make([]float64, s.Features*s.Classes), s.Features, s.Classes)
	addStandardizer(w, s)
	return w, nil
}

// addStandardizer adds one that changes nothing, as state.
func addStandardizer(w *graph.Weights, s layers.Sizes) {
	w.AddState("norm/mean", make([]float64, s.Features), s.Features)
	w.AddState("norm/sd", ones(s.Features), s.Features)
}

// beginStandardizing makes it that of the rows.
func beginStandardizing(cal *data.Set, w *graph.Weights) (optim.Method, error) {
	setStandardizer(w, data.FitWeighted(cal.Features, cal.Weights))
	return nil, nil
}

func setStandardizer(w *graph.Weights, s *data.Standardizer) {
	w.SetValues("norm/mean", s.Mean)
	w.SetValues("norm/sd", s.SD)
}

// standardized are the features of x, which must be there.
func standardized(x *data.Set, w *graph.Weights) (*mat.Dense, error) {
	scale := data.Standardizer{Mean: w.Float64s("norm/mean"), SD: w.Float64s("norm/sd")}
	if err := requireFeatures(x, len(scale.Mean)); err != nil {
		return nil, err
	}
	return scale.Apply(x.Features), nil
}

func (lastLayerMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	z, err := standardized(v.Set, w)
	return map[string]mat.Matrix{"floored": floored(v.LogProbs), "features": z}, err
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
