package layers

import (
	"math"

	"calibra/data"
	"calibra/graph/onnx"

	"gonum.org/v1/gonum/mat"
)

// Succession is Laplace's rule of succession for log-probabilities of C classes (N×C) that were learned from so many
// rows: it adds to the rows one of unknown class, in place,
//
//	p ← (rows p + 1/C)/(rows + 1)
//
// since the rows cannot show that a class is rarer than that. A class that cannot be (−∞) stays so.
func Succession(logProbs *mat.Dense, rows int) *mat.Dense {
	if logProbs == nil {
		return nil
	}
	keep, floor := succession(rows, logProbs.RawMatrix().Cols)
	masked := false
	logProbs.Apply(func(_, _ int, l float64) float64 {
		if data.Masked(l) {
			masked = true
			return l
		}
		return math.Log(keep*math.Exp(l) + floor)
	}, logProbs)
	if masked {
		return Renormalize(logProbs) // 1/C of fewer classes
	}
	return logProbs
}

// SuccessionONNX is the logarithm of what [Succession] makes of probabilities p, "" without a network.
func SuccessionONNX(g *onnx.Network, p onnx.Value, rows, classes int) onnx.Value {
	if g == nil {
		return ""
	}
	keep, floor := succession(rows, classes)
	return g.Log(g.Add(g.Mul(p, g.Scalar(keep)), g.Scalar(floor)))
}

// succession is rows/(rows + 1) and 1/((rows + 1) C).
func succession(rows, classes int) (keep, floor float64) {
	return float64(rows) / float64(rows+1), 1 / float64((rows+1)*classes)
}
