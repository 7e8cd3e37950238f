package theory

import (
	"fmt"
	"math"

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

// UnsettledError says that a descent reached no stationary point. A sample may have none near
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

// Error says which fit did not settle, and how far it was.
func (e *UnsettledError) Error() string {
	how := "and was still going"
	if e.Stalled {
		how = "where no step lowers the loss"
	}
	return fmt.Sprintf("theory: Newton has ‖∇L‖ = %.1e after %d iterations, above %.0e, %.2g from its start, %s: this loss has no minimum near; give more rows per codeword (a larger N, more even frequencies)",
		e.Gradient, e.Iterations, gradientTolerance, e.Distance, how)
}

// minimize runs damped Newton on the quotient by the gauge: the Newton matrix is
// ∇²L + Σ v vᵀ with |eigenvalue| ≥ 1e-9, steps have length at most 1 and obey
// Armijo's rule, and θ is brought back to its representative after each. theta is
// the start on entry and the stationary point of model's loss on return; a
// companion of model goes ahead where there is one. Where no stationary point is
// reached the error is an *UnsettledError, and theta the last point.
func minimize(model Model, gauge Gauge, theta, weights []float64) error {
	if ahead := model.companion(); ahead != nil {
		if err := descend(ahead, gauge, theta, weights); err != nil {
			return err
		}
	}
	return descend(model, gauge, theta, weights)
}

// eager is a Model that gives gradient and Newton matrix for little more than the gradient.
type eager interface {
	curved(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error)
}

// curvedOf asks an eager model once, and another one twice.
func curvedOf(model Model, grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error) {
	if m, ok := model.(eager); ok {
		return m.curved(grad, hess, theta, weights)
	}
	if err := model.newton(hess, theta, weights); err != nil {
		return 0, err
	}
	return model.Gradient(grad, theta, weights)
}

func descend(model Model, gauge Gauge, theta, weights []float64) error {
	n := model.Dim()
	start := append([]float64(nil), theta...)
	grad, trialGrad := make([]float64, n), make([]float64, n)
	trial, step := make([]float64, n), make([]float64, n)
	hess, trialHess := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	curved, isEager := model.(eager)
	graph, isDear := model.(*layered)
	isDear = isDear && graph.analytic == nil
	// known tells whether the matrix that evaluate was given now holds Newton's.
	evaluate := func(g []float64, h *mat.SymDense, at []float64, full bool) (loss float64, known bool, err error) {
		if isEager && full {
			loss, err = curved.curved(g, h, at, weights)
			return loss, true, err
		}
		loss, err = model.Gradient(g, at, weights)
		return loss, false, err
	}

	gauge.Fix(theta, nil)
	loss, known, err := evaluate(grad, hess, theta, true)
	if err != nil {
		return err
	}
	for iteration := range newtonIterations {
		directions := gauge.Directions(theta)
		projectOff(grad, directions)
		norm := floats.Norm(grad, 2)
		if norm <= gradientTolerance {
			return nil
		}
		if isDear && iteration > 0 && iteration%renewedAfter == 0 {
			if err := graph.renew(theta, weights); err != nil {
				return err
			}
		}
		if !known {
			if err := model.newton(hess, theta, weights); err != nil {
				return err
			}
		}
		if isDear { // the matrix is of another point, where other directions are free
			across := mat.NewDense(n, n, nil)
			for i := range n {
				across.Set(i, i, 1)
				projectOff(across.RawRowView(i), directions)
			}
			hess.CopySym(congruence(hess, across))
		}
		addProjector(hess, directions)
		newtonStep(step, hess, grad)
		length := floats.Norm(step, 2)
		if length > longestStep {
			floats.Scale(longestStep/length, step)
		}
		slope := floats.Dot(step, grad)

		accepted := false
		for t := 1.0; t > 1e-12; t /= 2 {
			floats.AddScaledTo(trial, theta, t, step)
			gauge.Fix(trial, nil)
			trialLoss, trialKnown, err := evaluate(trialGrad, trialHess, trial, t == 1 && length > lastStep)
			if err != nil {
				continue // too far: a shorter step stays in range
			}
			projectOff(trialGrad, gauge.Directions(trial))
			descends := trialLoss <= loss+sufficientDescent*t*slope
			// Near the optimum the loss cannot resolve the descent, the gradient can.
			flat := math.Abs(trialLoss-loss) <= 1e-12*(1+math.Abs(loss)) && floats.Norm(trialGrad, 2) < norm
			if descends && trialLoss < loss || flat {
				copy(theta, trial)
				copy(grad, trialGrad)
				hess, trialHess = trialHess, hess
				loss, known = trialLoss, trialKnown
				accepted = true
				break
			}
		}
		if !accepted {
			return &UnsettledError{iteration, norm, floats.Distance(theta, start, 2), true}
		}
	}
	return &UnsettledError{newtonIterations, floats.Norm(grad, 2), floats.Distance(theta, start, 2), false}
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
	values, vectors := spectrum(hess)
	var along mat.VecDense
	along.MulVec(vectors.T(), g)
	for i, value := range values {
		along.SetVec(i, -along.AtVec(i)/math.Max(math.Abs(value), eigenvalueFloor))
	}
	x.MulVec(vectors, &along)
}
