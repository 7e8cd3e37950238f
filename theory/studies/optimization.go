package studies

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// randomResidual returns εu, u a random unit vector off the gauge at theta.
func randomResidual(size float64, theta []float64, gauge theory.Gauge, rng *rand.Rand) []float64 {
	u := numeric.Normals(len(theta), rng)
	estimate.ProjectOff(u, gauge.Directions(theta))
	floats.Scale(size/floats.Norm(u, 2), u)
	return u
}

// optimization is what a residual of descents does to an experiment.
type optimization struct{ *theory.Experiment }

// imposed is the residual ‖∇L‖ of the gain's measurement: small enough for the
// response to be linear, large enough to stand clear of the tolerance 1e-11.
const imposed = 1e-6

func runOptimizationError(ctx context.Context, s theory.Settings, r *theory.Report) error {
	setUp := func(d theory.Design) (optimization, *problem, error) {
		p := newProblem(s, d, s.RNG(10))
		e, err := p.experiment(ctx, p.shifted(d.Codewords)...)
		return optimization{e}, p, err
	}
	narrow, p, err := setUp(theory.Fast())
	if err != nil {
		return err
	}
	wide := narrow
	if s.Effort == theory.Complete {
		if wide, _, err = setUp(theory.Full()); err != nil {
			return err
		}
	}
	if err := wide.gains(ctx, r, p); err != nil {
		return err
	}
	if err := narrow.earlyStop(ctx, r); err != nil {
		return err
	}
	// A residual of 3e-4 throws codewords with a gain in the hundreds out of their
	// basin, so the schedules take frequencies that fall by one decade only.
	even := theory.Fast()
	even.Decades = 1
	mild, _, err := setUp(even)
	if err != nil {
		return err
	}
	return mild.schedules(ctx, r)
}

// response is how far codeword k of a population moves under a residual ε.
type response struct {
	codeword int
	part     float64   // N_k/N
	moved    []float64 // |Δ_k|/ε of each direction u
	linear   float64   // root mean square of |(H⁺u)_k| over unit u off the gauge
}

// aloneFrequencies are those that one codeword takes while the others share the rest alike.
var aloneFrequencies = []float64{0.1, 0.01, 0.001}

// movedAlone are the laws of the cells with one codeword's frequency moved alone, codeword by codeword.
func movedAlone(t *theory.Truth) (laws [][]float64) {
	K := t.Design.Codewords
	for k := range K {
		for _, own := range aloneFrequencies {
			frequency := slices.Repeat([]float64{(1 - own) / float64(K-1)}, K)
			frequency[k] = own
			laws = append(laws, t.Table.Multinomial(frequency))
		}
	}
	return laws
}

// gains measures |Δ_k|/ε two ways: over e's cyclic shifts, where every frequency
// moves at once, and with one codeword's frequency of the narrow problem moved alone.
func (e optimization) gains(ctx context.Context, r *theory.Report, narrow *problem) error {
	shifted, err := e.respond(ctx, func(int) []int { return data.UpTo(e.Target.Blocks()) })
	if err != nil {
		return err
	}
	alone, err := narrow.experiment(ctx, movedAlone(narrow.Truth)...)
	if err != nil {
		return err
	}
	own, err := optimization{alone}.respond(ctx, func(population int) []int { return []int{population / len(aloneFrequencies)} })
	if err != nil {
		return err
	}
	ownSlope, ownLinear := gainSlope(own, e.RNG(12, 0))
	r.Near("gain-alone", "slope of |Δ_k|/ε on N_k/N, one frequency moved alone", ownSlope, ownLinear, 0.02, "the linear response's, near -1")
	r.Record("gain-alone-linear", "… of the linear response", theory.Exact(ownLinear), "−1: N/N_k hides in O_p(ε_N)")
	slopes, linear := gainSlope(shifted, e.RNG(12, 1))
	r.Near("gain-shifted", "slope of |Δ_k|/ε on N_k/N, all frequencies shifted", slopes, linear, 0.02, "the linear response's")
	measured := theory.Curve{Label: "|Δ_k|/ε, imposed residual"}
	line := theory.Curve{Label: "linear response"}
	for _, x := range shifted {
		measured.Add(x.part, theory.RMS(x.moved))
		line.X, line.Y = append(line.X, x.part), append(line.Y, x.linear)
	}
	var frequent, rare []float64
	for i, part := range measured.X {
		if part > 0.999*floats.Max(measured.X) {
			frequent = append(frequent, measured.Y[i])
		}
		if part < 1.001*floats.Min(measured.X) {
			rare = append(rare, measured.Y[i])
		}
	}
	r.Record("gain-frequent", "gain |Δ_k|/ε of the most frequent codeword, median over shifts", theory.Exact(median(frequent)), "hidden in O_p(ε_N)")
	r.Record("gain-rare", "gain |Δ_k|/ε of the rarest codeword, median over shifts", theory.Exact(median(rare)), "hidden in O_p(ε_N): N/N_k larger")
	scale := math.Exp(numeric.Mean(numeric.Logs(measured.Y)) + numeric.Mean(numeric.Logs(measured.X)))
	r.Figures = append(r.Figures, theory.LogLog("gain", "What an optimization error ε does to a codeword",
		"N_k/N, occurrences per row", "|Δ_k| / ε", measured, line, measured.PowerLaw("slope −1", scale, -1)))
	return nil
}

