package optim

import (
	"calibra/graph"

	"gorgonia.org/tensor"
)

// Rule turns gradients into steps: [Adam], [AdamW] or [SGD].
type Rule interface {
	// start prepares the rule's state for the given weights.
	start(params []*tensor.Dense) graph.Mover
}

// orDefault is v, or def where v is the zero of a Settings field.
func orDefault(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}

// zerosLike is one zero tensor for each parameter.
func zerosLike(params []*tensor.Dense) []*tensor.Dense {
	zeros := make([]*tensor.Dense, len(params))
	for i, p := range params {
		zeros[i] = tensor.New(tensor.Of(p.Dtype()), tensor.WithShape(p.Shape()...))
	}
	return zeros
}
