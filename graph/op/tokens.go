package op

// Tokens turns each number of a row into a vector (Gorishniy et al. 2021, feature
// tokenizer): of X (B×F) and W (F×d) the B×(F·d) matrix
//
//	t_bf = x_bf w_f
func Tokens() Op { return Op{TokensOp{}} }

// TokensOp is the op of [Tokens].
type TokensOp struct{}

func (TokensOp) Form() string                { return "B F, F d -> B F*d" }
func (o TokensOp) Run(out Value, in []Value) { Dispatch(o, out, in, tokens, tokens) }

func tokens[F Float](_ TokensOp, v Args[F]) {
	out, x, w, features, d := v.Out(), v.In(0), v.In(1), v.Columns(0), v.Columns(1)
	rowwise(len(x)/features, func(lo, hi int) {
		for i := lo * features; i < hi*features; i++ {
			f := i % features
			scaleTo(out[i*d:(i+1)*d], w[f*d:(f+1)*d], x[i])
		}
	})
}

func (TokensOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{TokenInputsOp{}}.Of(in[1], g), Op{TokenWeightsOp{}}.Of(in[0], g)}, nil
}

// TokenInputsOp is Σ_k w_fk g_bfk: ∂L/∂x, from W and G.
type TokenInputsOp struct{}

func (TokenInputsOp) Form() string                { return "F d, B F*d -> B F" }
func (o TokenInputsOp) Run(out Value, in []Value) { Dispatch(o, out, in, tokenInputs, tokenInputs) }

func tokenInputs[F Float](_ TokenInputsOp, v Args[F]) {
	dx, w, g, d, features := v.Out(), v.In(0), v.In(1), v.Columns(0), v.Shape(0)[0]
	for i := range dx {
		f := i % features
		dx[i] = centredProduct(w[f*d:(f+1)*d], 0, g[i*d:(i+1)*d])
	}
}

// TokenWeightsOp is Σ_b x_bf g_bf: ∂L/∂w_f, from X and G.
type TokenWeightsOp struct{}

func (TokenWeightsOp) Form() string                { return "B F, B G -> F G/F" }
func (o TokenWeightsOp) Run(out Value, in []Value) { Dispatch(o, out, in, tokenWeights, tokenWeights) }

func tokenWeights[F Float](_ TokenWeightsOp, v Args[F]) {
	dw, g, features := v.Out(), v.In(1), v.Columns(0)
	clear(dw)
	d := len(dw) / features
	for i, x := range v.In(0) {
		f := i % features
		row := dw[f*d : (f+1)*d]
		for k, y := range g[i*d : (i+1)*d] {
			row[k] += x * y
		}
	}
}
