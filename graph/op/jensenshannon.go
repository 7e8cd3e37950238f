package op

import "math"

// JensenShannon is the distance of two probability matrices P and Q (B×C) by which
// Local Nets pull the classifier to its neighbourhood: every entry is one Bernoulli
// variable, and
//
//	mean over entries of √max(½[kl(p, m) + kl(q, m)], ε) ,  m = (p + q)/2
//	kl(p, m) = p ln(p/m) + (1−p) ln((1−p)/(1−m))
//
// with p, q and m clamped to [ε, 1 − ε] and ε = 1e-4. What is clamped or floored has
// no gradient.
func JensenShannon() Op { return Op{JensenShannonOp{}} }

const jensenShannonFloor = 1e-4

// JensenShannonOp is the op of [JensenShannon].
type JensenShannonOp struct{}

func (JensenShannonOp) Form() string { return "B C, B C -> ()" }
func (o JensenShannonOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, jensenShannon, jensenShannon)
}

func jensenShannon[F Float](_ JensenShannonOp, v Args[F]) {
	p, q := v.In(0), v.In(1)
	var sum float64
	for i := range p {
		_, _, js := bernoulliDivergence(float64(p[i]), float64(q[i]))
		sum += math.Sqrt(max(js, jensenShannonFloor))
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

func (JensenShannonOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	by := Op{JensenShannonGradOp{}}
	return Nodes{by.Of(in[0], in[1], g), by.Of(in[1], in[0], g)}, nil
}

// JensenShannonGradOp is the gradient by the first of two matrices. As m is the mean,
// its own part cancels and ∂js/∂p = ½[ln(p/m) − ln((1−p)/(1−m))].
type JensenShannonGradOp struct{}

func (JensenShannonGradOp) Form() string { return "B C, B C, () -> B C" }
func (o JensenShannonGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, jensenShannonGradients, jensenShannonGradients)
}

func jensenShannonGradients[F Float](_ JensenShannonGradOp, v Args[F]) {
	out, p, q := v.Out(), v.In(0), v.In(1)
	g := float64(v.In(2)[0]) / float64(len(p))
	for i, y := range p {
		x, m, js := bernoulliDivergence(float64(y), float64(q[i]))
		if x != float64(y) || js <= jensenShannonFloor {
			out[i] = 0
			continue
		}
		out[i] = F(g * (math.Log(x/m) - math.Log((1-x)/(1-m))) / (4 * math.Sqrt(js)))
	}
}
