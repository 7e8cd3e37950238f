package studies

import (
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// quadratic adds λ/2 ‖θ‖² − εᵀθ to a loss. The ridge is the weight decay of the published training.
// The tilt makes stationary points of those with ∇L = ε: an optimizer that stops early, with a
// residual of our choosing.
type quadratic struct {
	theory.Model
	lambda float64
	tilt   []float64 // ε; nil: 0
}

var _ theory.Model = (*quadratic)(nil)

func (m *quadratic) Fork() theory.Model { return &quadratic{m.Model.Fork(), m.lambda, m.tilt} }

func (m *quadratic) Cheapest() theory.Model {
	if inner := m.Model.Cheapest(); inner != m.Model {
		return &quadratic{inner, m.lambda, m.tilt}
	}
	return m
}

func (m *quadratic) Gradient(grad, theta, weights []float64) (float64, error) {
	loss, err := m.Model.Gradient(grad, theta, weights)
	return loss + m.penalty(grad, theta), err
}

// Newton is of a layer by hand, and of the layer's graph in two passes.
func (m *quadratic) Newton(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error) {
	loss, err := m.Model.Newton(grad, hess, theta, weights)
	m.addRidge(hess)
	return loss + m.penalty(grad, theta), err
}

func (m *quadratic) Hessian(hess *mat.SymDense, theta, weights []float64) error {
	err := m.Model.Hessian(hess, theta, weights)
	m.addRidge(hess)
	return err
}

// penalty adds its gradient.
func (m *quadratic) penalty(grad, theta []float64) float64 {
	floats.AddScaled(grad, m.lambda, theta)
	loss := m.lambda / 2 * floats.Dot(theta, theta)
	if m.tilt != nil {
		floats.Sub(grad, m.tilt)
		loss -= floats.Dot(m.tilt, theta)
	}
	return loss
}

func (m *quadratic) addRidge(hess *mat.SymDense) {
	for i := range hess.SymmetricDim() {
		hess.SetSym(i, i, hess.At(i, i)+m.lambda)
	}
}

// Scores is the covariance of ∇ℓ. At a stationary point of a ridge E∇ℓ = −λθ, so it is the
// second moment less λ²θθᵀ.
func (m *quadratic) Scores(outer *mat.SymDense, theta, weights []float64) error {
	err := m.Model.Scores(outer, theta, weights)
	outer.SymRankOne(outer, -m.lambda*m.lambda, mat.NewVecDense(len(theta), theta))
	return err
}

// Score is that of the loss, plus the penalty's gradient.
func (m *quadratic) Score(grad, theta []float64, entry int) error {
	err := m.Model.Score(grad, theta, entry)
	m.penalty(grad, theta)
	return err
}
