package data

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
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
// its entry of largest magnitude is positive. 0 components mean 50, as published. Values
// whose variance overflows are an *InputError.
func FitEmbedding(cal mat.Matrix, components int) (*Embedding, error) {
	return FitWeightedEmbedding(cal, nil, components)
}

// FitWeightedEmbedding is [FitEmbedding] of rows that count by their weights (N; nil: 1 each), in the means, the
// deviations and the covariance.
func FitWeightedEmbedding(cal mat.Matrix, weights []float64, components int) (*Embedding, error) {
	n, m := cal.Dims()
	if components < 0 {
		panic(fmt.Sprintf("data: FitEmbedding: %d components", components))
	}
	if components == 0 {
		components = 50
	}
	e := &Embedding{Scale: FitWeighted(cal, weights)}
	for j, sd := range e.Scale.SD {
		if sd-sd != 0 || e.Scale.Mean[j]-e.Scale.Mean[j] != 0 { // NaN or ±Inf
			return nil, Inputf("", "the values of column %d, counted from 0, are so large that their variance overflows; scale them down", j)
		}
	}
	x, scale := cal, e.Scale
	if weights != nil { // ZᵀWZ/ΣW, of rows times √(w N/ΣW)
		z, mean := e.Scale.Apply(cal), floats.Sum(weights)/float64(n)
		for i, w := range weights {
			floats.Scale(math.Sqrt(w/mean), z.RawRowView(i))
		}
		x, scale = z, &Standardizer{Mean: make([]float64, m), SD: slices.Repeat([]float64{1}, m)}
	}
	axes, variances, err := leading(x, scale, min(components, n, m))
	if err != nil {
		return nil, fmt.Errorf("data: fit embedding: %w", err)
	}
	for j := range variances {
		point(axes, j)
	}
	e.Axes, e.Variances = axes, variances
	return e, nil
}

// mostCovariance is up to how many columns the covariance is formed to find few of its vectors:
// to form it takes 2NM² operations of a matrix product, a step of Lanczos on the rows 4NM of
// what memory brings, and there are some hundreds of steps.
const mostCovariance = 4096

// leading is the p largest eigenvalues of the covariance ZᵀZ/N of x standardized, descending
// and not below 0, with their vectors as columns.
func leading(x mat.Matrix, scale *Standardizer, p int) (*mat.Dense, []float64, error) {
	n, m := x.Dims()
	few := m > 6*p // else a full decomposition is as quick
	if few && m > min(n, mostCovariance) {
		if axes, variances, found := leadingByLanczos(m, p, gramProduct(x, scale)); found {
			return axes, variances, nil
		}
		few = false
	}
	formed := covariance(x, scale)
	if few {
		product := func(dst, v []float64) { mat.NewVecDense(m, dst).MulVec(formed, mat.NewVecDense(m, v)) }
		if axes, variances, found := leadingByLanczos(m, p, product); found {
			return axes, variances, nil
		}
	}
	return leadingByEigen(formed, p)
}

// Apply is the embedding of x, N×P, standardized as the calibration rows are. It
// panics unless x has the M columns the embedding was fitted on.
func (e *Embedding) Apply(x mat.Matrix) *mat.Dense {
	n, m := x.Dims()
	e.Scale.check(m)
	_, p := e.Axes.Dims()
	out := mat.NewDense(n, p, nil)
	blocks(x, embeddedAtOnce, e.Scale.row, func(lo int, z *mat.Dense) {
		rows, _ := z.Dims()
		out.Slice(lo, lo+rows, 0, p).(*mat.Dense).Mul(z, e.Axes)
	})
	return out
}

// embeddedAtOnce is how many rows are standardized and multiplied at a time: a multiple of
// the 256 terms after which package simd rounds a sum, so that the bits are those of one
// product of all rows.
const embeddedAtOnce = 1024

// covariance is ZᵀZ/N of x standardized, M×M.
func covariance(x mat.Matrix, scale *Standardizer) *mat.SymDense {
	n, m := x.Dims()
	gram := blas64.General{Rows: m, Cols: m, Stride: m, Data: make([]float64, m*m)}
	blocks(x, embeddedAtOnce, scale.row, func(_ int, z *mat.Dense) {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, z.RawMatrix(), z.RawMatrix(), 1, gram)
	})
	blas64.Scal(1/float64(n), blas64.Vector{N: m * m, Inc: 1, Data: gram.Data})
	return mat.NewSymDense(m, gram.Data)
}

// leadingByEigen is the p largest eigenvalues of a, descending and not below 0, with their
// vectors as columns, from all M of them.
func leadingByEigen(a *mat.SymDense, p int) (*mat.Dense, []float64, error) {
	m := a.SymmetricDim()
	var eigen mat.EigenSym
	if !eigen.Factorize(a, true) {
		return nil, nil, fmt.Errorf("the eigenvalues of the %d×%d covariance did not converge", m, m)
	}
	var all mat.Dense
	eigen.VectorsTo(&all)
	ascending := eigen.Values(nil)
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
	if column.AtVec(blas64.Iamax(column.RawVector())) < 0 {
		blas64.Scal(-1, column.RawVector())
	}
}

// Arrays are scale (2×M, the means of the features over their standard deviations), axes
// (M×P) and variances (1×P).
func (e *Embedding) Arrays() []Array {
	scale := mat.NewDense(2, len(e.Scale.Mean), append(append([]float64{}, e.Scale.Mean...), e.Scale.SD...))
	return []Array{{"scale", scale}, {"axes", e.Axes}, {"variances", mat.NewDense(1, len(e.Variances), e.Variances)}}
}

// ReadEmbedding reads a file of [Embedding.Arrays]; whatever is wrong with it is an *InputError.
func ReadEmbedding(path string) (*Embedding, error) {
	return within(path, (*archive).embedding)
}

func (a *archive) embedding() (_ *Embedding, err error) {
	read := map[string]*mat.Dense{}
	for _, key := range []string{"axes", "scale", "variances"} {
		if read[key], err = a.matrix(key, onlyFinite); err != nil {
			return nil, err
		}
	}
	m, p := read["axes"].Dims()
	for key, want := range map[string][2]int{"scale": {2, m}, "variances": {1, p}} {
		if rows, columns := read[key].Dims(); rows != want[0] || columns != want[1] {
			return nil, Inputf(a.path, "%s is %d×%d, expected %d×%d", key, rows, columns, want[0], want[1])
		}
	}
	return &Embedding{
		Scale: &Standardizer{Mean: read["scale"].RawRowView(0), SD: read["scale"].RawRowView(1)},
		Axes:  read["axes"], Variances: read["variances"].RawRowView(0),
	}, nil
}
