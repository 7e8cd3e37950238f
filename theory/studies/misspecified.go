package studies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// populationStarts is how many starts the search for θ* of a misspecified
// population makes: the factors the law was disturbed from, and perturbations.
const populationStarts = 9

// disturbance of the logits of the true law (shared/theory.md, section 2).
const disturbance = 0.1

// startSpread is the standard deviation of a perturbed start.
const startSpread = 0.3

// sameMinimum is the distance below which two descents ended in one minimum.
const sameMinimum = 1e-3

// errUnbounded means that a population's loss falls without end from each start: it has no θ*.
var errUnbounded = errors.New("theory: no start reached a minimum of the misspecified population: lower the disturbance")

// pseudoTrue returns θ*, the best stationary point of the population loss with a
// positive definite quotient Hessian, from nine starts near theta, and how far the
// loss of the next best minimum lies above (infinite if none was found). Without a
// minimum the error is errUnbounded.
func pseudoTrue(model theory.Model, gauge theory.Gauge, theta, weights []float64, rng *rand.Rand) (best []float64, gap float64, err error) {
	var minima [][]float64
	var losses []float64
	at := &theory.Loss{Model: model, Weights: weights}
	for start := range populationStarts {
		point := slices.Clone(theta)
		if start > 0 {
			floats.AddScaled(point, startSpread, numeric.Normals(len(point), rng))
		}
		if theory.Fit(model, gauge, point, weights) != nil {
			continue // one start may run along a valley of the loss; the others decide
		}
		loss, _ := at.Gradient(point)
		hess := at.Newton(point)
		if at.Err != nil {
			return nil, 0, at.Err
		}
		gauge.Fix(point, theta)
		known := func(other []float64) bool { return floats.Distance(point, other, 2) < sameMinimum }
		if numeric.QuotientInverse(hess, gauge.Directions(point)) != nil && !slices.ContainsFunc(minima, known) {
			minima, losses = append(minima, point), append(losses, loss)
		}
	}
	if minima == nil {
		return nil, 0, errUnbounded
	}
	best, gap = minima[floats.MinIdx(losses)], math.Inf(1)
	if slices.Sort(losses); len(losses) > 1 {
		gap = losses[1] - losses[0]
	}
	return best, gap, nil
}

// certain is the standard deviation of θ̂ in its least certain direction up to which a
// sample is judged; the factors have length 1.4. A law that the calibrator cannot represent
// may have almost no curvature somewhere, and then needs more rows than N = 3e5.
const certain = 0.1

// apart is a population whose next best minimum lies so far above θ* in its loss.
type apart struct {
	theory.Limit
	gap float64
}

// draw makes problem number n, whose law the calibrator cannot represent, under four shifts of the design, and
// leaves out the populations that have no θ* of their own.
func (x *misspecifiedProblems) draw(ctx context.Context, s theory.Settings, n int) (*theory.Experiment, error) {
	rng := s.RNG(7, uint64(n))
	p := newProblem(s, theory.Fast(), rng)
	p.Truth.Misspecify(disturbance, rng)
	e := &theory.Experiment{
		Trials: theory.Trials{Settings: s, Count: x.replicates}, Truth: p.Truth, Model: p.model, Gauge: p.gauge, Target: p.target, Stream: 8<<32 + uint64(n),
	}
	shifts := p.Design.Shifts(4)
	found, err := theory.Each(ctx, len(shifts), p.model.Cheapest(), func(model theory.Model, i int) (*apart, error) {
		law := p.law(shifts[i])
		theta, gap, err := pseudoTrue(model, p.gauge, p.Theta, p.Weights(law), s.RNG(9, uint64(n), uint64(i)))
		if errors.Is(err, errUnbounded) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		of, err := p.Limit(model, p.gauge, theta, law)
		return &apart{of, gap}, err
	})
	if err != nil {
		return nil, err
	}
	x.drawn += len(shifts)
	bounded := slices.DeleteFunc(slices.Clone(found), func(of *apart) bool { return of == nil })
	for i, of := range found {
		if of == nil {
			x.unbounded = append(x.unbounded, fmt.Sprintf("seed %d, problem %d, shift %d", s.Seed, n, shifts[i]))
		}
	}
	e.Limits = data.Each(bounded, func(of *apart) theory.Limit { return of.Limit })
	e.Sizes = []int{3e5, 1e6}
	for e.Reach()/math.Sqrt(float64(e.Sizes[0])) > certain {
		e.Sizes[0], e.Sizes[1] = 10*e.Sizes[0], 10*e.Sizes[1]
	}
	// A sample of N lowers the loss of a minimum by about df/2N. Where another lies
	// less than twice that above θ*, a sample's best may be either: θ* is then not
	// unique (A4).
	unique := slices.DeleteFunc(slices.Clone(bounded), func(of *apart) bool {
		return of.gap < float64(of.Freedom())/float64(e.Sizes[0])
	})
	e.Limits = data.Each(unique, func(of *apart) theory.Limit { return of.Limit })
	x.competing += len(bounded) - len(unique)
	return e, nil
}

