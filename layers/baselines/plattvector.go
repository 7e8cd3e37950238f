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

// PlattVector is what the paper's tables call Platt scaling: for each class k one logistic regression
// on the whole probability vector,
//
//	p_k ∝ σ(w_kᵀ p̂ + c_k) ,  minimize ‖w_k‖²/(2C) + Σ_i log-loss_ik
//
// with the intercept free, as scikit-learn's LogisticRegression(C=C). [Platt] has one score for each class and no
// penalty. A nil method is L-BFGS.
func PlattVector(c float64, method optim.Method) *Smooth {
	return &Smooth{title: "Platt scaling of all probabilities", of: plattVectorMap{c}, method: method}
}

// plattVectorMap has weights platt/weight (C×C) and platt/bias (C). Its input is p̂.
type plattVectorMap struct{ c float64 }

func (plattVectorMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("platt/weight", make([]float64, s.Classes*s.Classes), s.Classes, s.Classes)
	w.Add("platt/bias", make([]float64, s.Classes), s.Classes)
	return w, nil
}

func (plattVectorMap) Inputs(v *layers.View, _ *graph.Weights) (map[string]mat.Matrix, error) {
	return map[string]mat.Matrix{"probabilities": exponentials(v.LogProbs)}, nil
}

func (plattVectorMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, _ *graph.Weights) (map[string]onnx.Value, error) {
	return map[string]onnx.Value{"probabilities": g.Exp(v.LogProbs)}, nil
}

func (plattVectorMap) scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.Linear("platt", in.Input(b, "probabilities"))
}

func (m plattVectorMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return oneVsRest(b, m.scores(b, in))
}

// Loss is the summed objective divided by the number of rows.
func (m plattVectorMap) Loss(b *graph.Builder, in layers.Batch, rows int) *gorgonia.Node {
	return b.Plus(oneVsRestLoss(b, m.scores(b, in), in), layers.Penalty(b, "platt/weight", 1/(2*m.c*float64(rows))))
}
