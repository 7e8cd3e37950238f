package baselines

import (
	"cmp"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// StructuredVector is structured vector scaling (Berta et al. 2025, arXiv:2511.03685), with the
// defaults of its authors' library probmetrics: [Structured] with a diagonal matrix,
//
//	posterior = softmax(x + v ⊙ x + b)
//
// minimizing mean NLL + (C/n)(‖b‖² + ‖v‖²), which is strictly convex, from v = b = 0. x are the smoothed
// log-probabilities at the best temperature, as there. The strength multiplies both penalties, 0: 1, as published; a
// nil method is L-BFGS.
func StructuredVector(method optim.Method, strength float64) *Smooth {
	of := structuredVectorMap{strength: strength}
	begin := func(cal *data.Set, w *graph.Weights) (optim.Method, error) {
		_, err := beginSmoothing(cal, w)
		return nil, err
	}
	return &Smooth{title: "structured vector scaling", of: of, method: method, begin: begin}
}

// structuredVectorMap has weights structured/scale (C, v) and structured/bias (C), the state and
// the input of structuredMap.
type structuredVectorMap struct {
	strength float64 // 0: 1

	smoothedInput
}

func (structuredVectorMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("structured/scale", make([]float64, s.Classes), s.Classes)
	w.Add("structured/bias", make([]float64, s.Classes), s.Classes)
	addSmoothing(w, s)
	return w, nil
}

func (structuredVectorMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	x := in.Input(b, "smoothed")
	moved := b.Plus(x, b.Apply(op.TimesRow(), x, b.Weight("structured/scale")))
	return b.LogSoftmax(b.AddRow(moved, b.Weight("structured/bias")))
}

func (m structuredVectorMap) Loss(b *graph.Builder, in layers.Batch, n int) *gorgonia.Node {
	strength := cmp.Or(m.strength, 1) * float64(b.Dim(in.LogProbs, 1)) / float64(n)
	return layers.PenalizedNLL(b, m, in, strength, "structured/scale", "structured/bias")
}
