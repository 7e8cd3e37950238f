package baselines

import (
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Beta calibration (Kull, Silva Filho and Flach 2017), one-vs-rest:
//
//	p_k ∝ σ(a_k log p̂_k − b_k log(1 − p̂_k) + c_k) ,  a_k, b_k ≥ 0
//
// by maximum likelihood from the identity a = b = 1, c = 0. The constraint is kept by
// a = eᵘ and b = eᵛ, so that a coefficient which ought to be 0 only nears it.
// p̂ and 1 − p̂ have 1e-12 added before the logarithm. A nil method is L-BFGS.
func Beta(method optim.Method) *Smooth {
	return &Smooth{title: "beta calibration", of: betaMap{}, method: method}
}

// betaMap has weights beta/success (u), beta/failure (v) and beta/bias (c), all of
// length C. Its inputs are log p̂ and −log(1 − p̂).
type betaMap struct{}

func (betaMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	for _, name := range []string{"beta/success", "beta/failure", "beta/bias"} {
		w.Add(name, make([]float64, s.Classes), s.Classes)
	}
	return w, nil
}

func (betaMap) Inputs(v *layers.View, _ *graph.Weights) (map[string]mat.Matrix, error) {
	var failure mat.Dense
	failure.Apply(func(_, _ int, l float64) float64 {
		return -math.Log(-math.Expm1(min(l, 0)) + probabilityFloor)
	}, v.LogProbs)
	return map[string]mat.Matrix{"success": floored(v.LogProbs), "failure": &failure}, nil
}

func (betaMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, _ *graph.Weights) (map[string]onnx.Value, error) {
	failure := g.Neg(g.Log(g.Add(g.Sub(g.Scalar(1), g.Exp(v.LogProbs)), g.Scalar(probabilityFloor))))
	return map[string]onnx.Value{"success": flooredONNX(g, v.LogProbs), "failure": failure}, nil
}

func (betaMap) scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	part := func(name string) *gorgonia.Node {
		return b.Apply(op.TimesRow(), in.Input(b, name), b.Apply(op.Exp(1), b.Weight("beta/"+name)))
	}
	return b.AddRow(b.Plus(part("success"), part("failure")), b.Weight("beta/bias"))
}

func (m betaMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return oneVsRest(b, m.scores(b, in))
}

func (m betaMap) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	return oneVsRestLoss(b, m.scores(b, in), in)
}
