package data

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Embedding is the space the kernel of a local metric lives in: the leading
// principal components of standardized features. Fitted on the raw calibration
// features it is the embedding shared by all methods; fitted on a method's own
// features, that method's own.
type Embedding struct {
	Scale     *Standardizer
	Axes      *mat.Dense // M×P, orthonormal columns, largest variance first
	Variances []float64  // P, the variance along each axis (divided by N)
}

// FitEmbedding fits a standardizer to cal, N×M, and the principal components of
// what it makes of cal: P = min(components, N, M) of them. Each axis points where
// its entry of largest magnitude is positive. 0 components mean 50, as published.
func FitEmbedding(cal *mat.Dense, components int) (*Embedding, error) {
	n, m := cal.Dims()
	if components < 0 {
		panic(fmt.Sprintf("data: FitEmbedding: %d components", components))
	}
	if components == 0 {
		components = 50
	}
	e := &Embedding{Scale: FitStandardizer(cal)}
	covariance := gram(e.Scale.Apply(cal))
	covariance.ScaleSym(1/float64(n), covariance)
	axes, variances, err := leadingEigen(covariance, min(components, n, m))
	if err != nil {
		return nil, fmt.Errorf("data: fit embedding: %w", err)
	}
	for j := range variances {
		point(axes, j)
	}
	e.Axes, e.Variances = axes, variances
	return e, nil
}

// Apply is the embedding of x, N×P, standardized as the calibration rows are. It
// panics unless x has the M columns the embedding was fitted on.
func (e *Embedding) Apply(x *mat.Dense) *mat.Dense {
	var out mat.Dense
	out.Mul(e.Scale.Apply(x), e.Axes)
	return &out
}

// Restandardized is e with a standardizer fitted on x instead, N×M, and the axes
// as they were: what the published tables apply to the test rows.
func (e *Embedding) Restandardized(x *mat.Dense) *Embedding {
	return &Embedding{Scale: FitStandardizer(x), Axes: e.Axes, Variances: e.Variances}
}

// gram is XᵀX, M×M, computed in square blocks of its upper triangle: gonum's
// product runs several times as fast as its symmetric rank-k update.
func gram(x *mat.Dense) *mat.SymDense {
	n, m := x.Dims()
	const block = 256
	out := mat.NewSymDense(m, nil)
	for i := 0; i < m; i += block {
		for j := i; j < m; j += block {
			rows := x.Slice(0, n, i, min(i+block, m))
			cols := x.Slice(0, n, j, min(j+block, m))
			var product mat.Dense
			product.Mul(rows.T(), cols)
			for a := range product.RawMatrix().Rows {
				for b, v := range product.RawRowView(a) {
					if i+a <= j+b {
						out.SetSym(i+a, j+b, v)
					}
				}
			}
		}
	}
	return out
}

// leadingEigen is the p largest eigenvalues of the positive semidefinite s, in
// descending order and not below 0, with their vectors as columns.
func leadingEigen(s *mat.SymDense, p int) (*mat.Dense, []float64, error) {
	var eigen mat.EigenSym
	if !eigen.Factorize(s, true) {
		return nil, nil, fmt.Errorf("the eigenvalues of the %d×%d covariance did not converge", s.SymmetricDim(), s.SymmetricDim())
	}
	var all mat.Dense
	eigen.VectorsTo(&all)
	ascending := eigen.Values(nil)
	m := len(ascending)
	vectors, values := mat.NewDense(m, p, nil), make([]float64, p)
	for j := range p {
		values[j] = max(ascending[m-1-j], 0)
		vectors.SetCol(j, mat.Col(nil, m-1-j, &all))
	}
	return vectors, values, nil
}

// point turns column j of axes so that its entry of largest magnitude, the first
// of them if several tie, is positive.
func point(axes *mat.Dense, j int) {
	column := axes.ColView(j).(*mat.VecDense)
	largest := 0.0
	for i := range column.Len() {
		if v := column.AtVec(i); math.Abs(v) > math.Abs(largest) {
			largest = v
		}
	}
	if largest < 0 {
		blas64.Scal(-1, column.RawVector())
	}
}