// misspecifiedProblems sums up what the problems gave.
type misspecifiedProblems struct {
	replicates int
	problems   []int           // that have a population
	all        []*theory.Rates // of each of them
	gradient   float64         // the greatest

	outliers, unbounded []string
	total, drawn        int
	competing           int // populations left out for a second minimum
}

// add takes what the replicates of a problem gave; its outliers are left out.
func (x *misspecifiedProblems) add(problem int, o *theory.Outcome) {
	x.outliers = append(x.outliers, o.KeepNeighbourhood()...)
	x.total += o.Total()
	x.problems, x.all = append(x.problems, problem), append(x.all, o.Rates(0))
}

// of are a number of each problem.
func (x *misspecifiedProblems) of(number func(*theory.Rates) float64) []float64 {
	return data.Each(x.all, number)
}

// mean is that of an estimate over the problems, and of what first-order theory leaves open of it.
func (x *misspecifiedProblems) mean(of func(*theory.Rates) (e theory.Estimate, left float64)) (_ theory.Estimate, left float64) {
	var values []float64
	var variance float64
	n := float64(len(x.all))
	for _, one := range x.all {
		e, open := of(one)
		values, variance, left = append(values, e.Value), variance+numeric.Square(e.Error), left+open
	}
	return theory.WithError(numeric.Mean(values), math.Sqrt(variance)/n, x.replicates-1), left / n
}

