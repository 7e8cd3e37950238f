package op

// NLL is the mean negative log-likelihood −(1/B) Σ_b log p_b[y_b], in nats, of
// log-probabilities (B×C) and labels y (B).
func NLL() Op { return Op{NLLOp{}} }

// NLLOp is the op of [NLL].
type NLLOp struct{}

func (NLLOp) Form() string                { return "B C, int B -> ()" }
func (o NLLOp) Run(out Value, in []Value) { Dispatch(o, out, in, nll, nll) }

func nll[F Float](_ NLLOp, v Args[F]) {
	logp, y, c := v.In(0), v.Ints(1), v.Columns(0)
	var sum float64
	for b, label := range y {
		sum -= float64(logp[b*c+int(label)])
	}
	v.Out()[0] = F(sum / float64(len(y)))
}

func (NLLOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{NLLGradOp{}}.Of(in[0], in[1], g), nil}, nil
}

// NLLGradOp is −g/B at each row's label and 0 elsewhere; log p gives the shape only.
type NLLGradOp struct{}

func (NLLGradOp) Form() string                { return "B C, int B, () -> B C" }
func (o NLLGradOp) Run(out Value, in []Value) { Dispatch(o, out, in, nllGradients, nllGradients) }

func nllGradients[F Float](_ NLLGradOp, v Args[F]) {
	out, y, c := v.Out(), v.Ints(1), v.Columns(0)
	gradient := -v.In(2)[0] / F(len(y))
	clear(out)
	for b, label := range y {
		out[b*c+int(label)] = gradient
	}
}
