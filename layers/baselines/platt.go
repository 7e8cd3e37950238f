package baselines

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Platt scaling as in the paper's tables: for each class k one logistic regression
// on the whole probability vector,
//
//	p_k ∝ σ(w_kᵀ p̂ + c_k) ,  minimize ½‖w_k‖² + Σ_i log-loss_ik
//
// with the intercept free; scikit-learn's LogisticRegression with C = 1. Platt
// (1999) has one score, its own margin, for each class. A nil method is L-BFGS.
func Platt(method optim.Method) *Smooth {
	return &Smooth{title: "Platt scaling", of: plattMap{}, method: method}
}

// plattMap has weights platt/weight (C×C) and platt/bias (C). Its input is p̂.
type plattMap struct{}

func (plattMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("platt/weight", make([]float64, s.Classes*s.Classes), s.Classes, s.Classes)
	w.Add("platt/bias", make([]float64, s.Classes), s.Classes)
	return w, nil
}

func (plattMap) Inputs(v *layers.View, _ *graph.Weights) (map[string]mat.Matrix, error) {
	return map[string]mat.Matrix{"probabilities": exponentials(v.LogProbs)}, nil
}

func (plattMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, _ *graph.Weights) (map[string]onnx.Value, error) {
	return map[string]onnx.Value{"probabilities": g.Exp(v.LogProbs)}, nil
}

func (plattMap) scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.Linear("platt", in.Input(b, "probabilities"))
}

func (m plattMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return oneVsRest(b, m.scores(b, in))
}

// Loss is the summed objective divided by the number of rows.
func (m plattMap) Loss(b *graph.Builder, in layers.Batch, rows int) *gorgonia.Node {
	return b.Plus(oneVsRestLoss(b, m.scores(b, in), in), layers.Penalty(b, "platt/weight", 1/(2*float64(rows))))
}
