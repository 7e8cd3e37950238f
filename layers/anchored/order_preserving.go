package anchored

import (
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// OrderPreserving passes every logit through one increasing function, a diagonal
// intra-order-preserving map (Rahimi et al. 2020):
//
//	posterior = softmax(f(z)) ,  z = logits/T less their mean over the calibration rows
//	f(0) = 0 ,  f′ = e^(τ + ρ d_m) between knots m − 1 and m ,  d ~ N(0, I)
//
// It never changes which class is the most probable. ρ = 0 is one temperature.
//
// Weights: order_preserving/log_slope (1, τ), /slope (P×1, d) and the state /spread
// (1, ρ).
type OrderPreserving struct{}

var (
	_ Scored       = OrderPreserving{}
	_ Hierarchical = OrderPreserving{}
)

// knots divide the logits at their best temperature, a few of which decide between
// two classes and more of which only set how surely.
var knots = []float64{-8, -4, -2, -1, -0.5, 0, 0.5, 1, 2, 4, 8}

// Init starts at f(z) = z.
func (OrderPreserving) Init(layers.Sizes, *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("order_preserving/log_slope", []float64{0}, 1)
	w.Add("order_preserving/slope", make([]float64, len(knots)+1), len(knots)+1, 1)
	w.AddState("order_preserving/spread", []float64{1}, 1)
	return w, nil
}

// Spread is ρ.
func (OrderPreserving) Spread() Spread { return spreadOf("order_preserving", "slope") }

// Coarser is one temperature.
func (OrderPreserving) Coarser() layers.Map { return Tempered{} }

func (m OrderPreserving) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(m.Scores(b, in))
}

func (OrderPreserving) Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	d := b.Apply(op.TimesScalar(), b.Weight("order_preserving/slope"), b.Weight("order_preserving/spread"))
	slopes := b.Apply(op.Exp(2), b.AddRow(d, b.Weight("order_preserving/log_slope"))) // P×1
	return b.Apply(op.Ramps(knots), in.Input(b, logitsInput), slopes)
}
