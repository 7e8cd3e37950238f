package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// NLL is the mean negative log-likelihood −(1/B) Σ_b log p_b[y_b], in nats, of
// log-probabilities (B×C) and labels y (B).
func NLL() Op { return Op{NLLOp{}} }

// WeightedNLL is −Σ_b ω_b log p_b[y_b] for weights ω (B), which the caller
// normalizes.
func WeightedNLL() Op { return Op{WeightedNLLOp{}} }

// NLLOp is the op of [NLL].
type NLLOp struct{}

func (NLLOp) Signature() []Kind { return []Kind{Matrix, Indices, Scalar} }

func (NLLOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.ScalarShape(), nil
}

func (NLLOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	y, c := Values[int32](in[1]), columns(in[0])
	if IsFloat32(out) {
		Values[float32](out)[0] = float32(meanNLL(Values[float32](in[0]), y, c))
	} else {
		Values[float64](out)[0] = meanNLL(Values[float64](in[0]), y, c)
	}
}

func meanNLL[F Float](logp []F, y []int32, c int) float64 {
	var sum float64
	for b, label := range y {
		sum -= float64(logp[b*c+int(label)])
	}
	return sum / float64(len(y))
}

func (NLLOp) WRT() []bool { return []bool{true, false} }

func (NLLOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{NLLGradOp{}}, in[0], in[1], g), nil}, c.Err
}

// NLLGradOp is −g/B at each row's label and 0 elsewhere; log p gives the shape only.
type NLLGradOp struct{}

func (NLLGradOp) Signature() []Kind { return []Kind{Matrix, Indices, Scalar, Matrix} }

func (NLLGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (NLLGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	y := Values[int32](in[1])
	if IsFloat32(out) {
		markLabels(Values[float32](out), y, -Values[float32](in[2])[0]/float32(len(y)))
	} else {
		markLabels(Values[float64](out), y, -Values[float64](in[2])[0]/float64(len(y)))
	}
}

func markLabels[F Float](out []F, y []int32, v F) {
	clear(out)
	c := len(out) / len(y)
	for b, label := range y {
		out[b*c+int(label)] = v
	}
}

// WeightedNLLOp is the op of [WeightedNLL].
type WeightedNLLOp struct{}

func (WeightedNLLOp) Signature() []Kind { return []Kind{Matrix, Indices, Vector, Scalar} }

func (WeightedNLLOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] || in[0][0] != in[2][0] {
		return nil, errShapes
	}
	return tensor.ScalarShape(), nil
}

func (WeightedNLLOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	y, c := Values[int32](in[1]), columns(in[0])
	if IsFloat32(out) {
		Values[float32](out)[0] = float32(sumNLL(Values[float32](in[0]), y, Values[float32](in[2]), c))
	} else {
		Values[float64](out)[0] = sumNLL(Values[float64](in[0]), y, Values[float64](in[2]), c)
	}
}

func sumNLL[F Float](logp []F, y []int32, weight []F, c int) float64 {
	var sum float64
	for b, label := range y {
		sum -= float64(weight[b]) * float64(logp[b*c+int(label)])
	}
	return sum
}

func (WeightedNLLOp) WRT() []bool { return []bool{true, false, false} }

func (WeightedNLLOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{WeightedNLLGradOp{}}, in[0], in[1], in[2], g), nil, nil}, c.Err
}

// WeightedNLLGradOp is −g ω_b at each row's label and 0 elsewhere.
type WeightedNLLGradOp struct{}

func (WeightedNLLGradOp) Signature() []Kind { return []Kind{Matrix, Indices, Vector, Scalar, Matrix} }

func (WeightedNLLGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (WeightedNLLGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	y := Values[int32](in[1])
	if IsFloat32(out) {
		weighLabels(Values[float32](out), y, Values[float32](in[2]), -Values[float32](in[3])[0])
	} else {
		weighLabels(Values[float64](out), y, Values[float64](in[2]), -Values[float64](in[3])[0])
	}
}

func weighLabels[F Float](out []F, y []int32, weight []F, v F) {
	clear(out)
	c := len(out) / len(y)
	for b, label := range y {
		out[b*c+int(label)] = v * weight[b]
	}
}
