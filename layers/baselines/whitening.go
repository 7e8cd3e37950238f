package baselines

import (
	"errors"
	"math"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// whitening is x̃ = (x − m)R with RRᵀ = Cov(x)⁻¹, and its inverse.
type whitening struct {
	mean    []float64  // m
	forward *mat.Dense // R
	inverse *mat.Dense // R⁻¹
}

// whiten finds R = V diag(λ)^(−½) from the eigenvectors and eigenvalues of the
// covariance. Directions of next to no variance, below 1e-8 of the largest, are
// divided as if they had that much.
func whiten(x *mat.Dense) (whitening, error) {
	_, c := x.Dims()
	w := whitening{mean: make([]float64, c), forward: mat.NewDense(c, c, nil), inverse: mat.NewDense(c, c, nil)}
	for k := range w.mean {
		w.mean[k] = stat.Mean(mat.Col(nil, k, x), nil)
	}
	covariance := mat.NewSymDense(c, nil)
	stat.CovarianceMatrix(covariance, x, nil)
	if x.RawMatrix().Rows < 2 {
		covariance.Zero()
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		return w, errors.New("the covariance of the log-probabilities has no eigenvalues")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	values := eigen.Values(nil) // ascending
	least := max(values[c-1]*1e-8, 1e-12)
	for j, v := range values {
		sd := math.Sqrt(max(v, least))
		for i := range c {
			w.forward.Set(i, j, vectors.At(i, j)/sd)
			w.inverse.Set(j, i, vectors.At(i, j)*sd)
		}
	}
	return w, nil
}

// apply whitens x in place.
func (w whitening) apply(x *mat.Dense) {
	for _, row := range rowsOf(x) {
		for k := range row {
			row[k] -= w.mean[k]
		}
	}
	centred := mat.DenseCopyOf(x)
	x.Mul(centred, w.forward)
}

// start turns the W and b of a linear map of x into those of the same map of x̃,
// W̃ = R⁻¹W and b̃ = b + mW.
func (w whitening) start(of *graph.Weights) *graph.Weights {
	weight, bias := dirichletWeights(of)
	var shift mat.VecDense
	shift.MulVec(weight.T(), mat.NewVecDense(len(w.mean), w.mean))
	bias.AddVec(bias, &shift)
	weight.Mul(w.inverse, mat.DenseCopyOf(weight))
	return of
}

// undo is the inverse of start: W = RW̃ and b = b̃ − mW.
func (w whitening) undo(of *graph.Weights) {
	weight, bias := dirichletWeights(of)
	weight.Mul(w.forward, mat.DenseCopyOf(weight))
	var shift mat.VecDense
	shift.MulVec(weight.T(), mat.NewVecDense(len(w.mean), w.mean))
	bias.SubVec(bias, &shift)
}

// whitenedStart is the whitening of cal's inputs and the identity in its terms.
func whitenedStart(cal *data.Set) (whitening, *graph.Weights, error) {
	sizes, err := sizesOf(cal)
	if err != nil {
		return whitening{}, nil, err
	}
	l, err := logProbsOf(cal, sizes)
	if err != nil {
		return whitening{}, nil, err
	}
	white, err := whiten(floored(l))
	if err != nil {
		return whitening{}, nil, err
	}
	return white, white.start(dirichletMap{}.weights(sizes)), nil
}

// dirichletWeights are W and b as matrices over the weights' own memory.
func dirichletWeights(w *graph.Weights) (*mat.Dense, *mat.VecDense) {
	b := w.Tensor("dirichlet/bias").Float64s()
	c := len(b)
	return mat.NewDense(c, c, w.Tensor("dirichlet/weight").Float64s()), mat.NewVecDense(c, b)
}

// whitenedMap is dirichletMap of whitened inputs.
type whitenedMap struct {
	dirichletMap
	whitening
}

func (m whitenedMap) inputs(l *mat.Dense, x *data.Set, w *graph.Weights) ([]*mat.Dense, error) {
	in, err := m.dirichletMap.inputs(l, x, w)
	if err == nil {
		m.apply(in[0])
	}
	return in, err
}
