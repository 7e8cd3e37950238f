package main

import (
	"calibra/experiments/method"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gorgonia.org/gorgonia"
)

// mine is the method of the map: stage 1 divides the features by codewords, stage 2 fits the map on the codes.
var mine = method.Method{
	Name: "mine", Line: "the paper's map with an exponential link and a penalty",
	Needs: []string{"features"}, StopsEarly: true,
	New: func(o *method.Options) layers.Stateful {
		m := layers.Bilinear{Link: layers.Exponential{}}
		of := Mine{m, o.Float("mine.strength", 1, method.Positive, "", "strength λ of the penalty")}
		return layers.Train(o.Divide(), of, o.Stage("calibrate", method.Published))
	},
}

// Mine is the paper's map with α = exp(A − 1) + ε, fitted to the mean over rows of NLL + λ/2 ‖A(V) − 1‖², which
// draws all concentrations to 1, where the map is no change.
type Mine struct {
	layers.Bilinear
	Strength float64 // λ
}

var _ layers.Costed = Mine{}

// Loss describes the mean of a batch.
func (m Mine) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	form := m.Form(b, in)
	minus := make([]float64, b.Dim(form, 1))
	for i := range minus {
		minus[i] = -1
	}
	far := b.AddRow(form, b.Table("mine/minus", graph.Tensor(b.Dtype(), minus, len(minus))))
	share := b.Apply(op.Scale(0, m.Strength/2/float64(b.Dim(form, 0))), b.Apply(op.Sum(2), b.Times(far, far)))
	return b.Plus(layers.NLL(b, m, in), share)
}
