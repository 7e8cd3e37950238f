package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// NLL is the mean negative log-likelihood −(1/B) Σ_b log p_b[y_b], in nats, of
// log-probabilities (B×C) and labels y (B).
func NLL() Op { return Op{nll{}} }

// WeightedNLL is −Σ_b ω_b log p_b[y_b] for weights ω (B), which the caller
// normalizes.
func WeightedNLL() Op { return Op{weightedNLL{}} }

type nll struct{}

func (nll) signature() []kind { return []kind{matrix, indices, scalar} }

func (nll) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.ScalarShape(), nil
}

func (nll) run(out gorgonia.Value, in []gorgonia.Value) {
	y, c := values[int32](in[1]), columns(in[0])
	if isFloat32(out) {
		values[float32](out)[0] = float32(meanNLL(values[float32](in[0]), y, c))
	} else {
		values[float64](out)[0] = meanNLL(values[float64](in[0]), y, c)
	}
}

func meanNLL[F float](logp []F, y []int32, c int) float64 {
	var sum float64
	for b, label := range y {
		sum -= float64(logp[b*c+int(label)])
	}
	return sum / float64(len(y))
}

func (nll) wrt() []bool { return []bool{true, false} }

func (nll) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{nllGrad{}}, in[0], in[1], g), nil}, c.err
}

// nllGrad is −g/B at each row's label and 0 elsewhere; log p gives the shape only.
type nllGrad struct{}

func (nllGrad) signature() []kind { return []kind{matrix, indices, scalar, matrix} }

func (nllGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (nllGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	y := values[int32](in[1])
	if isFloat32(out) {
		markLabels(values[float32](out), y, -values[float32](in[2])[0]/float32(len(y)))
	} else {
		markLabels(values[float64](out), y, -values[float64](in[2])[0]/float64(len(y)))
	}
}

func markLabels[F float](out []F, y []int32, v F) {
	clear(out)
	c := len(out) / len(y)
	for b, label := range y {
		out[b*c+int(label)] = v
	}
}

type weightedNLL struct{}

func (weightedNLL) signature() []kind { return []kind{matrix, indices, vector, scalar} }

func (weightedNLL) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] || in[0][0] != in[2][0] {
		return nil, errShapes
	}
	return tensor.ScalarShape(), nil
}

func (weightedNLL) run(out gorgonia.Value, in []gorgonia.Value) {
	y, c := values[int32](in[1]), columns(in[0])
	if isFloat32(out) {
		values[float32](out)[0] = float32(sumNLL(values[float32](in[0]), y, values[float32](in[2]), c))
	} else {
		values[float64](out)[0] = sumNLL(values[float64](in[0]), y, values[float64](in[2]), c)
	}
}

func sumNLL[F float](logp []F, y []int32, weight []F, c int) float64 {
	var sum float64
	for b, label := range y {
		sum -= float64(weight[b]) * float64(logp[b*c+int(label)])
	}
	return sum
}

func (weightedNLL) wrt() []bool { return []bool{true, false, false} }

func (weightedNLL) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{weightedNLLGrad{}}, in[0], in[1], in[2], g), nil, nil}, c.err
}

// weightedNLLGrad is −g ω_b at each row's label and 0 elsewhere.
type weightedNLLGrad struct{}

func (weightedNLLGrad) signature() []kind { return []kind{matrix, indices, vector, scalar, matrix} }

func (weightedNLLGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (weightedNLLGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	y := values[int32](in[1])
	if isFloat32(out) {
		weighLabels(values[float32](out), y, values[float32](in[2]), -values[float32](in[3])[0])
	} else {
		weighLabels(values[float64](out), y, values[float64](in[2]), -values[float64](in[3])[0])
	}
}

func weighLabels[F float](out []F, y []int32, weight []F, v F) {
	clear(out)
	c := len(out) / len(y)
	for b, label := range y {
		out[b*c+int(label)] = v * weight[b]
	}
}
