package op

// CrossEntropy is −(1/B) Σ_b Σ_c t_bc log p_bc, in nats, of log-probabilities and targets (B×C
// each): [NLL] of rows that have weights, or shares of several classes. A target of 0 has no
// part in it, whatever its probability.
func CrossEntropy() Op { return Op{CrossEntropyOp{}} }

// CrossEntropyOp is the op of [CrossEntropy].
type CrossEntropyOp struct{}

func (CrossEntropyOp) Form() string                { return "B C, B C -> ()" }
func (o CrossEntropyOp) Run(out Value, in []Value) { Dispatch(o, out, in, crossEntropy, crossEntropy) }

func crossEntropy[F Float](_ CrossEntropyOp, v Args[F]) {
	logp, sum := v.In(0), 0.0
	for i, t := range v.In(1) {
		if t != 0 {
			sum -= float64(t) * float64(logp[i])
		}
	}
	v.Out()[0] = F(sum / float64(v.Shape(1)[0]))
}

func (CrossEntropyOp) WRT() []bool { return []bool{true, false} }

func (CrossEntropyOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{CrossEntropyGradOp{}}.Of(in[1], g), nil}, nil
}

// CrossEntropyGradOp is −(g/B) t.
type CrossEntropyGradOp struct{}

func (CrossEntropyGradOp) Form() string { return "B C, () -> B C" }
func (o CrossEntropyGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, crossEntropyGradients, crossEntropyGradients)
}

func crossEntropyGradients[F Float](_ CrossEntropyGradOp, v Args[F]) {
	scaleTo(v.Out(), v.In(0), -v.In(1)[0]/F(v.Shape(0)[0]))
}
