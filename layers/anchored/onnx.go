package anchored

import (
	"fmt"
	"math"
	"slices"

	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gorgonia.org/gorgonia"
)

// ViewONNX is log softmax(logits/T), the codes, and what maps on an Anchor see besides.
func (a *Anchor) ViewONNX(g *onnx.Network) (*layers.ONNXView, error) {
	if a.weights == nil {
		return nil, layers.ErrUnfitted
	}
	s := a.sizes
	v, _, err := layers.CodesONNX(g, a.book(), a.weights, s, func(*graph.Builder, layers.Assignment) gorgonia.Nodes { return nil })
	if err != nil {
		return nil, err
	}
	t, centre := a.weights.Float64s("anchor/temperature")[0], a.weights.Float64s("anchor/centre")[0]
	scaled := g.Div(g.Sub(g.Logits(s.Classes), g.Scalar(centre)), g.Scalar(t))
	v.LogProbs = g.LogSoftmax(scaled)
	logs := slices.Clone(a.weights.Float64s("anchor/support"))
	for i, n := range logs {
		logs[i] = math.Log1p(n) / float64(s.Total())
	}
	each := g.Gather(onnx.Table(g, logs, len(logs), 1), v.Places(g, s)) // N×p×1
	if v.Shares != "" {
		each = g.Mul(each, g.Reshape(v.Shares, -1, int64(s.Slots*s.CodesOf()), 1))
	}
	v.Inputs = map[string]onnx.Value{supportInput: g.Sum(each, 1, 0), logitsInput: scaled}
	mean, over := a.weights.Float64s("anchor/mean"), a.weights.Float64s("anchor/sd")
	for j, sd := range over {
		over[j] = 1 / sd
	}
	v.Inputs[featuresInput] = g.Mul(g.Sub(g.Features(s.Features), onnx.Table(g, mean, 1, s.Features)), onnx.Table(g, over, 1, s.Features))
	return v, nil
}

// ONNX says the chosen map.
func (a *Auto) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if a.fitted == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	return a.fitted.ONNX(g)
}

// ONNX is the logarithm of (N q + 1/C)/(N + 1) ,  q ∝ (Σ_m w_m p_m)^(1/T).
func (s *Stack) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if s.parts == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	v, err := layers.BaseONNX(g, s.Base)
	if err != nil {
		return onnx.Outputs{}, err
	}
	mixed := ""
	for _, p := range s.parts {
		said, err := v.Posterior(g, s.Base, p.Map, p.weights)
		if err != nil {
			return onnx.Outputs{}, fmt.Errorf("%s: %w", p.Name, err)
		}
		term := g.Mul(g.Exp(said), g.Scalar(p.share))
		if mixed == "" {
			mixed = term
		} else {
			mixed = g.Add(mixed, term)
		}
	}
	n, classes := v.Sizes.Rows(), v.Sizes.Classes
	q := g.Softmax(g.Div(g.Log(mixed), g.Scalar(s.t)))
	keep, floor := float64(n)/float64(n+1), 1/float64((n+1)*classes)
	return v.Outputs(g.Log(g.Add(g.Mul(q, g.Scalar(keep)), g.Scalar(floor)))), nil
}
