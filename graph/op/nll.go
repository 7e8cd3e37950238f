package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// NLL is the mean negative log-likelihood −(1/B) Σ_b log p_b[y_b], in nats, of
// log-probabilities (B×C) and labels y (B).
func NLL() Op { return Op{NLLOp{}} }

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
