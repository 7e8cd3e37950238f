package export

import (
	"fmt"

	"calibra/graph"
	"calibra/layers"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// posterior is the log-posterior (N×C) of a fitted map on a view.
func (g *network) posterior(m layers.Map, weights *graph.Weights, v *view) (string, error) {
	weights = weights.As(tensor.Float64)
	given := map[*tensor.Dense]string{}
	take := func(b *graph.Builder, name, value string, t *tensor.Dense) *gorgonia.Node {
		given[t] = value
		return b.Take("view/"+name, t)
	}
	var missing error
	out, err := g.describe(weights, given, func(b *graph.Builder) *gorgonia.Node {
		in := layers.Batch{LogProbs: take(b, "log_probs", v.logProbs, graph.Matrix(tensor.Float64, v.probe.LogProbs))}
		if v.codes != "" {
			s := v.sizes
			in.Codes = take(b, "codes", v.codes, graph.Codes(v.probe.Codes, s.Slots))
			mass := graph.Tensor(tensor.Float64, make([]float64, probe*s.Codewords), probe, s.Codewords)
			in.Mass = take(b, "mass", g.sum(g.hits(v.codes, s.Codewords), 1, 0), mass)
		}
		for name, x := range v.probe.Inputs {
			value, ok := v.inputs[name]
			if !ok {
				missing = fmt.Errorf("export: the input %q of a map has no row in bases.go", name)
				return nil
			}
			in = in.With(name, take(b, name, value, graph.Matrix(tensor.Float64, x)))
		}
		for name, x := range v.probe.Tables {
			in = in.With(name, b.Table("view/"+name, graph.Matrix(tensor.Float64, x)))
		}
		return m.LogProbs(b, in)
	})
	if missing != nil {
		return "", missing
	}
	if err != nil {
		return "", err
	}
	return g.logSoftmax(out), nil // in float64, as calibra apply normalizes once more
}
