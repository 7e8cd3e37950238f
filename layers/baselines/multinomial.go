package baselines

import (
	"math"

	"calibra/data"
	"calibra/graph/blas"
	"calibra/graph/simd"

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

	single *singleProducts // of more than mostBlocks classes, from the first product on
	moved  bool            // since single took P
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
func (f *multinomial) each(do func(n int)) { eachRow(f.aims.Len(), do) }

func eachRow(n int, do func(n int)) {
	inBlocks(n, rowsAtOnce, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			do(i)
		}
	})
}

const rowsAtOnce = 256

// inBlocks calls do for rows lo … hi−1 of n, so many at a time, on all cores.
func inBlocks(n, size int, do func(lo, hi int)) {
	simd.Run((n+size-1)/size, blocksOf(func(i int) { do(i*size, min((i+1)*size, n)) }))
}

// gradient is f and ∇f.
func (f *multinomial) gradient(grad, x []float64) float64 {
	f.scores(f.p, x)
	f.moved = true
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

// product is ∇²f·v, of many classes to single precision.
func (f *multinomial) product(dst, v []float64) {
	if f.x.RawMatrix().Cols > mostBlocks {
		if f.single == nil {
			f.single, f.moved = newSingleProducts(f), true
		}
		if f.moved {
			f.single.renew(f)
			f.moved = false
		}
		f.single.product(f, dst, v)
		return
	}
	f.productInDouble(dst, v)
}

func (f *multinomial) productInDouble(dst, v []float64) {
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

// singleProducts are the products ∇²f·V of a [multinomial] in float32. A step by conjugate
// gradients needs a tenth of its residual's accuracy, and of many classes these products are
// nearly all the work; in float32 they take half the time. Loss and gradient, by which a fit is
// judged to be done, stay in float64.
type singleProducts struct {
	x, p, u []float32 // N×C
	v, out  []float32 // C×C
}

// leastShare is the least probability that counts in float32, far enough from the smallest
// numbers for products of two of them.
const leastShare = 1e-16

func newSingleProducts(f *multinomial) *singleProducts {
	n, c := f.x.Dims()
	s := &singleProducts{x: make([]float32, n*c), p: make([]float32, n*c), u: make([]float32, n*c), v: make([]float32, c*c), out: make([]float32, c*c)}
	f.each(func(n int) { toSingle(s.x[n*c:(n+1)*c], f.x.RawRowView(n)) })
	return s
}

// renew takes P as it is now.
func (s *singleProducts) renew(f *multinomial) {
	c := f.p.RawMatrix().Cols
	f.each(func(n int) {
		to := s.p[n*c : (n+1)*c]
		for k, p := range f.p.RawRowView(n) {
			if to[k] = float32(p); p < leastShare {
				to[k] = 0
			}
		}
	})
}

// product is ∇²f·v.
func (s *singleProducts) product(f *multinomial, dst, v []float64) {
	n, c := f.x.Dims()
	w, b := v[:c*c], v[c*c:]
	toSingle(s.v, w)
	blas.Current().Sgemm(gonum.NoTrans, gonum.NoTrans, n, c, c, 1, s.x, c, s.v, c, 0, s.u, c)
	f.each(func(n int) {
		p, u := s.p[n*c:(n+1)*c], s.u[n*c:(n+1)*c]
		mean := 0.0
		for k := range u {
			u[k] += float32(b[k])
			mean += float64(p[k]) * float64(u[k])
		}
		weight := float32(f.aims.Weight(n))
		for k := range u {
			u[k] = weight * (p[k] * (u[k] - float32(mean)))
		}
	})
	blas.Current().Sgemm(gonum.Trans, gonum.NoTrans, c, c, n, 1, s.x, c, s.u, c, 0, s.out, c)
	share := 1 / f.total
	for i, x := range s.out {
		dst[i] = share * float64(x)
	}
	sums := dst[c*c:]
	clear(sums)
	for at := 0; at < len(s.u); at += c {
		for k, u := range s.u[at : at+c] {
			sums[k] += share * float64(u)
		}
	}
}

func toSingle(to []float32, from []float64) {
	for i, x := range from {
		to[i] = float32(x)
	}
}
