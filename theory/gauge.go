package theory

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Gauge describes which changes of θ leave every prediction as it is, and so can
// never be estimated.
type Gauge interface {
	// Directions returns an orthonormal basis of the invariant directions at theta.
	Directions(theta []float64) [][]float64
	// Fix moves theta along its orbit to the representative that is compared with
	// reference; a nil reference leaves open what only a reference can decide.
	Fix(theta, reference []float64)
}

// Rescaling is the gauge of factors M_k = a_k b_kᵀ: (a_k, b_k) → (t a_k, b_k/t),
// free for each codeword. Its direction at θ is v_k = (a_k, −b_k); its
// representative has |a_k| = |b_k| and a_k on the reference's side. θ holds K
// receivers, then K senders, of C entries each.
type Rescaling struct{ Classes, Codewords int }

var _ Gauge = Rescaling{}

func (g Rescaling) factors(theta []float64, k int) (receiver, sender []float64) {
	return theta[k*g.Classes:][:g.Classes], theta[(g.Codewords+k)*g.Classes:][:g.Classes]
}

// Directions returns v_k = (a_k, −b_k)/‖(a_k, b_k)‖ of each codeword whose factors are
// not both 0, Dim entries each.
func (g Rescaling) Directions(theta []float64) [][]float64 {
	var directions [][]float64
	for k := range g.Codewords {
		a, b := g.factors(theta, k)
		length := math.Hypot(floats.Norm(a, 2), floats.Norm(b, 2))
		if length == 0 {
			continue
		}
		v := make([]float64, len(theta))
		va, vb := g.factors(v, k)
		floats.AddScaled(va, 1/length, a)
		floats.AddScaled(vb, -1/length, b)
		directions = append(directions, v)
	}
	return directions
}

// Fix rescales each codeword by t = ±√(|b_k|/|a_k|), with the sign that agrees with
// reference if there is one. A zero factor is left alone.
func (g Rescaling) Fix(theta, reference []float64) {
	for k := range g.Codewords {
		a, b := g.factors(theta, k)
		normA, normB := floats.Norm(a, 2), floats.Norm(b, 2)
		if normA == 0 || normB == 0 {
			continue
		}
		t := math.Sqrt(normB / normA)
		if reference != nil {
			if ra, rb := g.factors(reference, k); floats.Dot(a, ra)+floats.Dot(b, rb) < 0 {
				t = -t
			}
		}
		floats.Scale(t, a)
		floats.Scale(1/t, b)
	}
}

// NullSpace is the gauge found by computation: the null space of a Hessian at a
// point. Its representative is the one that differs from the point only off it.
// The zero value says that everything is identified.
type NullSpace struct {
	Point []float64
	Basis [][]float64 // orthonormal
}

var _ Gauge = NullSpace{}

// Directions returns Basis: the null space is taken to be the same everywhere.
func (g NullSpace) Directions([]float64) [][]float64 { return g.Basis }

// Fix projects theta − Point off the null space; reference is not looked at.
func (g NullSpace) Fix(theta, _ []float64) {
	if len(g.Basis) == 0 {
		return
	}
	offset := make([]float64, len(theta))
	floats.SubTo(offset, theta, g.Point)
	for _, v := range g.Basis {
		floats.AddScaled(theta, -floats.Dot(v, offset), v)
	}
}

// spectrum returns the eigenvalues of h in increasing order and its eigenvectors.
func spectrum(h *mat.SymDense) (values []float64, vectors *mat.Dense) {
	var eigen mat.EigenSym
	if !eigen.Factorize(h, true) {
		panic("theory: the eigenvalues of a finite symmetric matrix did not converge")
	}
	vectors = new(mat.Dense)
	eigen.VectorsTo(vectors)
	return eigen.Values(nil), vectors
}

// A direction is null when its curvature is below this part of the largest.
const (
	// nullRatio is for Hessians of a graph, whose differences leave about 1e-13. True
	// curvatures are above 1e-6 as a rule.
	nullRatio = 3e-11
	// nullScore is for singular values of scores: rounding leaves 1e-15, and the square root of a
	// curvature of 1e-20 would still be seen.
	nullScore = 1e-11
)

// freeDirections are those of a model at its truth.
type freeDirections struct {
	nullity            int
	zeroAt, gapAt, off float64 // off is ‖H v‖/‖H‖ along the gauge, where it was asked
}

// nullityAtTruth counts the directions that move no posterior of a model that is the law of
// the labels. There ∇²L = Σ W ∇ℓ ∇ℓᵀ (Fisher), so that they are the null space of the matrix
// whose rows are √W ∇ℓᵀ. Its singular values are good to rounding; a Hessian's eigenvalues,
// their squares, would not tell a poor design from a free direction. zeroAt is the largest
// that counts as zero, gapAt the smallest that does not, both relative to the largest.
func nullityAtTruth(model Model, theta, weights []float64) (f freeDirections, err error) {
	scores := mat.NewDense(len(weights), len(theta), nil)
	for entry, w := range weights {
		row := scores.RawRowView(entry)
		if err := model.Score(row, theta, entry); err != nil {
			return f, err
		}
		floats.Scale(math.Sqrt(w), row)
	}
	var svd mat.SVD
	if !svd.Factorize(scores, mat.SVDNone) {
		return f, errors.New("theory: the singular values of the scores did not converge")
	}
	values := svd.Values(nil)
	f.nullity, f.gapAt = len(theta)-len(values), math.Inf(1)
	for _, value := range values {
		if relative := value / values[0]; relative < nullScore {
			f.nullity++
			f.zeroAt = math.Max(f.zeroAt, relative)
		} else {
			f.gapAt = math.Min(f.gapAt, relative)
		}
	}
	return f, nil
}

// findNullSpace returns the directions of h at point that are null by nullRatio, the largest |eigenvalue|
// counted as zero and the smallest that was not, both relative to the largest.
func findNullSpace(h *mat.SymDense, point []float64) (gauge NullSpace, zeroAt, gapAt float64) {
	values, vectors := spectrum(h)
	largest := math.Max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
	gauge.Point = append([]float64(nil), point...)
	gapAt = math.Inf(1)
	for i, value := range values {
		relative := math.Abs(value) / largest
		if relative < nullRatio {
			gauge.Basis = append(gauge.Basis, mat.Col(nil, i, vectors))
			zeroAt = math.Max(zeroAt, relative)
		} else {
			gapAt = math.Min(gapAt, relative)
		}
	}
	return gauge, zeroAt, gapAt
}

// addProjector adds Σ v vᵀ to h.
func addProjector(h *mat.SymDense, directions [][]float64) {
	for _, v := range directions {
		h.SymRankOne(h, 1, mat.NewVecDense(len(v), v))
	}
}

// projectOff removes from x its part along the orthonormal directions.
func projectOff(x []float64, directions [][]float64) {
	for _, v := range directions {
		floats.AddScaled(x, -floats.Dot(v, x), v)
	}
}
