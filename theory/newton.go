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
	newtonIterations  = 500
)

// minimize runs damped Newton on the quotient by the gauge: the Newton matrix is
// ∇²L + Σ v vᵀ with |eigenvalue| ≥ 1e-9, steps have length at most 1 and obey
// Armijo's rule, and θ is brought back to its representative after each. theta is
// the start on entry and the stationary point of model's loss on return; a
// companion of model goes ahead where there is one.
func minimize(model Model, gauge Gauge, theta, weights []float64) error {
	if ahead := model.companion(); ahead != nil {
		// Where it fails to arrive, model goes on from there and has the last word.
		_ = descend(ahead, gauge, theta, weights)
	}
	return descend(model, gauge, theta, weights)
}

func descend(model Model, gauge Gauge, theta, weights []float64) error {
	n := model.Dim()
	grad := make([]float64, n)
	trial := make([]float64, n)
	trialGrad := make([]float64, n)
	step := make([]float64, n)
	hess := mat.NewSymDense(n, nil)

	gauge.Fix(theta, nil)
	loss, err := model.Gradient(grad, theta, weights)
	if err != nil {
		return err
	}
	for range newtonIterations {
		directions := gauge.Directions(theta)
		projectOff(grad, directions)
		norm := floats.Norm(grad, 2)
		if norm <= gradientTolerance {
			return nil
		}
		if err := model.newton(hess, theta, weights); err != nil {
			return err
		}
		addProjector(hess, directions)
		newtonStep(step, hess, grad)
		if length := floats.Norm(step, 2); length > longestStep {
			floats.Scale(longestStep/length, step)
		}
		slope := floats.Dot(step, grad)

		accepted := false
		for t := 1.0; t > 1e-12; t /= 2 {
			floats.AddScaledTo(trial, theta, t, step)
			gauge.Fix(trial, nil)
			trialLoss, err := model.Gradient(trialGrad, trial, weights)
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
				loss = trialLoss
				accepted = true
				break
			}
		}
		if !accepted {
			return fmt.Errorf("theory: Newton stopped at ‖∇L‖ = %.1e, above %.0e: no step lowers the loss", norm, gradientTolerance)
		}
	}
	return fmt.Errorf("theory: Newton did not reach ‖∇L‖ ≤ %.0e in %d iterations", gradientTolerance, newtonIterations)
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
