package theory

import (
	"fmt"
	"math"
	"slices"

	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Constants of the damped Newton method.
const (
	gradientTolerance = 1e-11 // ‖∇L‖ at which it stops
	eigenvalueFloor   = 1e-9  // |eigenvalue| of the Newton matrix is at least this
	longestStep       = 1.0   // ‖step‖ is at most this
	sufficientDescent = 1e-4  // Armijo's constant
	newtonIterations  = 150
	renewedAfter      = 10   // iterations with one matrix where a Hessian takes 4·Dim gradients
	lastStep          = 1e-5 // after a shorter step the gradient is expected to vanish
)

// UnsettledError means that a descent reached no stationary point. A sample may have none near
// its start: where it holds too few rows of a codeword, or lies on the far side of a
// curvature that the population only just has, the loss falls along a narrow curved
// valley whose factors grow without end. No choice of steps brings such a descent home:
// it is a sample whose estimate has left Θ_local, and is counted as that.
type UnsettledError struct {
	Iterations int
	Gradient   float64 // ‖∇L‖ where it stopped
	Distance   float64 // from the start
	Stalled    bool    // no step lowers the loss any more
}

// Error names the fit that did not settle, and how far it was.
func (e *UnsettledError) Error() string {
	how := "and was still going"
	if e.Stalled {
		how = "where no step lowers the loss"
	}
	return fmt.Sprintf("theory: Newton has ‖∇L‖ = %.1e after %d iterations, above %.0e, %.2g from its start, %s: this loss has no minimum near; give more rows per codeword (a larger N, more even frequencies)",
		e.Gradient, e.Iterations, gradientTolerance, e.Distance, how)
}

// Fit moves theta to a stationary point of the loss under the weights: those of a population give θ*, those of a
// [Sample] θ̂. It runs damped Newton on the quotient by the gauge: the Newton matrix is ∇²L + Σ v vᵀ with |eigenvalue|
// ≥ 1e-9, steps have length at most 1 and obey Armijo's rule, and θ is brought back to its representative after each.
// theta is the start on entry and the stationary point of model's loss on return; a cheaper model of the same loss goes
// ahead, if any. Where no stationary point is reached the error is an *UnsettledError, and theta the last point.
func Fit(model Model, gauge Gauge, theta, weights []float64) error {
	if model == nil || gauge == nil {
		return errNoModel
	}
	if ahead := model.Cheapest(); ahead != model {
		if err := descend(ahead, gauge, theta, weights); err != nil {
			return err
		}
	}
	return descend(model, gauge, theta, weights)
}

// descent is damped Newton at its current point.
type descent struct {
	model   Model
	gauge   Gauge
	weights []float64
	dear    *layered // whose Newton matrix is dear and serves several steps; nil: the model's is not

	loss             float64
	theta, grad      []float64
	hess             *mat.SymDense
	known            bool // hess holds Newton's matrix at theta
	trial, trialGrad []float64
	trialHess        *mat.SymDense
	step             []float64
}

func descend(model Model, gauge Gauge, theta, weights []float64) error {
	start, n := slices.Clone(theta), model.Dim()
	d := &descent{
		model: model, gauge: gauge, weights: weights, theta: theta, known: true,
		grad: make([]float64, n), hess: mat.NewSymDense(n, nil),
		trial: make([]float64, n), trialGrad: make([]float64, n), trialHess: mat.NewSymDense(n, nil),
		step: make([]float64, n),
	}
	if graph, ok := model.(*layered); ok && graph.analytic == nil {
		d.dear = graph
	}
	gauge.Fix(theta, nil)
	var err error
	if d.loss, err = model.Newton(d.grad, d.hess, theta, weights); err != nil {
		return err
	}
	for iteration := range newtonIterations {
		directions := gauge.Directions(theta)
		estimate.ProjectOff(d.grad, directions)
		norm := floats.Norm(d.grad, 2)
		if norm <= gradientTolerance {
			return nil
		}
		if d.dear != nil && iteration > 0 && iteration%renewedAfter == 0 {
			if err := d.dear.renew(theta, weights); err != nil {
				return err
			}
			d.known = false
		}
		if err := d.direct(directions); err != nil {
			return err
		}
		if !d.advance(norm) {
			return &UnsettledError{Iterations: iteration, Gradient: norm, Distance: floats.Distance(theta, start, 2), Stalled: true}
		}
	}
	return &UnsettledError{Iterations: newtonIterations, Gradient: floats.Norm(d.grad, 2), Distance: floats.Distance(theta, start, 2)}
}

// direct makes the step that Newton's matrix gives across the gauge's directions, of length
// longestStep at most.
func (d *descent) direct(directions [][]float64) error {
	if !d.known {
		if _, err := d.model.Newton(d.trialGrad, d.hess, d.theta, d.weights); err != nil {
			return err
		}
	}
	if d.dear != nil { // the matrix is of another point, where other directions are free
		n := len(d.theta)
		across := mat.NewDense(n, n, nil)
		for i := range n {
			across.Set(i, i, 1)
			estimate.ProjectOff(across.RawRowView(i), directions)
		}
		d.hess.CopySym(estimate.Congruence(d.hess, across))
	}
	estimate.AddProjector(d.hess, directions)
	newtonStep(d.step, d.hess, d.grad)
	if length := floats.Norm(d.step, 2); length > longestStep {
		floats.Scale(longestStep/length, d.step)
	}
	return nil
}

// advance goes to the first point along the step, halved again and again, that lowers the loss;
// norm is that of the gradient. False: there is none.
func (d *descent) advance(norm float64) bool {
	length, slope := floats.Norm(d.step, 2), floats.Dot(d.step, d.grad)
	for t := 1.0; t > 1e-12; t /= 2 {
		floats.AddScaledTo(d.trial, d.theta, t, d.step)
		d.gauge.Fix(d.trial, nil)
		known := t == 1 && length > lastStep
		var loss float64
		var err error
		if known {
			loss, err = d.model.Newton(d.trialGrad, d.trialHess, d.trial, d.weights)
		} else {
			loss, err = d.model.Gradient(d.trialGrad, d.trial, d.weights)
		}
		if err != nil {
			continue // too far: a shorter step stays in range
		}
		estimate.ProjectOff(d.trialGrad, d.gauge.Directions(d.trial))
		descends := loss <= d.loss+sufficientDescent*t*slope
		// Near the optimum the loss cannot resolve the descent, the gradient can.
		flat := math.Abs(loss-d.loss) <= 1e-12*(1+math.Abs(d.loss)) && floats.Norm(d.trialGrad, 2) < norm
		if descends && loss < d.loss || flat {
			copy(d.theta, d.trial)
			copy(d.grad, d.trialGrad)
			d.hess, d.trialHess = d.trialHess, d.hess
			d.loss, d.known = loss, known
			return true
		}
	}
	return false
}

// newtonStep solves |hess| step = −grad, |·| taken on the eigenvalues where hess is
// not safely positive definite. It overwrites nothing but step.
func newtonStep(step []float64, hess *mat.SymDense, grad []float64) {
	n := len(grad)
	x := mat.NewVecDense(n, step)
	g := mat.NewVecDense(n, grad)
	var cholesky mat.Cholesky
	if cholesky.Factorize(hess) && cholesky.Cond() < 1/eigenvalueFloor {
		if cholesky.SolveVecTo(x, g) == nil {
			x.ScaleVec(-1, x)
			return
		}
	}
	copy(step, estimate.Downhill(hess, grad, eigenvalueFloor))
}
