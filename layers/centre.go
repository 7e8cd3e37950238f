package layers

import (
	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"

	"gonum.org/v1/gonum/mat"
)

// centreName is the exact state that holds the centre of the features (M): the mean of each column
// over the calibration rows, with their weights, in float64. Codes, codewords and head see features
// less the centre, z − c, subtracted in float64 and then rounded to float32. In single precision
// features that lie 10⁴ standard deviations from 0 would have three digits left, of their squares none.
//
// A scale needs no such rule: float32 keeps seven digits of numbers of any size, and the nearest
// codeword is found by differences in float64 wherever products of float32 cannot tell, so a slot
// whose standard deviation is 1e-6 is coded as well among its like as one of 1.
//
// Models from before have no centre; theirs is 0.
const centreName = "codebook/centre"

// LessCentre is x (N×M) less the centre among w.
func LessCentre(x mat.Matrix, w *graph.Weights) mat.Matrix {
	if !w.Has(centreName) {
		return x
	}
	return Less(x, w.Float64s(centreName))
}

// Less is x (N×M) less a centre (M), in float64.
func Less(x mat.Matrix, centre []float64) mat.Matrix { return &lessCentre{x, centre} }

// lessCentre are the rows of x less a centre.
type lessCentre struct {
	x      mat.Matrix
	centre []float64
}

var (
	_ data.Rows = (*lessCentre)(nil)
	_ Derived   = (*lessCentre)(nil)
)

// From is x and the centre.
func (c *lessCentre) From() (x mat.Matrix, by [][]float64) { return c.x, [][]float64{c.centre} }

func (c *lessCentre) Dims() (n, m int) { return c.x.Dims() }

// At is the number at row i, column j.
func (c *lessCentre) At(i, j int) float64 { return c.x.At(i, j) - c.centre[j] }

func (c *lessCentre) T() mat.Matrix { return mat.Transpose{Matrix: c} }

// Row writes row i to dst.
func (c *lessCentre) Row(dst []float64, i int) {
	for j, v := range data.Row(c.x, i, dst) {
		dst[j] = v - c.centre[j]
	}
}

// lessCentreONNX is the features of all rows less the centre among w, rounded as [NewFeatures] does.
func lessCentreONNX(g *onnx.Network, w *graph.Weights, m int) onnx.Value {
	z := g.Features(m)
	if w.Has(centreName) {
		z = g.Sub(z, onnx.Table(g, w.Float64s(centreName), 1, m))
		z = g.Cast(g.Cast(z, onnx.Single), onnx.Double)
	}
	return z
}
