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
