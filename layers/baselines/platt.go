package baselines

import (
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Platt scaling (Platt 1999), for each class against the rest, without a penalty:
//
//	p_k ∝ σ(a_k s_k + b_k) ,  minimize −Σ_i t_ik log σ_ik + (1 − t_ik) log(1 − σ_ik)
//	t_ik = (N_k + 1)/(N_k + 2) of a row of class k, and 1/(N − N_k + 2) of another
//
// The score s_k is what the classifier gives: p̂_k of rows that were read as probabilities, and else log p̂_k/(1 −
// p̂_k), which of two classes is the difference of the logits. So two classes have the probabilities of scikit-learn's
// CalibratedClassifierCV(method="sigmoid"), which takes the same two scores. A nil method is L-BFGS.
func Platt(method optim.Method) *Smooth {
	return &Smooth{title: "Platt scaling", of: plattMap{}, method: method, begin: beginPlatt}
}

// beginPlatt sets the b at which all rows have their class's share, with the state of the rows.
func beginPlatt(cal *data.Set, w *graph.Weights) (optim.Method, error) {
	counts, all := make([]float64, cal.Classes()), 0.0
	for i := range cal.Len() {
		weight := cal.Weight(i)
		all += weight
		for k, q := range cal.Shares(i) {
			counts[k] += weight * q
		}
	}
	right, wrong, bias := w.Float64s("platt/right"), w.Float64s("platt/wrong"), w.Float64s("platt/bias")
	for k, n := range counts {
		right[k], wrong[k] = (n+1)/(n+2), 1/(all-n+2)
		bias[k] = math.Log((n + 1) / (all - n + 1))
	}
	w.SetValues("platt/right", right)
	w.SetValues("platt/wrong", wrong)
	w.SetValues("platt/bias", bias)
	if cal.Scores.Normalized() {
		w.SetValues("platt/probabilities", []float64{1})
	}
	return nil, nil
}

// plattMap has weights platt/slope (a) and platt/bias (b), and as state the targets of a row of a class and of another,
// platt/right and platt/wrong, all of length C, and platt/probabilities (1), which is 1 where the score is p̂. Its
// input is s.
type plattMap struct{}

func (plattMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("platt/slope", make([]float64, s.Classes), s.Classes)
	w.Add("platt/bias", make([]float64, s.Classes), s.Classes)
	w.AddState("platt/right", ones(s.Classes), s.Classes)
	w.AddState("platt/wrong", make([]float64, s.Classes), s.Classes)
	w.AddState("platt/probabilities", []float64{0}, 1)
	return w, nil
}

// leastOdds is added to 1 − p̂ before the logarithm, so that a row of one possible class has a score.
const leastOdds = 1e-320

func (plattMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	p := exponentials(v.LogProbs)
	if w.Float64s("platt/probabilities")[0] == 1 {
		return map[string]mat.Matrix{"score": p}, nil
	}
	odds := mat.DenseCopyOf(v.LogProbs)
	n, _ := odds.Dims()
	for i := range n {
		row, shares := odds.RawRowView(i), p.RawRowView(i)
		top := floats.MaxIdx(shares)
		others := floats.Sum(shares[:top]) + floats.Sum(shares[top+1:]) // 1 − p̂ of the top class loses its digits
		for k, l := range row {
			rest := others
			if k != top {
				rest = 1 - shares[k]
			}
			if row[k] = 0; !data.Masked(l) {
				row[k] = l - math.Log(rest+leastOdds)
			}
		}
	}
	return map[string]mat.Matrix{"score": odds}, nil
}

func (plattMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, w *graph.Weights) (map[string]onnx.Value, error) {
	p := g.Exp(v.LogProbs)
	if w.Float64s("platt/probabilities")[0] == 1 {
		return map[string]onnx.Value{"score": p}, nil
	}
	c := v.Sizes.Classes
	others := ones(c * c)
	for k := range c {
		others[k*c+k] = 0
	}
	rest := g.MatMul(p, onnx.Table(g, others, c, c))
	return map[string]onnx.Value{"score": g.Unmasked(g.Sub(v.LogProbs, g.Log(g.Add(rest, g.Scalar(leastOdds)))), 0)}, nil
}

func (plattMap) scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.AddRow(b.Apply(op.TimesRow(), in.Input(b, "score"), b.Weight("platt/slope")), b.Weight("platt/bias"))
}

func (m plattMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return oneVsRest(b, m.scores(b, in))
}

// Loss is the mean over the rows of Σ_k softplus(s_k) − t_k s_k, over the classes that can be.
func (m plattMap) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	s, wrong := m.scores(b, in), b.Weight("platt/wrong")
	each := b.Plus(b.Apply(op.Softplus(2), s), b.Apply(op.TimesRow(), s, b.Apply(op.Scale(1, -1), wrong)))
	if in.Masks != nil {
		each = b.Times(each, b.Apply(op.Exp(2), in.Masks))
	}
	gap := b.Plus(b.Weight("platt/right"), b.Apply(op.Scale(1, -1), wrong))
	return eachAndLabel(b, each, b.Apply(op.TimesRow(), s, gap), in)
}
