package theory

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// localRadius is the radius of Θ_local in the checks that need a neighbourhood.
const localRadius = 0.1

func runAssumptions(ctx context.Context, s Settings, r *Report) error {
	d := s.design()
	truth, err := NewTruth(d, newRand(s.Seed, 25))
	if err != nil {
		return err
	}
	model, err := trained(truth.Table, d.Identity)
	if err != nil {
		return err
	}
	e, err := newExperiment(ctx, truth, model, evenShifts(d, choose(s, 4, 12)), []int{1e4, 1e5, 1e6, 1e7}, choose(s, 60, 100), s.Seed)
	if err != nil {
		return err
	}
	if err := e.smoothness(s, r); err != nil {
		return err
	}
	if err := e.uniformConvergence(ctx, s, r); err != nil {
		return err
	}
	if err := curvatureLaw(s, r); err != nil {
		return err
	}
	e.coupling(r)
	if err := manySlots(ctx, s, r); err != nil {
		return err
	}
	return e.lipschitz(ctx, s, r)
}

// nearby returns a point of Θ_local drawn uniformly from the ball around theta.
func nearby(theta []float64, rng *rand.Rand) []float64 {
	point := make([]float64, len(theta))
	for i := range point {
		point[i] = rng.NormFloat64()
	}
	radius := localRadius * math.Pow(rng.Float64(), 1/float64(len(theta)))
	floats.Scale(radius/floats.Norm(point, 2), point)
	floats.Add(point, theta)
	return point
}

// smoothness checks the derivatives against differences in Θ_local (A1).
func (e *experiment) smoothness(s Settings, r *Report) error {
	rng := newRand(s.Seed, 26)
	weights := e.populations[0].weights
	n := e.model.Dim()
	grad, numeric := make([]float64, n), make([]float64, n)
	var worst float64
	for range 5 {
		theta := nearby(e.populations[0].asymptotic.theta, rng)
		if _, err := e.model.Gradient(grad, theta, weights); err != nil {
			return err
		}
		fd.Gradient(numeric, func(x []float64) float64 {
			loss, err := e.model.Gradient(make([]float64, n), x, weights)
			if err != nil {
				return math.NaN()
			}
			return loss
		}, theta, &fd.Settings{Formula: fd.Central})
		worst = math.Max(worst, floats.Distance(grad, numeric, math.Inf(1)))
	}
	r.judge("A1: gradient against central differences, largest gap", exact(worst), "0: L is smooth", atMost(1e-8))
	return nil
}

