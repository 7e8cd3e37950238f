package op

import "math"

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

func (NLLOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{Op{NLLGradOp{}}.Of(in[0], in[1], g), nil} }

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

func (CrossEntropyOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{Op{CrossEntropyGradOp{}}.Of(in[1], g), nil}
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

// JensenShannon is the distance of two probability matrices P and Q (B×C), of rows with weights v (B), by which
// Local Nets pull the classifier to its neighbourhood: every entry is one Bernoulli
// variable, and
//
//	mean over entries of v √max(½[kl(p, m) + kl(q, m)], ε) ,  m = (p + q)/2
//	kl(p, m) = p ln(p/m) + (1−p) ln((1−p)/(1−m))
//
// with p, q and m clamped to [ε, 1 − ε] and ε = 1e-4. What is clamped or floored has
// no gradient, nor have the weights.
func JensenShannon() Op { return Op{JensenShannonOp{}} }

const jensenShannonFloor = 1e-4

// JensenShannonOp is the op of [JensenShannon].
type JensenShannonOp struct{}

func (JensenShannonOp) Form() string { return "B C, B C, B -> ()" }
func (o JensenShannonOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, jensenShannon, jensenShannon)
}

func jensenShannon[F Float](_ JensenShannonOp, v Args[F]) {
	p, q, weights, c := v.In(0), v.In(1), v.In(2), v.Columns(0)
	var sum float64
	for i := range p {
		_, _, js := bernoulliDivergence(float64(p[i]), float64(q[i]))
		sum += math.Sqrt(max(js, jensenShannonFloor)) * float64(weights[i/c])
	}
	v.Out()[0] = F(sum / float64(len(p)))
}

// bernoulliDivergence is the clamped p and m and their divergence.
func bernoulliDivergence(p, q float64) (clamped, m, js float64) {
	const lo, hi = jensenShannonFloor, 1 - jensenShannonFloor
	p, q = min(max(p, lo), hi), min(max(q, lo), hi)
	m = (p + q) / 2 // lies within the clamp, as p and q do
	return p, m, (bernoulliKL(p, m) + bernoulliKL(q, m)) / 2
}

func bernoulliKL(p, m float64) float64 { return p*math.Log(p/m) + (1-p)*math.Log((1-p)/(1-m)) }

func (JensenShannonOp) WRT() []bool { return []bool{true, true, false} }

func (JensenShannonOp) Grad(in Nodes, _, g *Node) Nodes {
	by := Op{JensenShannonGradOp{}}
	return Nodes{by.Of(in[0], in[1], in[2], g), by.Of(in[1], in[0], in[2], g), nil}
}

// JensenShannonGradOp is the gradient by the first of two matrices. As m is the mean,
// its own part cancels and ∂js/∂p = ½[ln(p/m) − ln((1−p)/(1−m))].
type JensenShannonGradOp struct{}

func (JensenShannonGradOp) Form() string { return "B C, B C, B, () -> B C" }
func (o JensenShannonGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, jensenShannonGradients, jensenShannonGradients)
}

func jensenShannonGradients[F Float](_ JensenShannonGradOp, v Args[F]) {
	out, p, q, weights, c := v.Out(), v.In(0), v.In(1), v.In(2), v.Columns(0)
	for i, y := range p {
		g := float64(v.In(3)[0]) / float64(len(p)) * float64(weights[i/c])
		out[i] = F(rootDivergenceSlope(g, float64(y), float64(q[i])))
	}
}

// rootDivergenceSlope is g ∂√js/∂p, 0 where p is clamped or js floored.
func rootDivergenceSlope(g, p, q float64) float64 {
	x, m, js := bernoulliDivergence(p, q)
	if x != p || js <= jensenShannonFloor {
		return 0
	}
	return g * (math.Log(x/m) - math.Log((1-x)/(1-m))) / (4 * math.Sqrt(js))
}