// respond imposes ∇L_N = εu on one large sample per population, for random unit u
// off the gauge, and records how far the chosen codewords' factors move.
func (e optimization) respond(ctx context.Context, chosen func(population int) []int) ([]response, error) {
	const N = 1e7
	directions := choose(e.Settings, 14, 40)
	gauge := e.Target.(theory.Products).Rescaling
	perPopulation, err := theory.Each(ctx, len(e.Limits), e.Model, func(model theory.Model, at int) (moves []response, err error) {
		p := e.Limits[at]
		rng := e.RNG(11, uint64(len(e.Limits)), uint64(at))
		sample := theory.Sample(p.Weights, N, rng)
		fit := slices.Clone(p.Theta)
		settled := theory.Fit(model, e.Gauge, fit, sample) == nil
		e.Gauge.Fix(fit, p.Theta)
		for _, k := range chosen(at) {
			// E|(H⁺u)_k|² over unit u off the gauge is tr[(H⁺H⁺)_kk]/freedom.
			var sum float64
			for _, row := range gauge.Coordinates(k) {
				for col := range p.Theta {
					h := p.Inverse.At(row, col)
					sum += h * h
				}
			}
			moves = append(moves, response{
				codeword: k, part: p.Occupancy[k], linear: math.Sqrt(sum / float64(p.Freedom())),
			})
		}
		for range directions {
			theta := slices.Clone(fit)
			residual := randomResidual(imposed, fit, gauge, rng)
			again := settled && theory.Fit(&quadratic{Model: model, tilt: residual}, e.Gauge, theta, sample) == nil
			e.Gauge.Fix(theta, fit)
			for n := range moves {
				x, moved := &moves[n], math.NaN() // counts for nothing, as rms reads it
				if again {
					moved = theory.Pairs{Rescaling: gauge}.Distance(x.codeword, theta, fit) / imposed
				}
				x.moved = append(x.moved, moved)
			}
		}
		return moves, nil
	})
	return slices.Concat(perPopulation...), err
}

// gainSlope regresses log gain on log N_k/N with codeword effects, and does the same
// with the linear response. The bootstrap resamples directions.
func gainSlope(responses []response, rng *rand.Rand) (measured theory.Estimate, linear float64) {
	var expected numeric.Points
	for _, x := range responses {
		expected.Add(x.part, x.linear, x.codeword)
	}
	estimates := theory.Bootstrap(len(responses), len(responses[0].moved), rng, func(pick [][]int) []float64 {
		var gains numeric.Points
		for i, x := range responses {
			gains.Add(x.part, numeric.RMS(x.moved, pick[i]), x.codeword)
		}
		return []float64{gains.Slope()}
	})
	return estimates[0], expected.Slope()
}

// schedule is a law for the residual ε_N = scale·N^exponent.
type schedule struct {
	key, name       string
	scale, exponent float64
}

func (s schedule) at(N int) float64 { return s.scale * math.Pow(float64(N), s.exponent) }

var schedules = []schedule{
	{key: "constant", name: "ε = 3e-4", scale: 3e-4, exponent: 0},
	{key: "root", name: "ε = 0.5 N^(−1/2)", scale: 0.5, exponent: -0.5},
	{key: "slow", name: "ε = 0.01 N^(−1/4)", scale: 0.01, exponent: -0.25},
}