// report adds the rows of all problems.
func (x *misspecifiedProblems) report(r *theory.Report) error {
	r.Rare("unbounded", fmt.Sprintf("populations of %d left out: no minimum near the factors that the law was disturbed from", x.drawn),
		x.unbounded, x.drawn, theory.OutlierPart, fmt.Sprintf("at most %g of them; A4 fails there: the loss falls without end", theory.OutlierPart))
	if len(x.all) == 0 {
		return errors.New("theory: every misspecified population has competing minima, or none: take another seed")
	}
	each := fmt.Sprintf(" of %d problems", len(x.all))
	widest := x.of(func(x *theory.Rates) float64 { return float64(x.Sizes[1]) })
	ratios := x.of(func(x *theory.Rates) float64 { return x.Ratio.Value })
	naives := x.of(func(x *theory.Rates) float64 { return x.NaiveRatio })
	explained := x.of(func(x *theory.Rates) float64 { return 0.02 + x.LeftOut() + x.Ratio.Chance() })
	farthest, notices := 0.0, math.Inf(1)
	for i, one := range x.all {
		farthest = math.Max(farthest, math.Abs(one.Ratio.Value-1)/explained[i])
		notices = math.Min(notices, explained[i]+distuv.UnitNormal.Quantile(0.9)*one.Ratio.Error)
	}
	ratio, ratioLeft := x.mean(func(x *theory.Rates) (theory.Estimate, float64) { return x.Ratio, x.LeftOut() })
	wald, waldLeft := x.mean(func(x *theory.Rates) (theory.Estimate, float64) { return x.Wald, x.LeftOutOfWald() })
	beta, betaLeft := x.mean(func(x *theory.Rates) (theory.Estimate, float64) { return x.BetaN, x.LeftOutOfSlope() })

	r.Record("competing", fmt.Sprintf("populations of %d left out: a second minimum within df/N of θ*", x.drawn), theory.Exact(float64(x.competing)), "A4 fails there: θ* is not unique")
	r.Record("largest-n", "largest N that a problem needs: N = 1e6, or more where the law has little curvature", theory.Exact(slices.Max(widest)), "1e6")
	r.Rounding("population-gradient", "‖∇L(θ*)‖ of the populations, by the graph", x.gradient, 1e-10, "0: θ* is stationary")
	r.Ratio("ratio", "observed/sandwich RMSE, mean"+each, ratio, 1, ratioLeft, "1")
	r.Record("ratio-least", "observed/sandwich RMSE, least"+each, theory.Exact(slices.Min(ratios)), "1")
	r.Record("ratio-greatest", "observed/sandwich RMSE, greatest"+each, theory.Exact(slices.Max(ratios)), "1")
	r.Judge(theory.Row{
		Key: "ratio-farthest", Quantity: "farthest problem from 1, in parts of what chance and second order explain",
		Estimate: theory.Exact(farthest), Target: math.NaN(), Theory: "≤ 1", Level: theory.RowLevel * float64(len(x.all)), Notices: notices,
	}, theory.Band{Low: 0, High: 1})
	r.Ratio("wald", "Wald/df, mean"+each, wald, 1, waldLeft, "1")
	r.Record("naive-least", "naive H⁻¹ prediction / sandwich, least", theory.Exact(slices.Min(naives)), "below 1: H⁻¹ is not the variance here")
	r.Below("naive-greatest", "naive H⁻¹ prediction / sandwich, greatest", theory.Exact(slices.Max(naives)), 0.95, "below 1: the sandwich is needed")
	r.Rare("outliers", fmt.Sprintf("replicates of %d that left the neighbourhood of θ*: Wald/df > %g, or no minimum", x.total, theory.WaldOutlier),
		x.outliers, x.total, theory.OutlierPart, fmt.Sprintf("at most %g of them; they do not enter the ratio", theory.OutlierPart))
	r.Near("beta-n", "β_N, mean"+each, beta, -0.5, betaLeft, "−1/2")
	measured, naive := theory.Curve{Label: "sandwich, one problem each"}, theory.Curve{Label: "naive prediction, H in place of the sandwich"}
	for i, problem := range x.problems {
		measured.Add(float64(problem+1), x.all[i].Ratio)
		naive.Add(float64(problem+1), x.all[i].Ratio.Over(naives[i]))
	}
	r.Figures = append(r.Figures, theory.Figure{
		Name: "ratio", Title: "Misspecified: observed error over prediction",
		XLabel: "problem", YLabel: "RMSE / prediction at the largest N",
		Curves: []theory.Curve{measured, naive, measured.PowerLaw("theory: 1", 1, 0)},
	})
	return nil
}

// eachMisspecified fits the samples of each problem and hands on what they gave.
func eachMisspecified(ctx context.Context, s theory.Settings, x *misspecifiedProblems, visit func(problem int, o *theory.Outcome)) error {
	for problem := range choose(s, 3, 12) {
		e, err := x.draw(ctx, s, problem)
		if err != nil {
			return err
		}
		if len(e.Limits) == 0 {
			continue
		}
		g, err := e.PopulationGradient()
		if err != nil {
			return err
		}
		x.gradient = math.Max(x.gradient, g)
		o, err := e.Run(ctx)
		if err != nil {
			return err
		}
		visit(problem, o)
	}
	return nil
}

func runMisspecified(ctx context.Context, s theory.Settings, r *theory.Report) error {
	x := &misspecifiedProblems{replicates: replicates(s, 32, 40)}
	if err := eachMisspecified(ctx, s, x, x.add); err != nil {
		return err
	}
	return x.report(r)
}
