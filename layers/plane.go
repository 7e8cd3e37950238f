package layers

import (
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Plane is a slice through the Voronoi cells of codewords: a plane in the space of slots. A place (a, b) of it belongs
// to the codeword k of the least (a − Codewords_k1)² + (b − Codewords_k2)² + Off_k.
type Plane struct {
	Slots     *mat.Dense // n×2, slots of the rows, projected
	Codewords *mat.Dense // K×2, projected
	Off       []float64  // K, squared distances of the codewords from the plane
	Usage     []int      // K, how many of the slots each codeword has
	// Features reports whether the plane is the two features of a slot, less their centre; else it is spanned by the
	// first two principal directions of the slots, through their mean.
	Features bool
}

// Plane is the plane of the slots of features x (N×M) that are quantized. It is nil of slots of one feature or of very
// many, and where a slot has another codeword than the nearest, or several.
func (q *Quantized) Plane(x mat.Matrix) *Plane {
	const widest = 1 << 10
	n, d := len(q.Codes), q.Width
	if q.CodesOf != 1 || q.Shares != nil || d < 2 || d > widest || n < 2 {
		return nil
	}
	slots := mat.NewDense(n, d, data.Dense(Less(x, q.Centre)).RawMatrix().Data)
	words := mat.NewDense(len(q.Codewords)/d, d, slices.Clone(q.Codewords))
	far := func(a, b []float64) float64 { return floats.Distance(a, b, 2) }
	p := &Plane{Usage: q.Usage(), Features: d == 2}
	for i, code := range q.Codes {
		slot, own := slots.RawRowView(i), words.RawRowView(int(code))
		for k := range p.Usage {
			if far(slot, words.RawRowView(k)) < far(slot, own)*(1-1e-5) { // float32 rounds
				return nil
			}
		}
	}
	axes := mat.NewDense(d, 2, nil)
	axes.Set(0, 0, 1)
	axes.Set(1, 1, 1)
	middle := make([]float64, d)
	if !p.Features {
		if middle, axes = principal(slots); axes == nil {
			return nil
		}
	}
	onPlane := func(rows *mat.Dense) *mat.Dense {
		out := &mat.Dense{}
		out.Mul(Less(rows, middle), axes)
		return out
	}
	p.Slots, p.Codewords = onPlane(slots), onPlane(words)
	for k := range p.Usage {
		whole := far(words.RawRowView(k), middle)
		p.Off = append(p.Off, max(0, whole*whole-floats.Dot(p.Codewords.RawRowView(k), p.Codewords.RawRowView(k))))
	}
	return p
}

// principal is the mean of rows (n×d) and the two directions (d×2) in which they vary most, nil where these cannot be
// computed. The largest number of a direction is positive.
func principal(rows *mat.Dense) (mean []float64, axes *mat.Dense) {
	n, d := rows.Dims()
	mean = make([]float64, d)
	for i := range n {
		floats.AddScaled(mean, 1/float64(n), rows.RawRowView(i))
	}
	left := mat.DenseCopyOf(Less(rows, mean))
	scatter := mat.NewSymDense(d, nil)
	scatter.SymOuterK(1, left.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(scatter, true) {
		return mean, nil
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors) // ascending
	axes = mat.NewDense(d, 2, nil)
	for k := range 2 {
		v := mat.Col(nil, d-1-k, &vectors)
		if -floats.Min(v) > floats.Max(v) {
			floats.Scale(-1, v)
		}
		axes.SetCol(k, v)
	}
	return mean, axes
}
