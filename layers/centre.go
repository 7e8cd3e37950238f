package layers

import (
	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// centreName is the exact state that holds the centre of the features (M, in float64). Codes, codewords
// and head see features less the centre, z − c, subtracted in float64 and rounded to the float type of
// the weights. Single precision leaves three digits of features that lie 10⁴ standard deviations from 0,
// and none of their squares.
//
// All slots have one centre of d numbers, the mean of the calibration slots by the weights of their rows: to move
// all slots and all codewords alike changes no distance, so the codes are the published ones. [ByColumn] and
// [Scaled] take the mean of each column instead, which is another geometry.
const centreName = "codebook/centre"

// ByColumn are codes of features less the mean of each column over the calibration rows. An offset
// of one column then changes no code.
type ByColumn struct{ Codes }

// Twin is by column too.
func (c ByColumn) Twin() Codes { return ByColumn{c.Codes.Twin()} }

func (ByColumn) byColumn() {}

func (c ByColumn) of() Codes { return c.Codes }

// centreOf is the centre (M) of cal's features for codes c, and the float type that resolves the
// features less the centre.
func centreOf(c Codes, cal *data.Set, s Sizes) (centre []float64, dt tensor.Dtype) {
	mean, d := data.FitWeighted(cal.Features, cal.Weights).Mean, s.Features/s.Slots
	if _, by := c.(interface{ byColumn() }); by {
		return mean, tensor.Float32
	}
	centre = make([]float64, len(mean))
	for j, v := range mean {
		centre[j%d] += v / float64(s.Slots)
	}
	for j := range mean {
		centre[j] = centre[j%d]
	}
	return centre, resolving(Less(cal.Features, centre), d)
}

// mostOffset is up to how many of its standard deviations a slot may lie from the centre in single
// precision, which then keeps 16 of its 24 bits for the differences within the slot.
const mostOffset = 1 << 8

// resolving is the float type for features z (N×M) less their centre, in slots of width d: double precision
// where the mean of a slot that varies is longer than mostOffset times the root of its variance.
func resolving(z mat.Matrix, d int) tensor.Dtype {
	n, m := z.Dims()
	first, mean, spread, row := mat.Row(nil, 0, z), make([]float64, m), make([]float64, m), make([]float64, m)
	for i := range n {
		for j, v := range data.Row(z, i, row) {
			mean[j] += (v - first[j]) / float64(n)
			spread[j] += (v - first[j]) * (v - first[j]) / float64(n)
		}
	}
	for at := 0; at < m; at += d {
		var far, varies float64
		for j := at; j < at+d; j++ {
			far += (first[j] + mean[j]) * (first[j] + mean[j])
			varies += max(0, spread[j]-mean[j]*mean[j])
		}
		if varies > 0 && far > mostOffset*mostOffset*varies {
			return tensor.Float64
		}
	}
	return tensor.Float32
}

// LessCentre is x (N×M) less the centre among w.
func LessCentre(x mat.Matrix, w *graph.Weights) mat.Matrix {
	if x == nil {
		return nil
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
	z := g.Sub(g.Features(m), onnx.Table(g, w.Float64s(centreName), 1, m))
	if w.Dtype() == tensor.Float32 {
		z = g.Cast(g.Cast(z, onnx.Single), onnx.Double)
	}
	return z
}