// schedules fits with a residual ε_N = ‖∇L_N(θ̂)‖ of each law and compares the error with what
// O_p(N^−1/2) + O_p(ε_N) stands for (Theorem 1): to first order
//
//	E‖θ̂ − θ*‖² = tr(S)/N + ε_N² tr(H⁺H⁺)/df.
func (e optimization) schedules(ctx context.Context, r *theory.Report) error {
	p := e.Limits[0]
	sampling := p.Covariance.Trace()
	identity := mat.NewDiagDense(len(p.Theta), slices.Repeat([]float64{1}, len(p.Theta)))
	bending := estimate.Congruence(identity, p.Inverse).Trace() / float64(p.Freedom())
	figure := theory.LogLog("schedules", "Theorem 1 with a residual ε_N", "N", "RMS of ‖θ̂ − θ*‖")
	fits := 0
	var lost []string
	for n, law := range schedules {
		t := e.Settings.Draws(p.Weights, []int{1e7, 1e8, 1e9}, choose(e.Settings, 20, 60), 13, uint64(n))
		t.What = law.name
		errors, losses, err := t.Measure(ctx, e.Model, 1, func(model theory.Model, x theory.Trial) ([]float64, error) {
			at, theta := &theory.Loss{Model: model, Weights: t.Draw(x)}, slices.Clone(p.Theta)
			at.Fit(e.Gauge, theta)
			at.Model = &quadratic{Model: model, tilt: randomResidual(law.at(x.N), theta, e.Target.(theory.Products).Rescaling, x.Rand)}
			at.Fit(e.Gauge, theta)
			e.Gauge.Fix(theta, p.Theta)
			return []float64{floats.Distance(theta, p.Theta, 2)}, at.Err
		})
		if err != nil {
			return err
		}
		fits, lost = fits+t.Total(), append(lost, losses...)
		predicted := figure.Against(law.name, "tr(S)/N + ε² tr(H⁺H⁺)/df, root", len(t.Sizes), func(size int) (float64, theory.Estimate, float64) {
			N, eps := float64(t.Sizes[size]), law.at(t.Sizes[size])
			return N, theory.RMS(errors[0][size]), math.Sqrt(sampling/N + eps*eps*bending)
		})
		linear, second := numeric.Line(numeric.Logs(predicted.X), numeric.Logs(predicted.Y)), numeric.Square(floats.Max(predicted.Y))
		b := t.Slopes(e.RNG(14, uint64(n)), errors...)
		r.Near("schedule-"+law.key, "slope of ‖θ̂ − θ*‖ over N = 1e7 … 1e9, "+law.name, b[0], linear, 0.01+second/math.Log(100),
			fmt.Sprintf("first order; between %g and -1/2", law.exponent))
	}
	r.Unsettled(lost, fits, theory.LostPart)
	r.Figures = append(r.Figures, figure)
	return nil
}

// earlyStop compares where L-BFGS stops at ‖∇L‖ ≤ tolerance with where Newton does.
func (e optimization) earlyStop(ctx context.Context, r *theory.Report) error {
	K, p, tolerances := e.Target.Blocks(), e.Limits[0], []float64{2e-5, 1e-8}
	t := e.Settings.Draws(p.Weights, []int{1e6}, choose(e.Settings, 4, 20))
	t.Rand = func(x theory.Trial) *rand.Rand { return e.RNG(15, uint64(x.Replicate)) }
	// Of each block, what each tolerance leaves and then the statistical error.
	errors, _, err := t.Measure(ctx, e.Model, K*(len(tolerances)+1), func(model theory.Model, x theory.Trial) (found []float64, err error) {
		sample, optimum := t.Draw(x), slices.Clone(p.Theta)
		if err := theory.Fit(model, e.Gauge, optimum, sample); err != nil {
			return nil, theory.Lost{Err: err}
		}
		distances := func(theta, reference []float64) {
			for k := range K {
				found = append(found, e.Target.Distance(k, theta, reference))
			}
		}
		for _, tolerance := range tolerances {
			stopped, err := stoppedAt(tolerance, model.Cheapest(), p.Theta, sample)
			if err != nil {
				return nil, err
			}
			distances(stopped, optimum)
		}
		distances(optimum, p.Theta)
		return found, nil
	})
	if err != nil {
		return err
	}
	rmsOf := func(column int) float64 { return numeric.RMS(errors[column][0], data.UpTo(t.Count)) }
	for i, tolerance := range tolerances {
		var worst float64
		for k := range K {
			worst = math.Max(worst, rmsOf(i*K+k)/rmsOf(len(tolerances)*K+k))
		}
		quantity := fmt.Sprintf("L-BFGS stopped at ‖∇L‖ ≤ %g: RMS error left / statistical, worst block", tolerance)
		if i == 0 {
			r.Record("early-stop", quantity, theory.Exact(worst), "0 at an optimum")
		} else {
			r.Below("late-stop", quantity, theory.Exact(worst), 0.02, "0 at an optimum")
		}
	}
	return nil
}

// stoppedAt is where L-BFGS stops from theta at ‖∇L‖ ≤ tolerance.
func stoppedAt(tolerance float64, model theory.Model, theta, sample []float64) ([]float64, error) {
	at := slices.Clone(theta)
	settings := optimize.Settings{GradientThreshold: tolerance, MajorIterations: 5000, Converger: optimize.NeverTerminate{}}
	_, err := estimate.LBFGS(at, settings, func(grad, theta []float64) float64 {
		loss, err := model.Gradient(grad, theta, sample)
		if err != nil {
			return math.Inf(1) // the line search comes back from there
		}
		return loss
	})
	if err != nil {
		return nil, fmt.Errorf("L-BFGS: %w", err)
	}
	return at, nil
}
