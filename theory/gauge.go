package theory

import (
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

// Gauge is that of the design's factors.
func (d Design) Gauge() Rescaling { return Rescaling{d.Classes, d.Codewords} }

// Factors are a_k and b_k, C entries each, as they stand in θ.
func (g Rescaling) Factors(theta []float64, k int) (receiver, sender []float64) {
	return theta[k*g.Classes:][:g.Classes], theta[(g.Codewords+k)*g.Classes:][:g.Classes]
}

// Coordinates lists where a_k and b_k stand in θ.
func (g Rescaling) Coordinates(k int) []int {
	at := make([]int, 2*g.Classes)
	for i := range g.Classes {
		at[i], at[g.Classes+i] = k*g.Classes+i, (g.Codewords+k)*g.Classes+i
	}
	return at
}

// Directions returns v_k = (a_k, −b_k)/‖(a_k, b_k)‖ of each codeword whose factors are
// not both 0, Dim entries each.
func (g Rescaling) Directions(theta []float64) [][]float64 {
	var directions [][]float64
	for k := range g.Codewords {
		a, b := g.Factors(theta, k)
		length := math.Hypot(floats.Norm(a, 2), floats.Norm(b, 2))
		if length == 0 {
			continue
		}
		v := make([]float64, len(theta))
		va, vb := g.Factors(v, k)
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
		a, b := g.Factors(theta, k)
		normA, normB := floats.Norm(a, 2), floats.Norm(b, 2)
		if normA == 0 || normB == 0 {
			continue
		}
		t := math.Sqrt(normB / normA)
		if reference != nil {
			if ra, rb := g.Factors(reference, k); floats.Dot(a, ra)+floats.Dot(b, rb) < 0 {
				t = -t
			}
		}
		floats.Scale(t, a)
		floats.Scale(1/t, b)
	}
}

// NullSpace is the gauge found by computation: the null space of a Hessian at a
// point. Its representative of another point differs from the first point only off the
// null space. The zero value means that everything is identified.
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

// Target names the functions of θ that are compared between an estimate and θ*, block by
// block. No change of gauge moves them.
type Target interface {
	// Blocks is the number of blocks; block k belongs to codeword k.
	Blocks() int
	// Size is the norm of block k at theta.
	Size(k int, theta []float64) float64
	// Distance is the error of block k.
	Distance(k int, theta, reference []float64) float64
	// Jacobian is the derivative of block k in θ, rows × Dim.
	Jacobian(k int, theta []float64) *mat.Dense
}

// Products compares M_k = a_k b_kᵀ in Frobenius norm.
type Products struct{ Rescaling }

var _ Target = Products{}

// Blocks is K.
func (p Products) Blocks() int { return p.Codewords }

// Of returns vec M_k, C² entries.
func (p Products) Of(k int, theta []float64) []float64 {
	m := make([]float64, p.Classes*p.Classes)
	p.add(m, theta, k, 1)
	return m
}

// Size is ‖M_k‖ = |a_k| |b_k|.
func (p Products) Size(k int, theta []float64) float64 {
	a, b := p.Factors(theta, k)
	return floats.Norm(a, 2) * floats.Norm(b, 2)
}

// Distance is ‖M_k − M*_k‖, Frobenius.
func (p Products) Distance(k int, theta, reference []float64) float64 {
	a, b := p.Factors(theta, k)
	ra, rb := p.Factors(reference, k)
	var sum float64
	for i := range a {
		for j := range b {
			d := a[i]*b[j] - ra[i]*rb[j]
			sum += d * d
		}
	}
	return math.Sqrt(sum)
}

// Jacobian is ∂vec M_k/∂θ: b_k where a_k stands and a_k where b_k stands.
func (p Products) Jacobian(k int, theta []float64) *mat.Dense {
	C := p.Classes
	a, b := p.Factors(theta, k)
	d := mat.NewDense(C*C, len(theta), nil)
	for i := range C {
		for j := range C {
			d.Set(i*C+j, k*C+i, b[j])
			d.Set(i*C+j, (p.Codewords+k)*C+j, a[i])
		}
	}
	return d
}

// Pairs compares the balanced pair π_k = (a_k, b_k).
type Pairs struct{ Rescaling }

var _ Target = Pairs{}

// Blocks is K.
func (p Pairs) Blocks() int { return p.Codewords }

// Size is |(a_k, b_k)|.
func (p Pairs) Size(k int, theta []float64) float64 {
	a, b := p.Factors(theta, k)
	return math.Hypot(floats.Norm(a, 2), floats.Norm(b, 2))
}

// Distance is |(a_k, b_k) − (a*_k, b*_k)|.
func (p Pairs) Distance(k int, theta, reference []float64) float64 {
	a, b := p.Factors(theta, k)
	ra, rb := p.Factors(reference, k)
	return math.Hypot(floats.Distance(a, ra, 2), floats.Distance(b, rb, 2))
}

// Jacobian picks the coordinates of a_k and b_k.
func (p Pairs) Jacobian(k int, theta []float64) *mat.Dense {
	return Rows{p.Coordinates(k)}.Jacobian(0, theta)
}

// Rows compares the coordinates of θ that belong to each block, for a
// parameterization whose gauge is fixed by a NullSpace.
type Rows [][]int

var _ Target = Rows{}

// Blocks is the number of index sets.
func (r Rows) Blocks() int { return len(r) }

// Size is the Euclidean norm of the block's coordinates.
func (r Rows) Size(k int, theta []float64) float64 {
	return r.Distance(k, theta, make([]float64, len(theta)))
}

// Distance is the Euclidean distance of the block's coordinates.
func (r Rows) Distance(k int, theta, reference []float64) float64 {
	var sum float64
	for _, i := range r[k] {
		d := theta[i] - reference[i]
		sum += d * d
	}
	return math.Sqrt(sum)
}

// Jacobian picks the block's coordinates: one 1 in each row.
func (r Rows) Jacobian(k int, theta []float64) *mat.Dense {
	d := mat.NewDense(len(r[k]), len(theta), nil)
	for row, i := range r[k] {
		d.Set(row, i, 1)
	}
	return d
}
