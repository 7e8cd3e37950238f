package studies

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
)

// localRadius is the radius of Θ_local in the checks that need a neighbourhood.
const localRadius = 0.1

// assumptions are checked on samples of a problem under shifts.
type assumptions struct{ *theory.Experiment }

func runAssumptions(ctx context.Context, s theory.Settings, r *theory.Report) error {
	p := newProblem(s, designOf(s), s.RNG(25))
	of, err := p.experiment(ctx, p.shifted(choose(s, 4, 12))...)
	if err != nil {
		return err
	}
	e := assumptions{of}
	e.Sizes, e.Count = []int{1e4, 1e5, 1e6, 1e7}, replicates(s, 30, 100)
	for _, check := range []func(context.Context, *theory.Report) error{
		e.smoothness, e.uniformConvergence, e.nearCurvature, e.curvatureLaw, e.stationarity,
		e.coupling, e.manySlots, e.moments, e.lipschitz, e.taylor,
	} {
		if err := check(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// nearby returns a point of Θ_local drawn uniformly from the ball around theta.
func nearby(theta []float64, rng *rand.Rand) []float64 {
	point := numeric.Normals(len(theta), rng)
	radius := localRadius * math.Pow(rng.Float64(), 1/float64(len(theta)))
	floats.Scale(radius/floats.Norm(point, 2), point)
	floats.Add(point, theta)
	return point
}

// smoothness checks A1: the derivatives against differences in Θ_local, differentiation
// under the expectation, and the envelopes.
func (e assumptions) smoothness(_ context.Context, r *theory.Report) error {
	rng, p := e.RNG(26), e.Limits[0]
	at, n := &theory.Loss{Model: e.Model, Weights: p.Weights}, e.Model.Dim()
	slopes, differences := make([]float64, n), mat.NewDense(n, n, nil)
	var worst, worstHess float64
	for range 3 {
		theta := nearby(p.Theta, rng)
		loss := func(x []float64) float64 { l, _ := at.Gradient(x); return l }
		fd.Gradient(slopes, loss, theta, &fd.Settings{Formula: fd.Central})
		_, grad := at.Gradient(theta)
		worst = math.Max(worst, floats.Distance(grad, slopes, math.Inf(1)))

		slopes := func(g, x []float64) { _, grad := at.Gradient(x); copy(g, grad) }
		fd.Jacobian(differences, slopes, theta, &fd.JacobianSettings{Formula: fd.Central})
		differences.Sub(differences, at.Newton(theta))
		worstHess = math.Max(worstHess, mat.Norm(differences, math.Inf(1)))
	}
	r.Rounding("a1-gradient", "A1: gradient against central differences on Θ_local, largest gap", worst, 1e-8, "0: L is smooth")
	r.Rounding("a1-hessian", "A1: Hessian against differences of the gradient, largest row sum of the gap", worstHess, 1e-6, "0: twice so")
	return cmp.Or(at.Err, e.envelopes(r, rng))
}

// envelopes checks E∇ℓ row by row against ∇Eℓ, and E sup ‖∇ℓ‖ over points of Θ_local.
func (e assumptions) envelopes(r *theory.Report, rng *rand.Rand) error {
	p, at := e.Limits[0], &theory.Loss{Model: e.Model, Weights: e.Limits[0].Weights}
	theta := nearby(p.Theta, rng)
	_, grad := at.Gradient(theta)
	points := [][]float64{theta, p.Theta, nearby(theta, rng), nearby(theta, rng)}
	var envelope, envelopeHess, largest float64
	sum, row := make([]float64, len(theta)), &theory.Loss{Model: e.Model.Cheapest(), Weights: make([]float64, len(p.Weights))}
	for i, w := range p.Weights {
		if w == 0 {
			continue
		}
		row.Weights[i] = 1
		var most, mostHess float64
		for q, point := range points {
			_, single := row.Gradient(point)
			if q == 0 {
				floats.AddScaled(sum, w, single)
			}
			most = math.Max(most, floats.Norm(single, 2))
			if q < 2 {
				mostHess = math.Max(mostHess, mat.Norm(row.Newton(point), 2))
			}
		}
		row.Weights[i] = 0
		envelope, envelopeHess, largest = envelope+w*most, envelopeHess+w*mostHess, math.Max(largest, most)
	}
	r.Rounding("a1-exchange", "A1: ‖E∇ℓ − ∇Eℓ‖, row by row against the sum", floats.Distance(sum, grad, 2), 1e-10, "0: expectation and derivative change places")
	r.Record("a1-envelope", "A1: envelope E sup ‖∇ℓ‖ over points of Θ_local", theory.Exact(envelope), "finite: the largest ‖∇ℓ‖ is "+numeric.Short(largest))
	r.Record("a1-envelope-hessian", "A1: envelope E sup ‖∇²ℓ‖, Frobenius", theory.Exact(envelopeHess), "finite")
	return cmp.Or(at.Err, row.Err)
}

// uniformConvergence measures how fast the suprema of A2 over Θ_local, and the
// gradient at θ* (A3), fall.
func (e assumptions) uniformConvergence(ctx context.Context, r *theory.Report) error {
	p := e.Limits[0]
	points, rng := make([]expansion, 5), e.RNG(27)
	expected := &theory.Loss{Model: e.Model, Weights: p.Weights}
	for i := range points {
		theta := p.Theta
		if i > 0 {
			theta = nearby(theta, rng)
		}
		points[i] = expand(expected, theta)
	}
	t := e.of(p, 28)
	gaps, _, err := t.Measure(ctx, e.Model.Cheapest(), 4, func(model theory.Model, x theory.Trial) ([]float64, error) {
		at := &theory.Loss{Model: model, Weights: t.Draw(x)}
		var ofLoss, ofGrad, ofHess, atTruth float64
		for q, of := range points {
			gap := expand(at, of.theta)
			numeric.Subtract(gap.hess, of.hess)
			floats.Sub(gap.grad, of.grad)
			ofLoss, ofGrad = math.Max(ofLoss, math.Abs(gap.loss-of.loss)), math.Max(ofGrad, floats.Norm(gap.grad, 2))
			ofHess = math.Max(ofHess, numeric.OperatorNorm(gap.hess))
			if q == 0 {
				atTruth = ofGrad
			}
		}
		return []float64{ofLoss, ofGrad, ofHess, atTruth}, at.Err
	})
	if err != nil {
		return err
	}
	b := t.Slopes(e.RNG(29), gaps...)
	r.Near("a2-loss", "A2: slope in N of sup |L_N − L| on Θ_local", b[0], -0.5, 0.005, "−1/2")
	r.Near("a2-gradient", "A2: slope in N of sup ‖∇L_N − ∇L‖", b[1], -0.5, 0.005, "−1/2")
	// The Hessian of single rows of rare codewords is heavy-tailed: at N = 1e4 its mean
	// over replicates has not settled.
	r.Near("a2-hessian", "A2: slope in N of sup ‖∇²L_N − ∇²L‖", b[2], -0.5, 0.02, "−1/2")
	r.Near("a3", "A3: slope in N of ‖∇L_N(θ*)‖", b[3], -0.5, 0, "−1/2")
	return expected.Err
}

// expansion is a loss with its derivatives at a point.
type expansion struct {
	theta, grad []float64
	loss        float64
	hess        *mat.SymDense
}

func expand(p *theory.Loss, theta []float64) expansion {
	x := expansion{theta: theta}
	x.loss, x.grad = p.Gradient(theta)
	x.hess = p.Newton(theta)
	return x
}

// of are trials of one population, under random numbers of that name.
func (e assumptions) of(p theory.Limit, name uint64) *theory.Trials {
	return e.Settings.Draws(p.Weights, e.Sizes, e.Count, name)
}

// widest is how wide a neighbourhood of A4 may be: within half of it the curvature keeps half of
// itself.
const widest = 1.0

// nearCurvature checks A4 in the widest neighbourhood: the curvature off the gauge stays above a
// positive λ there, and descents from its border come back to θ*. How large the
// neighbourhood may be is told: width in parts of the curvature's own length, λ over its slope.
func (e assumptions) nearCurvature(_ context.Context, r *theory.Report) error {
	rng := e.RNG(44)
	model := e.Model.Cheapest()
	gauge := e.Target.(theory.Products).Rescaling
	radius, kept := math.Inf(1), math.Inf(1)
	strays, starts := 0, 0
	for _, p := range e.Limits {
		at, of := p.Theta, &theory.Loss{Model: model, Weights: p.Weights}
		here := leastCurvature(of, gauge, at)
		reach := widest * (here / sharpness(of, p))
		for range 8 {
			point, direction := slices.Clone(at), numeric.Normals(len(at), rng)
			floats.AddScaled(point, reach/2/floats.Norm(direction, 2), direction)
			kept = math.Min(kept, leastCurvature(of, gauge, point)/here)
			starts++
			failed := theory.Fit(model, e.Gauge, point, p.Weights)
			if gauge.Fix(point, at); failed != nil || floats.Distance(point, at, 2) > sameMinimum {
				strays++
			}
		}
		if radius = math.Min(radius, reach); of.Err != nil {
			return of.Err
		}
	}
	r.Record("a4-radius", "A4: radius λ_min⁺/L_H of a neighbourhood without a flat direction, least", theory.Exact(radius), "> 0, and small where a codeword is rare")
	r.Above("a4-uniform", "A4: λ_min⁺ at half that radius over λ_min⁺(θ*), least", theory.Exact(kept), 0.5, "≥ 1/2 by A9")
	r.Equal("a4-unique", fmt.Sprintf("A4: descents of %d from there that end elsewhere than in θ*", starts), float64(strays), 0, "0: θ* is the only minimizer there")
	return nil
}

// leastCurvature is that off the gauge.
func leastCurvature(p *theory.Loss, gauge theory.Gauge, theta []float64) float64 {
	hess := p.Newton(theta)
	estimate.AddProjector(hess, gauge.Directions(theta))
	values, _ := estimate.Spectrum(hess)
	return values[0]
}

// stationarity checks A5: the fits stop at a residual that vanishes, and lie in Θ_local
// with a probability that goes to 1.
func (e assumptions) stationarity(ctx context.Context, r *theory.Report) error {
	short := *e.Experiment
	short.Sizes, short.Count, short.Stream = []int{1e6, 1e8}, max(6, e.Count/3), 45<<32
	o, err := short.Run(ctx)
	if err != nil {
		return err
	}
	var residual float64
	outside := make([][]string, len(short.Sizes))
	for i, x := range o.Replicates {
		residual = math.Max(residual, x.Residual)
		if at := o.Nth(i); !(x.ThetaError <= stationaryRadius) {
			outside[at.Size] = append(outside[at.Size], o.Name(at))
		}
	}
	fits := len(short.Limits) * short.Count
	r.Record("a5-residual", "A5: ε_N = ‖∇L_N(θ̂)‖ of the fits, greatest", theory.Exact(residual), "→ 0: Newton's tolerance")
	r.Record("a5-outside-early", fmt.Sprintf("A5: fits of %d farther than %g from θ* at N = 1e6", fits, stationaryRadius), theory.Exact(float64(len(outside[0]))), "falls to 0")
	r.Rare("a5-outside", fmt.Sprintf("A5: fits of %d farther than %g from θ* at N = 1e8", fits, stationaryRadius), outside[1], fits, theory.LostPart, "0 as N grows")
	return nil
}

// stationaryRadius is the radius of the Θ_local of A5, a third of a factor's length.
const stationaryRadius = 0.5

// curvatureLaw fits λ_min⁺ ∝ p_min^x over designs that differ only in their rarest
// codeword (A4: the constant λ of Theorem 1 is not free of the frequencies).
func (e assumptions) curvatureLaw(_ context.Context, r *theory.Report) error {
	curve := theory.Curve{Label: "smallest curvature"}
	of := newProblem(e.Settings, designOf(e.Settings), e.RNG(30))
	rarest := of.Design.Codewords - 1
	at := &theory.Loss{Model: of.model.Cheapest()}
	for _, least := range []float64{3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6} {
		at.Weights = of.Weights(of.Table.Multinomial(of.Design.WithShare(rarest, least)))
		values, _ := estimate.Spectrum(at.Newton(of.Theta))
		curve.X, curve.Y = append(curve.X, least), append(curve.Y, values[rarest+1]) // the first K are the gauge's zeros
	}
	logP, logLambda := numeric.Logs(curve.X), numeric.Logs(curve.Y)
	r.Near("a4-exponent", "A4: exponent of λ_min⁺ in p_min", theory.Exact(numeric.Line(logP, logLambda)), 1, 0.05, "1: the rarest codeword sets the curvature")
	r.Figures = append(r.Figures, theory.LogLog("curvature", "A4: the smallest curvature off the gauge",
		"p_min, frequency of the rarest codeword", "smallest nonzero eigenvalue",
		curve, curve.PowerLaw("slope 1", math.Exp(numeric.Mean(logLambda)-numeric.Mean(logP)), 1)))
	return at.Err
}

// entanglement is how codeword k of a population hangs on the others.
type entanglement struct {
	constant         float64 // c_k of the joint block off the gauge
	receiver, sender float64 // |c| of a_k and of b_k alone
	influence        float64 // M; NaN where the rest does not identify itself, and then nothing below
	leak, own        float64 // √N of the leakage, and of the codeword's own score
}

// entangled is that of codeword k.
func entangled(p theory.Limit, gauge theory.Rescaling, k int) (x entanglement) {
	h, j, directions := p.Hessian, p.Scores, p.Free
	block := gauge.Coordinates(k)
	x.constant = schurConstant(h, block, directions, directions)
	// a_k or b_k alone, as printed: the other factor among the others can undo it. The
	// other K − 1 rescalings are the gauge of the rest.
	others := slices.Delete(slices.Clone(directions), k, k+1)
	x.receiver = math.Abs(schurConstant(h, block[:gauge.Classes], nil, others))
	x.sender = math.Abs(schurConstant(h, block[gauge.Classes:], nil, others))

	rest := complement(len(p.Theta), block)
	inverse := numeric.QuotientInverse(estimate.Symmetric(dense(h, rest, rest)), restrict(directions, rest))
	if inverse == nil {
		x.influence = math.NaN()
		return x
	}
	var cross mat.Dense
	cross.Mul(dense(h, block, rest), inverse)
	x.influence = spectralNorm(&cross) / p.Occupancy[k]
	// E‖R_k‖² N = tr(B J_−k,−k Bᵀ), B = H_k,−k H⁺_−k,−k.
	x.leak = numeric.PredictedError(&cross, estimate.Symmetric(dense(j, rest, rest)), 1)
	x.own = math.Sqrt(mat.Trace(dense(j, block, block)))
	return x
}

// coupling reports A6, A7, A8 and the leakage term of Theorem 2's proof.
func (e assumptions) coupling(_ context.Context, r *theory.Report) error {
	gauge := e.Target.(theory.Products).Rescaling
	var influence, rare, frequent, receiver, sender, most float64
	smallest, least := math.Inf(1), math.Inf(1)
	var leak, own numeric.Points
	constants := theory.Curve{Label: "c_k, joint block off the gauge"}
	for _, p := range e.Limits {
		for k, part := range p.Occupancy {
			x := entangled(p, gauge, k)
			smallest = math.Min(smallest, x.constant)
			constants.X, constants.Y = append(constants.X, part), append(constants.Y, x.constant)
			if part == floats.Min(p.Occupancy) {
				rare += x.constant / float64(len(e.Limits))
			}
			if part == floats.Max(p.Occupancy) {
				frequent += x.constant / float64(len(e.Limits))
			}
			receiver, sender, influence = math.Max(receiver, x.receiver), math.Max(sender, x.sender), math.Max(influence, x.influence)
			if math.IsNaN(x.influence) {
				continue
			}
			leak.Add(part, x.leak, k)
			own.Add(part, x.own, k)
			moment := x.own * x.own / part
			least, most = math.Min(least, moment), math.Max(most, moment)
		}
	}
	r.Usual("a6", "A6: c_k of the joint block off the gauge, least", smallest, 0.2186, 0.07814, "c > 0")
	r.Record("a6-rare", "A6: c_k of the joint block off the gauge, rarest codeword", theory.Exact(rare), "1 is uncoupled")
	r.Record("a6-frequent", "A6: c_k of the joint block off the gauge, most frequent", theory.Exact(frequent), "lower: it shares rows with all")
	r.Above("a6-order", "A6: c_k of the rarest codeword over that of the most frequent", theory.Exact(rare/frequent), 1, "> 1")
	r.Rounding("a6-receiver", "A6: c_k of a_k alone, as printed, largest", receiver, 1e-8, "0: b_k undoes a rescaling of a_k")
	r.Rounding("a6-sender", "A6: c_k of b_k alone, as printed, largest", sender, 1e-8, "0: a_k undoes a rescaling of b_k")
	r.Usual("a7", "A7: M, the largest conditional influence", influence, 41.73, 26.19, "finite")
	r.Record("a8-gradient-least", "A8: E‖g_k‖² per occurrence, least", theory.Exact(least), "bounded")
	r.Usual("a8-gradient", "A8: E‖g_k‖² per occurrence, greatest", most, 3.673, 1.582, "bounded")
	r.Near("gradient-block", "gradient block ‖∇_k L_N(θ*)‖: slope on N_k/N", theory.Exact(own.Slope()), 0.5, 0.15, "1/2")
	r.Record("leakage", "leakage ‖R_k‖: slope on N_k/N, all frequencies shifted", theory.Exact(leak.Slope()), "near 1: it is at most of that order")
	r.Figures = append(r.Figures, theory.Figure{
		Name: "schur", Title: "A6: how much of a codeword's curvature coupling leaves",
		XLabel: "N_k/N, occurrences per row", YLabel: "Schur constant c_k", LogX: true,
		Curves: []theory.Curve{constants},
	})
	return nil
}

// manySlots repeats A6 with w = 8, where a frequent codeword fills most cells.
func (e assumptions) manySlots(_ context.Context, r *theory.Report) error {
	d := theory.Fast()
	d.Slots = 8
	p := newProblem(e.Settings, d, e.RNG(31))
	p.model = p.Table.ByHand(p.Design.Identity) // the graph, which the loss by hand equals, takes long over 6435 cells
	of, err := p.population(p.model, p.law(0))
	if err != nil {
		return err
	}
	c := schurConstant(of.Hessian, p.gauge.Coordinates(0), of.Free, of.Free)
	r.Record("a6-many-slots", "A6: c_k of the most frequent codeword at w = 8", theory.Exact(c), "lower still")
	return nil
}

// lipschitz estimates L_H of A9 from random pairs of points in Θ_local, of a sample and
// of the population.
func (e assumptions) lipschitz(ctx context.Context, r *theory.Report) error {
	rng := e.RNG(32)
	model := e.Model.Cheapest()
	var ofSamples, ofPopulations, sharpest float64
	for _, p := range e.Limits {
		if err := ctx.Err(); err != nil {
			return err
		}
		sample, population := &theory.Loss{Model: model, Weights: theory.Sample(p.Weights, 1e6, rng)}, &theory.Loss{Model: model, Weights: p.Weights}
		for range 10 {
			x, y := nearby(p.Theta, rng), nearby(p.Theta, rng)
			ofSamples, ofPopulations = math.Max(ofSamples, steepness(sample, x, y)), math.Max(ofPopulations, steepness(population, x, y))
		}
		// Random pairs understate a supremum: along the top curvature's own third
		// derivative it is larger.
		sharpest = math.Max(sharpest, sharpness(population, p))
		if err := cmp.Or(sample.Err, population.Err); err != nil {
			return err
		}
	}
	r.Record("a9-population", "A9: L_H on Θ_local, of the population, along its steepest direction", theory.Exact(math.Max(ofPopulations, sharpest)), "finite")
	r.Near("a9", "A9: L_H of samples of 1e6 over the population's, pairs of points of Θ_local", theory.Exact(ofSamples/ofPopulations), 1, 0.15, "1 with probability → 1")
	return nil
}

// steepness is how much the Hessian changes from x to y, in parts of their distance.
func steepness(p *theory.Loss, x, y []float64) float64 {
	change := p.Newton(y)
	numeric.Subtract(change, p.Newton(x))
	return numeric.OperatorNorm(change) / floats.Distance(x, y, 2)
}

// sharpness climbs |∇²L(θ*+hu) − ∇²L(θ*)|/h over unit u by alternating between the
// eigenvector v of the largest change and the direction ∇(vᵀ∇²L v) it changes in.
func sharpness(p *theory.Loss, of theory.Limit) (norm float64) {
	const h = bendingStep
	theta, n := of.Theta, len(of.Theta)
	_, vectors := estimate.Spectrum(of.Hessian)
	v := mat.Col(nil, n-1, vectors)
	point := make([]float64, n)
	for range 10 {
		u, _ := bending(p, theta, v)
		floats.Scale(1/floats.Norm(u, 2), u)
		floats.AddScaledTo(point, theta, h, u)
		hess := p.Newton(point)
		numeric.Subtract(hess, of.Hessian)
		hess.ScaleSym(1/h, hess)
		values, vectors := estimate.Spectrum(hess)
		top := 0
		if math.Abs(values[n-1]) > math.Abs(values[0]) {
			top = n - 1
		}
		norm = math.Abs(values[top])
		v = mat.Col(nil, top, vectors)
	}
	return norm
}

// moments checks A8 where the calibrator cannot represent the law: the gradients of a
// codeword's occurrences have mean zero over all its cells, not within one; the Hessian
// contributions have moments; and averages over the occurrences in a sample settle as
// N_k^(−1/2).
func (e assumptions) moments(ctx context.Context, r *theory.Report) error {
	m, problems := new(theory.Experiment), new(misspecifiedProblems)
	for n := 100; len(m.Limits) == 0; n++ {
		var err error
		if m, err = problems.draw(ctx, e.Settings, n); err != nil {
			return err
		}
	}
	block, cell, _, wrongErr := (assumptions{m}).meanGradients()
	_, right, hessian, err := e.meanGradients()
	if err := cmp.Or(wrongErr, err); err != nil {
		return err
	}
	r.Rounding("a8-mean-zero", "A8: mean gradient of a codeword's occurrences, misspecified, largest", block, 1e-8, "0: θ* is stationary")
	r.Usual("a8-cell", "A8: mean gradient of a codeword within one cell, misspecified, largest", cell, 0.8705, 0.4823, "not 0: rows of one cell are no mean-zero draws")
	r.Rounding("a8-cell-right", "A8: the same where the calibrator is right", right, 1e-10, "0: then they are")
	r.Usual("a8-hessian", "A8: E‖H_k‖ per occurrence, greatest", hessian, 2.028, 0.9486, "bounded")

	return e.conditionalLaw(ctx, r)
}

// conditionalLaw checks the conditional law of large numbers of A8, for the codeword of middle frequency.
func (e assumptions) conditionalLaw(ctx context.Context, r *theory.Report) error {
	p, gauge := e.Limits[0], e.Target.(theory.Products).Rescaling
	k := gauge.Codewords / 2
	block := gauge.Coordinates(k)
	model := e.Model.Cheapest()
	population := &theory.Loss{Model: model, Weights: p.Weights}
	expected := population.Newton(p.Theta)
	t := e.of(p, 46)
	gap, _, err := t.Measure(ctx, model, 1, func(model theory.Model, x theory.Trial) ([]float64, error) {
		at := &theory.Loss{Model: model, Weights: t.Draw(x)}
		hess := at.Newton(p.Theta)
		numeric.Subtract(hess, expected)
		return []float64{mat.Norm(dense(hess, block, block), 2) / p.Occupancy[k]}, at.Err
	})
	if err != nil {
		return err
	}
	b := t.Slopes(e.RNG(47), gap...)
	r.Near("a8-lln", "A8: slope in N_k of the occurrences' mean Hessian against its expectation", b[0], -0.5, 0.01, "−1/2: the conditional law of large numbers")
	return population.Err
}

// meanGradients returns, over the populations, the largest mean of ∇_k ℓ over a codeword's
// occurrences, over those within one cell, and the largest E‖∇²_kk ℓ‖ per occurrence.
func (e assumptions) meanGradients() (block, cell, hessian float64, err error) {
	gauge, p := e.Target.(theory.Products).Rescaling, e.Limits[0]
	at, total := &theory.Loss{Model: e.Model.Cheapest()}, make([]float64, e.Model.Dim())
	norms := make([]float64, gauge.Codewords)
	for v, c := range e.Truth.Table.Cells {
		at.Weights = make([]float64, len(p.Weights))
		mass := floats.Sum(e.Truth.Table.Of(p.Weights, v))
		floats.AddScaled(e.Truth.Table.Of(at.Weights, v), 1/mass, e.Truth.Table.Of(p.Weights, v))
		_, grad := at.Gradient(p.Theta)
		hess := at.Newton(p.Theta)
		floats.AddScaled(total, mass, grad)
		for _, o := range c.Occurrences {
			own := gauge.Coordinates(o.Codeword)
			// ∇_k of a row is the sum over the slots that hold k, all alike.
			cell = math.Max(cell, theory.Rows{own}.Size(0, grad)/o.Count)
			norms[o.Codeword] += mass * spectralNorm(dense(hess, own, own))
		}
	}
	for k, norm := range norms {
		block = math.Max(block, theory.Rows{gauge.Coordinates(k)}.Size(0, total)/p.Occupancy[k])
		hessian = math.Max(hessian, norm/p.Occupancy[k])
	}
	return block, cell, hessian, at.Err
}

// taylor tests the first step of the printed proofs, which expands the gradient with
// one point θ̃ between θ̂ and θ*:
//
//	∇L_N(θ̂) = ∇L_N(θ*) + ∇²L_N(θ̃) Δ.
//
// The mean value theorem gives such a point for each coordinate, not one for all. What
// holds is the integral form, with ∫₀¹ ∇²L_N(θ* + tΔ) dt in its place; A2, A4 and A9 bound
// that mean as they bound the single Hessian, so both theorems stand.
func (e assumptions) taylor(_ context.Context, r *theory.Report) error {
	p := e.Limits[0]
	model := e.Model.Cheapest()
	n := model.Dim()
	sample := theory.Sample(p.Weights, 1e5, e.RNG(48))
	fit := slices.Clone(p.Theta)
	lost := theory.Fit(model, e.Target.(theory.Products).Rescaling, fit, sample) != nil
	of := &theory.Loss{Model: model, Weights: sample}
	_, here := of.Gradient(p.Theta)
	_, there := of.Gradient(fit)
	step, change := make([]float64, n), make([]float64, n)
	floats.SubTo(step, fit, p.Theta)
	floats.SubTo(change, there, here)
	point := make([]float64, n)
	along := func(t float64) []float64 {
		floats.AddScaledTo(point, p.Theta, t, step)
		return numeric.Product(of.Newton(point), step)
	}
	// With a spacing of 1/200 in t the least residual is good to a hundredth of itself.
	least := math.Inf(1)
	for i := range 201 {
		least = math.Min(least, floats.Distance(along(float64(i)/200), change, 2))
	}
	const nodes = 12
	at, weight := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(at, weight, 0, 1)
	integral := make([]float64, n)
	for i := range at {
		floats.AddScaled(integral, weight[i], along(at[i]))
	}
	size := floats.Norm(change, 2)
	quantity := "Taylor step: ‖∇L_N(θ̂) − ∇L_N(θ*) − ∇²L_N(θ̃)Δ‖ / ‖∇L_N(θ̂) − ∇L_N(θ*)‖, least over θ̃ between them, N = 1e5"
	if lost {
		quantity += " (no minimum near θ*: where the descent stopped)"
	}
	r.Above("taylor-point", quantity, theory.Exact(least/size), 1e-4, "not 0: no one point serves all coordinates")
	r.Rounding("taylor-integral", "Taylor step with ∫ ∇²L_N(θ* + tΔ) dt in its place, the same ratio", floats.Distance(integral, change, 2)/size, 1e-8, "0: the integral form is exact")
	return of.Err
}

// bendingStep is h of the second differences of a gradient, which is good to 1e-16: an error of 1e-10.
const bendingStep = 1e-3

// bending is the direction ∇(vᵀ∇²L v), times h², in which the curvature along v rises fastest, and that in
// which it falls.
func bending(p *theory.Loss, theta, v []float64) (rises, falls []float64) {
	point := make([]float64, len(theta))
	gradient := func(step float64) []float64 {
		floats.AddScaledTo(point, theta, step, v)
		_, grad := p.Gradient(point)
		return grad
	}
	here, ahead, behind := gradient(0), gradient(bendingStep), gradient(-bendingStep)
	floats.AddScaled(ahead, -2, here)
	floats.Add(ahead, behind)
	return ahead, floats.ScaleTo(make([]float64, len(theta)), -1, ahead)
}