// uniformConvergence measures how fast the suprema of A2 over Θ_local, and the
// gradient at θ* (A3), fall.
func (e *experiment) uniformConvergence(ctx context.Context, s Settings, r *Report) error {
	p := e.populations[0]
	n := e.model.Dim()
	points := [][]float64{p.asymptotic.theta}
	rng := newRand(s.Seed, 27)
	for range 4 {
		points = append(points, nearby(p.asymptotic.theta, rng))
	}
	losses := make([]float64, len(points))
	grads := make([][]float64, len(points))
	hessians := make([]*mat.SymDense, len(points))
	for i, theta := range points {
		grads[i], hessians[i] = make([]float64, n), mat.NewSymDense(n, nil)
		var err error
		if losses[i], err = e.model.Gradient(grads[i], theta, p.weights); err != nil {
			return err
		}
		if err := e.model.newton(hessians[i], theta, p.weights); err != nil {
			return err
		}
	}
	lossGap, gradGap := grid(len(e.sizes), e.replicates), grid(len(e.sizes), e.replicates)
	hessGap, atTruth := grid(len(e.sizes), e.replicates), grid(len(e.sizes), e.replicates)
	err := forEach(ctx, len(e.sizes)*e.replicates, e.model.fork, func(model Model, i int) error {
		size, rep := i/e.replicates, i%e.replicates
		sample := Sample(p.weights, e.sizes[size], newRand(s.Seed, 28, uint64(size), uint64(rep)))
		grad, hess := make([]float64, n), mat.NewSymDense(n, nil)
		for q, theta := range points {
			loss, err := model.Gradient(grad, theta, sample)
			if err != nil {
				return err
			}
			if err := model.newton(hess, theta, sample); err != nil {
				return err
			}
			subtract(hess, hessians[q])
			floats.Sub(grad, grads[q])
			lossGap[size][rep] = math.Max(lossGap[size][rep], math.Abs(loss-losses[q]))
			gradGap[size][rep] = math.Max(gradGap[size][rep], floats.Norm(grad, 2))
			hessGap[size][rep] = math.Max(hessGap[size][rep], operatorNorm(hess))
			if q == 0 {
				atTruth[size][rep] = floats.Norm(grad, 2)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	b := bootstrap(len(e.sizes), e.replicates, newRand(s.Seed, 29), func(pick [][]int) []float64 {
		return []float64{
			slopeInN(e.sizes, lossGap, pick), slopeInN(e.sizes, gradGap, pick),
			slopeInN(e.sizes, hessGap, pick), slopeInN(e.sizes, atTruth, pick),
		}
	})
	r.tell("A2: slope in N of sup |L_N − L| on Θ_local", b[0], "-1/2")
	r.tell("A2: slope in N of sup ‖∇L_N − ∇L‖", b[1], "-1/2")
	r.tell("A2: slope in N of sup ‖∇²L_N − ∇²L‖", b[2], "-1/2")
	r.judge("A3: slope in N of ‖∇L_N(θ*)‖", b[3], "-1/2", bandSlope)
	return nil
}

// subtract sets m to m − other.
func subtract(m, other *mat.SymDense) {
	for i := range m.SymmetricDim() {
		for j := i; j < m.SymmetricDim(); j++ {
			m.SetSym(i, j, m.At(i, j)-other.At(i, j))
		}
	}
}

func operatorNorm(m *mat.SymDense) float64 {
	values, _ := spectrum(m)
	return math.Max(math.Abs(values[0]), math.Abs(values[len(values)-1]))
}

// curvatureLaw fits λ_min⁺ ∝ p_min^x over designs that differ only in their rarest
// codeword (A4: the constant λ of Theorem 1 is not free of the frequencies).
func curvatureLaw(s Settings, r *Report) error {
	var logP, logLambda []float64
	curve := Curve{Label: "smallest curvature"}
	d := s.design()
	truth, err := NewTruth(d, newRand(s.Seed, 30))
	if err != nil {
		return err
	}
	model, err := trained(truth.Table, d.Identity)
	if err != nil {
		return err
	}
	gauge := Rescaling{d.Classes, d.Codewords}
	gauge.Fix(truth.Theta, nil)
	hess := mat.NewSymDense(model.Dim(), nil)
	rarest := d.Codewords - 1
	for _, least := range []float64{3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6} {
		p := d.Frequencies(0)
		rest := 1 - p[rarest]
		for k := range p {
			p[k] *= (1 - least) / rest
		}
		p[rarest] = least
		weights := truth.Weights(truth.Table.Multinomial(p))
		if err := model.newton(hess, truth.Theta, weights); err != nil {
			return err
		}
		values, _ := spectrum(hess)
		lambda := values[d.Codewords] // the first K are the gauge's zeros
		logP, logLambda = append(logP, math.Log(least)), append(logLambda, math.Log(lambda))
		curve.X, curve.Y = append(curve.X, least), append(curve.Y, lambda)
	}
	r.tell("A4: exponent of λ_min⁺ in p_min", exact(slope(logP, logLambda, make([]int, len(logP)))), "1: the rarest codeword sets the curvature")
	r.Figures = append(r.Figures, Figure{
		Name: "curvature", Title: "A4: the smallest curvature off the gauge",
		XLabel: "p_min, frequency of the rarest codeword", YLabel: "smallest nonzero eigenvalue", LogX: true, LogY: true,
		Curves: []Curve{curve, powerLaw("slope 1", math.Exp(mean(logLambda)-mean(logP)), 1, curve.X)},
	})
	return nil
}

// coupling reports A6, A7, A8 and the leakage term of Theorem 2's proof.
func (e *experiment) coupling(r *Report) {
	gauge := e.gauge.(Rescaling)
	K := gauge.Codewords
	var influence float64
	var rare, frequent, alone float64
	var logPart, logLeak, logOwn []float64
	var codeword []int
	least, most := math.Inf(1), 0.0
	constants := Curve{Label: "c_k, joint block off the gauge"}
	for _, p := range e.populations {
		h, j := p.asymptotic.hessian, p.asymptotic.scores
		directions := p.asymptotic.directions
		for k := range K {
			block := gauge.coordinates(k)
			c := schurConstant(h, block, directions, directions)
			constants.X, constants.Y = append(constants.X, p.occupancy[k]), append(constants.Y, c)
			if p.occupancy[k] == floats.Min(p.occupancy) {
				rare += c / float64(len(e.populations))
			}
			if p.occupancy[k] == floats.Max(p.occupancy) {
				frequent += c / float64(len(e.populations))
			}
			// a_k alone, as printed: b_k among the others can undo it. The other K − 1
			// rescalings are the gauge of the rest.
			others := append(append([][]float64(nil), directions[:k]...), directions[k+1:]...)
			alone = math.Max(alone, math.Abs(schurConstant(h, block[:gauge.Classes], nil, others)))

			rest := complement(len(p.asymptotic.theta), block)
			inverse := quotientInverse(symmetric(dense(h, rest, rest)), restrict(directions, rest))
			if inverse == nil {
				influence = math.NaN()
				continue
			}
			var cross mat.Dense
			cross.Mul(dense(h, block, rest), inverse)
			influence = math.Max(influence, spectralNorm(&cross)/p.occupancy[k])

			// E‖R_k‖² N = tr(B J_−k,−k Bᵀ), B = H_k,−k H⁺_−k,−k.
			leak := predictedError(&cross, symmetric(dense(j, rest, rest)), 1)
			own := math.Sqrt(mat.Trace(dense(j, block, block)))
			logPart = append(logPart, math.Log(p.occupancy[k]))
			logLeak, logOwn = append(logLeak, math.Log(leak)), append(logOwn, math.Log(own))
			codeword = append(codeword, k)
			moment := own * own / p.occupancy[k]
			least, most = math.Min(least, moment), math.Max(most, moment)
		}
	}
	r.tell("A6: c_k of the joint block off the gauge, rarest codeword", exact(rare), "1 is uncoupled")
	r.tell("A6: c_k of the joint block off the gauge, most frequent", exact(frequent), "lower: it shares rows with all")
	r.judge("A6: c_k of a_k alone, as printed, largest", exact(alone), "0: b_k undoes a rescaling of a_k", atMost(1e-8))
	r.tell("A7: M, the largest conditional influence", exact(influence), "finite")
	r.tell("A8: E‖g_k‖² per occurrence, least", exact(least), "bounded")
	r.tell("A8: E‖g_k‖² per occurrence, greatest", exact(most), "bounded")
	r.tell("gradient block ‖∇_k L_N(θ*)‖: slope on N_k/N", exact(slope(logPart, logOwn, codeword)), "1/2")
	r.tell("leakage ‖R_k‖: slope on N_k/N", exact(slope(logPart, logLeak, codeword)), "1")
	r.Figures = append(r.Figures, Figure{
		Name: "schur", Title: "A6: how much of a codeword's curvature coupling leaves",
		XLabel: "N_k/N, occurrences per row", YLabel: "Schur constant c_k", LogX: true,
		Curves: []Curve{constants},
	})
}

func spectralNorm(m *mat.Dense) float64 {
	var svd mat.SVD
	if !svd.Factorize(m, mat.SVDNone) {
		return math.NaN()
	}
	return svd.Values(nil)[0]
}

// manySlots repeats A6 with w = 8, where a frequent codeword fills most cells.
func manySlots(ctx context.Context, s Settings, r *Report) error {
	d := Fast()
	d.Slots = 8
	truth, err := NewTruth(d, newRand(s.Seed, 31))
	if err != nil {
		return err
	}
	// 6435 cells: the analytic loss, which the graph equals, is quick enough.
	e, err := newExperiment(ctx, truth, newBilinear(truth.Table, d.Identity), []int{0}, nil, 0, s.Seed)
	if err != nil {
		return err
	}
	at := e.populations[0].asymptotic
	gauge := e.gauge.(Rescaling)
	c := schurConstant(at.hessian, gauge.coordinates(0), at.directions, at.directions)
	r.tell("A6: c_k of the most frequent codeword at w = 8", exact(c), "lower still")
	return nil
}

// lipschitz estimates L_H of A9 from random pairs of points in Θ_local.
func (e *experiment) lipschitz(ctx context.Context, s Settings, r *Report) error {
	rng := newRand(s.Seed, 32)
	n := e.model.Dim()
	first, second := mat.NewSymDense(n, nil), mat.NewSymDense(n, nil)
	var largest float64
	for _, p := range e.populations {
		if err := ctx.Err(); err != nil {
			return err
		}
		sample := Sample(p.weights, 1e6, rng)
		for range 10 {
			x, y := nearby(p.asymptotic.theta, rng), nearby(p.asymptotic.theta, rng)
			if err := e.model.newton(first, x, sample); err != nil {
				return err
			}
			if err := e.model.newton(second, y, sample); err != nil {
				return err
			}
			subtract(second, first)
			largest = math.Max(largest, operatorNorm(second)/floats.Distance(x, y, 2))
		}
	}
	// Random pairs understate a supremum: along the top curvature's own third
	// derivative it is larger.
	for _, p := range e.populations {
		if err := ctx.Err(); err != nil {
			return err
		}
		sharpest, err := e.sharpest(p)
		if err != nil {
			return err
		}
		largest = math.Max(largest, sharpest)
	}
	r.tell("A9: L_H on Θ_local", exact(largest), "finite")
	return nil
}

// sharpest climbs |∇²L(θ*+hu) − ∇²L(θ*)|/h over unit u by alternating between the
// eigenvector v of the largest change and the direction ∇(vᵀ∇²L v) it changes in.
func (e *experiment) sharpest(p population) (float64, error) {
	const h = 1e-3
	n := e.model.Dim()
	theta := p.asymptotic.theta
	_, vectors := spectrum(p.asymptotic.hessian)
	v := mat.Col(nil, n-1, vectors)
	here, ahead, behind := make([]float64, n), make([]float64, n), make([]float64, n)
	point, u := make([]float64, n), make([]float64, n)
	hess := mat.NewSymDense(n, nil)
	var norm float64
	for range 10 {
		for _, step := range []struct {
			size float64
			grad []float64
		}{{0, here}, {h, ahead}, {-h, behind}} {
			floats.AddScaledTo(point, theta, step.size, v)
			if _, err := e.model.Gradient(step.grad, point, p.weights); err != nil {
				return 0, err
			}
		}
		for i := range u {
			u[i] = ahead[i] - 2*here[i] + behind[i]
		}
		floats.Scale(1/floats.Norm(u, 2), u)
		floats.AddScaledTo(point, theta, h, u)
		if err := e.model.newton(hess, point, p.weights); err != nil {
			return 0, err
		}
		subtract(hess, p.asymptotic.hessian)
		hess.ScaleSym(1/h, hess)
		values, vectors := spectrum(hess)
		top := 0
		if math.Abs(values[n-1]) > math.Abs(values[0]) {
			top = n - 1
		}
		norm = math.Abs(values[top])
		v = mat.Col(nil, top, vectors)
	}
	return norm, nil
}
