package estimate

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// vectorsAtOnce is how many vectors go into one product, which a program may have computed by faster kernels than
// gonum's (blas64.Use); it has none for symmetric products.
const vectorsAtOnce = 256

// Outer adds outer products of vectors to a symmetric matrix, many at a time.
type Outer struct {
	to      *mat.SymDense
	vectors *mat.Dense
	count   int
}

// NewOuter adds to a matrix.
func NewOuter(to *mat.SymDense) *Outer {
	return &Outer{to: to, vectors: mat.NewDense(vectorsAtOnce, to.SymmetricDim(), nil)}
}

// Add adds scale²·v vᵀ.
func (s *Outer) Add(scale float64, v []float64) {
	floats.ScaleTo(s.vectors.RawRowView(s.count), scale, v)
	if s.count++; s.count == vectorsAtOnce {
		s.Flush()
	}
}

// Flush adds what Add was given.
func (s *Outer) Flush() {
	if s.count > 0 {
		dim := s.to.SymmetricDim()
		vectors, raw := s.vectors.Slice(0, s.count, 0, dim).(*mat.Dense).RawMatrix(), s.to.RawSymmetric()
		to := blas64.General{Rows: dim, Cols: dim, Stride: raw.Stride, Data: raw.Data}
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, vectors, vectors, 1, to)
	}
	s.count = 0
}

// Multiplier is a symmetric matrix (P×P) by what it makes of vectors.
type Multiplier interface {
	Dims() (r, c int)
	// Times is x M of vectors, the rows of x (m×P). It holds until the next call.
	Times(x mat.Matrix) *mat.Dense
}

// Full is a matrix whose numbers are known.
type Full struct {
	*mat.Dense
	product mat.Dense
}

// Times is one product.
func (f *Full) Times(x mat.Matrix) *mat.Dense {
	f.product.Reset()
	f.product.Mul(x, f.Dense)
	return &f.product
}

// Forms computes vᵀ M v for vectors v, many at a time, of each block M of a block diagonal matrix.
type Forms struct {
	of      []Multiplier
	vectors *mat.Dense
	forms   *mat.Dense // of each vector, by block
	tags    []int
	visit   func(tag int, v, forms []float64)
}

// NewForms visits each vector with its tag and its forms, one of each block.
func NewForms(visit func(tag int, v, forms []float64), of ...Multiplier) *Forms {
	dim := 0
	for _, m := range of {
		_, columns := m.Dims()
		dim += columns
	}
	vectors, forms := mat.NewDense(vectorsAtOnce, dim, nil), mat.NewDense(vectorsAtOnce, len(of), nil)
	return &Forms{of: of, vectors: vectors, forms: forms, visit: visit}
}

// Next is the space of a vector to be set.
func (f *Forms) Next(tag int) []float64 {
	if len(f.tags) == vectorsAtOnce {
		f.Flush()
	}
	f.tags = append(f.tags, tag)
	return f.vectors.RawRowView(len(f.tags) - 1)
}

// Flush visits the vectors that were not yet.
func (f *Forms) Flush() {
	if len(f.tags) == 0 {
		return
	}
	at := 0
	for block, m := range f.of {
		_, columns := m.Dims()
		end := at + columns
		products := m.Times(f.vectors.Slice(0, len(f.tags), at, end))
		for i := range f.tags {
			f.forms.Set(i, block, floats.Dot(products.RawRowView(i), f.vectors.RawRowView(i)[at:end]))
		}
		at = end
	}
	for i, tag := range f.tags {
		f.visit(tag, f.vectors.RawRowView(i), f.forms.RawRowView(i))
	}
	f.tags = f.tags[:0]
}

// LargestLeverage keeps the correction of a row that a factor hangs on finite.
const LargestLeverage = 0.5

// Meat is the middle of a sandwich covariance (White 1982) of estimators that were fitted one after the other,
//
//	J = Σ_rows n w² s sᵀ + Λ ,  the score of each stage over 1 − h, h = w sᵀ F⁻¹ s ,
//
// of rows that were seen n times with weight w. The leverage h makes up for the rows' pull on the fit that judges them,
// as in MacKinnon & White's HC3 (1985), the jackknife to first order.
type Meat struct {
	J *mat.SymDense

	squares *Outer
	forms   *Forms
	weights []float64
	counts  []float64
}

// Stage is an estimator: F⁻¹, and the λ of Λ = λI.
type Stage struct {
	Bread *mat.Dense
	Ridge float64
}

// NewMeat is that of no rows yet.
func NewMeat(stages ...Stage) *Meat {
	m := &Meat{}
	var breads []Multiplier
	var ridges []float64
	for _, s := range stages {
		breads = append(breads, &Full{Dense: s.Bread})
		for range s.Bread.RawMatrix().Cols {
			ridges = append(ridges, s.Ridge)
		}
	}
	m.J = mat.NewSymDense(len(ridges), nil)
	for i, ridge := range ridges {
		m.J.SetSym(i, i, ridge)
	}
	m.squares = NewOuter(m.J)
	m.forms = NewForms(func(row int, s, leverages []float64) {
		at := 0
		for stage, h := range leverages {
			_, columns := breads[stage].Dims()
			end := at + columns
			floats.Scale(1/(1-math.Min(m.weights[row]*h, LargestLeverage)), s[at:end])
			at = end
		}
		m.squares.Add(math.Sqrt(m.counts[row])*m.weights[row], s)
	}, breads...)
	return m
}

// Add is the space for the scores of a row that was seen so often with such a weight, the stages' one after the other.
func (m *Meat) Add(count, weight float64) []float64 {
	m.counts, m.weights = append(m.counts, count), append(m.weights, weight)
	return m.forms.Next(len(m.counts) - 1)
}

// Flush adds what is left to J.
func (m *Meat) Flush() {
	m.forms.Flush()
	m.squares.Flush()
}
