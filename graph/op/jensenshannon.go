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
func JensenShannon() Op { return Op{jensenShannon{}} }

const jensenShannonFloor = 1e-4

type jensenShannon struct{}

func (jensenShannon) signature() []kind { return []kind{matrix, matrix, scalar} }

func (jensenShannon) shape(in []tensor.Shape) (tensor.Shape, error) {
	if _, err := same(in); err != nil {
		return nil, err
	}
	return tensor.ScalarShape(), nil
}

func (jensenShannon) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		values[float32](out)[0] = float32(meanDistance(values[float32](in[0]), values[float32](in[1])))
	} else {
		values[float64](out)[0] = meanDistance(values[float64](in[0]), values[float64](in[1]))
	}
}

func meanDistance[F float](p, q []F) float64 {
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

func (jensenShannon) wrt() []bool { return []bool{true, true} }

func (jensenShannon) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dp := c.apply(Op{jensenShannonGrad{}}, in[0], in[1], g)
	dq := c.apply(Op{jensenShannonGrad{}}, in[1], in[0], g)
	return gorgonia.Nodes{dp, dq}, c.err
}

// jensenShannonGrad is the gradient by the first of two matrices. As m is the mean,
// its own part cancels and ∂js/∂p = ½[ln(p/m) − ln((1−p)/(1−m))].
type jensenShannonGrad struct{}

func (jensenShannonGrad) signature() []kind { return []kind{matrix, matrix, scalar, matrix} }

func (jensenShannonGrad) shape(in []tensor.Shape) (tensor.Shape, error) { return same(in[:2]) }

func (jensenShannonGrad) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		distanceSlopes(values[float32](out), values[float32](in[0]), values[float32](in[1]), float64(values[float32](in[2])[0]))
	} else {
		distanceSlopes(values[float64](out), values[float64](in[0]), values[float64](in[1]), values[float64](in[2])[0])
	}
}

func distanceSlopes[F float](out, p, q []F, g float64) {
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
