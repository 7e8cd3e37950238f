package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Tokens turns each number of a row into a vector (Gorishniy et al. 2021, feature
// tokenizer): of X (B×F) and W (F×d) the B×(F·d) matrix
//
//	t_bf = x_bf w_f
func Tokens() Op { return Op{tokens{}} }

type tokens struct{}

func (tokens) signature() []kind { return []kind{matrix, matrix, matrix} }

func (tokens) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], in[1][0] * in[1][1]}, nil
}

func (tokens) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		tokenize(values[float32](out), values[float32](in[0]), values[float32](in[1]), columns(in[1]))
	} else {
		tokenize(values[float64](out), values[float64](in[0]), values[float64](in[1]), columns(in[1]))
	}
}

func tokenize[F float](out, x, w []F, d int) {
	features := len(w) / d
	rowwise(len(x)/features, func(lo, hi int) {
		for i := lo * features; i < hi*features; i++ {
			f := i % features
			scaleTo(out[i*d:(i+1)*d], w[f*d:(f+1)*d], x[i])
		}
	})
}

func (tokens) wrt() []bool { return []bool{true, true} }

func (tokens) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	return gorgonia.Nodes{c.apply(Op{tokenInputs{}}, in[1], g), c.apply(Op{tokenWeights{}}, in[0], g)}, c.err
}

// tokenInputs is Σ_k w_fk g_bfk: ∂L/∂x, from W and G.
type tokenInputs struct{}

func (tokenInputs) signature() []kind { return []kind{matrix, matrix, matrix} }

func (tokenInputs) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[1][0], in[0][0]}, nil
}

func (tokenInputs) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		tokenSlopes(values[float32](out), values[float32](in[0]), values[float32](in[1]), columns(in[0]))
	} else {
		tokenSlopes(values[float64](out), values[float64](in[0]), values[float64](in[1]), columns(in[0]))
	}
}

func tokenSlopes[F float](dx, w, g []F, d int) {
	features := len(w) / d
	for i := range dx {
		f := i % features
		dx[i] = centredProduct(w[f*d:(f+1)*d], 0, g[i*d:(i+1)*d])
	}
}

// tokenWeights is Σ_b x_bf g_bf: ∂L/∂w_f, from X and G.
type tokenWeights struct{}

func (tokenWeights) signature() []kind { return []kind{matrix, matrix, matrix} }

func (tokenWeights) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][1], in[1][1] / in[0][1]}, nil
}

func (tokenWeights) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		sumTokens(values[float32](out), values[float32](in[0]), values[float32](in[1]), columns(out))
	} else {
		sumTokens(values[float64](out), values[float64](in[0]), values[float64](in[1]), columns(out))
	}
}

func sumTokens[F float](dw, x, g []F, d int) {
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
