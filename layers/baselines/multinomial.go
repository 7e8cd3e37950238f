package baselines

import (
	"math"

	"calibra/data"
	"calibra/graph/blas"
	"calibra/graph/work"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// multinomial is the mean loss of a linear map of rows with its curvature, in closed form, as
// a function of W (C×C) and b (C) laid end to end:
//
//	f  = −1/N Σ_n log p_n,y(n) ,  p_n = softmax(x_n W + b)
//	∇f = Xᵀ(P−Y)/N ,  ∇²f·V = XᵀT/N ,  T_n = p_n∘(U_n − ⟨p_n, U_n⟩) ,  U = XV
//
// Of rows with weights each row has its weight in place of 1 in these sums and N is their total, of
// soft labels Y is their shares.
type multinomial struct {
	x     *mat.Dense          // X, N×C
	aims  *data.Set           // labels and weights
	gone  func(n, k int) bool // whether a class cannot be, whose p_nk is 0; nil: all can
	total float64             // as how many rows they count

	p, u *mat.Dense // P where the gradient was taken last, and what products need, N×C each
}

func newMultinomial(x *mat.Dense, aims *data.Set) *multinomial {
	n, c := x.Dims()
	return &multinomial{x: x, aims: aims, gone: masked(aims), total: aims.Total(), p: mat.NewDense(n, c, nil), u: mat.NewDense(n, c, nil)}
}

// parts are the W (C×C) and b (C) of a vector, over its own memory.
func (f *multinomial) parts(v []float64) (*mat.Dense, []float64) {
	c := f.x.RawMatrix().Cols
	return mat.NewDense(c, c, v[:c*c]), v[c*c:]
}

// scores is XW + b, N×C.
func (f *multinomial) scores(out *mat.Dense, v []float64) {
	w, b := f.parts(v)
	product(out, f.x, w, gonum.NoTrans)
	f.each(func(n int) { floats.Add(out.RawRowView(n), b) })
}

// each calls do for each row, on all cores.
func (f *multinomial) each(do func(n int)) { work.Each(f.aims.Len(), rowsAtOnce, do) }

const rowsAtOnce = 256

// gradient is f and ∇f.
func (f *multinomial) gradient(grad, x []float64) float64 {
	f.scores(f.p, x)
	losses := make([]float64, f.aims.Len())
	f.each(func(n int) {
		row, g, share := f.p.RawRowView(n), f.u.RawRowView(n), f.share(n)
		said := 0.0
		for k, q := range f.aims.Shares(n) {
			said += q * row[k]
		}
		if f.gone != nil {
			for k := range row {
				if f.gone(n, k) {
					row[k] = math.Inf(-1)
				}
			}
		}
		largest, sum := floats.Max(row), 0.0
		for k, s := range row {
			row[k] = math.Exp(s - largest)
			sum += row[k]
		}
		losses[n] = f.aims.Weight(n) * (math.Log(sum) + largest - said)
		for k := range row {
			row[k] /= sum
			g[k] = share * row[k]
		}
		for k, q := range f.aims.Shares(n) {
			g[k] -= share * q
		}
	})
	f.back(grad, f.u)
	return 1 / f.total * floats.Sum(losses)
}

// share is w_n over the total of all rows.
func (f *multinomial) share(n int) float64 { return f.aims.Weight(n) / f.total }

// product is ∇²f·v.
func (f *multinomial) product(dst, v []float64) {
	f.scores(f.u, v)
	f.each(func(n int) {
		p, u, share := f.p.RawRowView(n), f.u.RawRowView(n), f.share(n)
		mean := floats.Dot(p, u)
		for k := range u {
			u[k] = share * p[k] * (u[k] - mean)
		}
	})
	f.back(dst, f.u)
}

// back writes XᵀG and the sums of G's columns to the parts of dst.
func (f *multinomial) back(dst []float64, g *mat.Dense) {
	w, b := f.parts(dst)
	product(w, f.x, g, gonum.Trans)
	clear(b)
	for n := range f.aims.Len() {
		floats.Add(b, g.RawRowView(n))
	}
}

// diagonal writes the diagonal of ∇²f: of W_kj it is 1/N Σ_n p_nj(1−p_nj) x_nk², of b_j the
// same without x.
func (f *multinomial) diagonal(dst []float64) {
	f.each(func(n int) {
		u, share := f.u.RawRowView(n), f.share(n)
		for j, p := range f.p.RawRowView(n) {
			u[j] = share * p * (1 - p)
		}
	})
	w, b := f.parts(dst)
	w.Zero()
	clear(b)
	squares := mat.NewDense(min(rowsAtOnce, f.aims.Len()), len(b), nil)
	for lo := 0; lo < f.aims.Len(); lo += rowsAtOnce {
		hi := min(lo+rowsAtOnce, f.aims.Len())
		for n := lo; n < hi; n++ {
			x := f.x.RawRowView(n)
			floats.MulTo(squares.RawRowView(n-lo), x, x)
			floats.Add(b, f.u.RawRowView(n))
		}
		addProduct(w, squares.Slice(0, hi-lo, 0, len(b)).(*mat.Dense), f.u.Slice(lo, hi, 0, len(b)).(*mat.Dense), gonum.Trans, 1)
	}
}

// product is out = XY or XᵀY, by the BLAS of package blas.
func product(out, x, y *mat.Dense, t gonum.Transpose) { addProduct(out, x, y, t, 0) }

// addProduct is out ← XY + beta·out, or with Xᵀ.
func addProduct(out, x, y *mat.Dense, t gonum.Transpose, beta float64) {
	a, b := x.RawMatrix(), y.RawMatrix()
	m, k := a.Rows, a.Cols
	if t == gonum.Trans {
		m, k = k, m
	}
	if out.IsEmpty() {
		out.ReuseAs(m, b.Cols)
	}
	c := out.RawMatrix()
	blas.Current().Dgemm(t, gonum.NoTrans, m, b.Cols, k, 1, a.Data, a.Stride, b.Data, b.Stride, beta, c.Data, c.Stride)
}
