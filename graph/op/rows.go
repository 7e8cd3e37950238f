package op

import "slices"

// ByRow reports of each input whether the op needs only the rows of it that it computes, as its Form says. It is nil
// where the op needs all rows of every input.
func (o Op) ByRow() []bool {
	k, ok := o.Kernel.(Formed)
	if !ok {
		return nil
	}
	f := parse(k.Form())
	if f.by == "" {
		return nil
	}
	cut := make([]bool, len(f.axes)-1)
	for i := range cut {
		cut[i] = slices.Index(f.axes[i], f.by) == 0
	}
	return cut
}

// Rows is some rows of a value, as an input of an op or its output.
type Rows struct {
	Value  // all rows; another of this shape may take its place
	lo, hi int
	shape  Shape
}

// NewRows is rows lo … hi−1.
func NewRows(v Value, lo, hi int) *Rows {
	shape := v.Shape().Clone()
	shape[0] = hi - lo
	return &Rows{Value: v, lo: lo, hi: hi, shape: shape}
}

// Shape is that of the rows alone.
func (r *Rows) Shape() Shape { return r.shape }

// cut is those rows of the memory of a value.
func cut[T any](x []T, r *Rows) []T {
	width := len(x) / r.Value.Shape()[0]
	return x[r.lo*width : r.hi*width]
}
