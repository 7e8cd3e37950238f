package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Tokens turns each number of a row into a vector (Gorishniy et al. 2021, feature
// tokenizer): of X (B×F) and W (F×d) the B×(F·d) matrix
//
//	t_bf = x_bf w_f
func Tokens() Op { return Op{TokensOp{}} }

// TokensOp is the op of [Tokens].
type TokensOp struct{}

func (TokensOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (TokensOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[1][0] * in[1][1]}, nil
}

func (TokensOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		tokenize(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), columns(in[1]))
	} else {
		tokenize(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), columns(in[1]))
	}
}

func tokenize[F Float](out, x, w []F, d int) {
	features := len(w) / d
	rowwise(len(x)/features, func(lo, hi int) {
		for i := lo * features; i < hi*features; i++ {
			f := i % features
			scaleTo(out[i*d:(i+1)*d], w[f*d:(f+1)*d], x[i])
		}
	})
}

func (TokensOp) WRT() []bool { return []bool{true, true} }

func (TokensOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{TokenInputsOp{}}, in[1], g), c.Apply(Op{TokenWeightsOp{}}, in[0], g)}, c.Err
}

// TokenInputsOp is Σ_k w_fk g_bfk: ∂L/∂x, from W and G.
type TokenInputsOp struct{}

func (TokenInputsOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (TokenInputsOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[1][0], in[0][0]}, nil
}

func (TokenInputsOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		tokenSlopes(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), columns(in[0]))
	} else {
		tokenSlopes(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), columns(in[0]))
	}
}

func tokenSlopes[F Float](dx, w, g []F, d int) {
	features := len(w) / d
	for i := range dx {
		f := i % features
		dx[i] = centredProduct(w[f*d:(f+1)*d], 0, g[i*d:(i+1)*d])
	}
}

// TokenWeightsOp is Σ_b x_bf g_bf: ∂L/∂w_f, from X and G.
type TokenWeightsOp struct{}

func (TokenWeightsOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (TokenWeightsOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1], in[1][1] / in[0][1]}, nil
}

func (TokenWeightsOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		sumTokens(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), columns(out))
	} else {
		sumTokens(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), columns(out))
	}
}

func sumTokens[F Float](dw, x, g []F, d int) {
	clear(dw)
	features := len(dw) / d
	for i, v := range x {
		f := i % features
		row := dw[f*d : (f+1)*d]
		for k, y := range g[i*d : (i+1)*d] {
			row[k] += v * y
		}
	}
}
