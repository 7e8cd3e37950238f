package op

import (
	"math"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

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

func (JensenShannonOp) Signature() []Kind { return []Kind{Matrix, Matrix, Scalar} }

func (JensenShannonOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if _, err := SameShape(in); err != nil {
		return nil, err
	}
	return tensor.ScalarShape(), nil
}

func (JensenShannonOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		Values[float32](out)[0] = float32(meanDistance(Values[float32](in[0]), Values[float32](in[1])))
	} else {
		Values[float64](out)[0] = meanDistance(Values[float64](in[0]), Values[float64](in[1]))
	}
}

func meanDistance[F Float](p, q []F) float64 {
	var sum float64
	for i := range p {
		_, _, js := bernoulliDivergence(float64(p[i]), float64(q[i]))
		sum += math.Sqrt(max(js, jensenShannonFloor))
	}
	return sum / float64(len(p))
}

// bernoulliDivergence is the clamped p and m and their divergence.
func bernoulliDivergence(p, q float64) (clamped, m, js float64) {
	const lo, hi = jensenShannonFloor, 1 - jensenShannonFloor
	p, q = min(max(p, lo), hi), min(max(q, lo), hi)
	m = (p + q) / 2 // lies within the clamp, as p and q do
	return p, m, (bernoulliKL(p, m) + bernoulliKL(q, m)) / 2
}

func bernoulliKL(p, m float64) float64 {
	return p*math.Log(p/m) + (1-p)*math.Log((1-p)/(1-m))
}

func (JensenShannonOp) WRT() []bool { return []bool{true, true} }

func (JensenShannonOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dp := c.Apply(Op{JensenShannonGradOp{}}, in[0], in[1], g)
	dq := c.Apply(Op{JensenShannonGradOp{}}, in[1], in[0], g)
	return gorgonia.Nodes{dp, dq}, c.Err
}

// JensenShannonGradOp is the gradient by the first of two matrices. As m is the mean,
// its own part cancels and ∂js/∂p = ½[ln(p/m) − ln((1−p)/(1−m))].
type JensenShannonGradOp struct{}

func (JensenShannonGradOp) Signature() []Kind { return []Kind{Matrix, Matrix, Scalar, Matrix} }

func (JensenShannonGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in[:2]) }

func (JensenShannonGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		distanceSlopes(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), float64(Values[float32](in[2])[0]))
	} else {
		distanceSlopes(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), Values[float64](in[2])[0])
	}
}

func distanceSlopes[F Float](out, p, q []F, g float64) {
	g /= float64(len(p))
	for i, v := range p {
		x, m, js := bernoulliDivergence(float64(v), float64(q[i]))
		if x != float64(v) || js <= jensenShannonFloor {
			out[i] = 0
			continue
		}
		out[i] = F(g * (math.Log(x/m) - math.Log((1-x)/(1-m))) / (4 * math.Sqrt(js)))
	}
}
