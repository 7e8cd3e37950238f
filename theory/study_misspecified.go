package theory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// populationStarts is how many starts the search for θ* of a misspecified
// population makes: the factors the law was disturbed from, and perturbations.
const populationStarts = 9

// startSpread is the standard deviation of a perturbed start.
const startSpread = 0.3

// sameMinimum is the distance below which two descents ended in one minimum.
const sameMinimum = 1e-3

// errUnbounded says that a population's loss falls without end from each start: it has no θ*.
var errUnbounded = errors.New("theory: no start reached a minimum of the misspecified population: lower the disturbance")

// pseudoTrue returns θ*, the best stationary point of the population loss with a
// positive definite quotient Hessian, from nine starts near theta, and how far the
// loss of the next best minimum lies above (infinite if none was found). Without a
// minimum the error is errUnbounded.
func pseudoTrue(model Model, gauge Gauge, theta, weights []float64, rng *rand.Rand) (best []float64, gap float64, err error) {
	var minima [][]float64
	var losses []float64
	at := &probe{model: model, weights: weights}
	for start := range populationStarts {
		point := append([]float64(nil), theta...)
		if start > 0 {
			for i := range point {
				point[i] += startSpread * rng.NormFloat64()
			}
		}
		if minimize(model, gauge, point, weights) != nil {
			continue // one start may run along a valley of the loss; the others decide
		}
		loss, _ := at.gradient(point)
		hess := at.newton(point)
		if at.err != nil {
			return nil, 0, at.err
		}
		gauge.Fix(point, theta)
		known := func(other []float64) bool { return floats.Distance(point, other, 2) < sameMinimum }
		if quotientInverse(hess, gauge.Directions(point)) != nil && !slices.ContainsFunc(minima, known) {
			minima, losses = append(minima, point), append(losses, loss)
		}
	}
	if minima == nil {
		return nil, 0, errUnbounded
	}
	least := floats.MinIdx(losses)
	gap = math.Inf(1)
	for i, loss := range losses {
		if i != least {
			gap = math.Min(gap, loss-losses[least])
		}
	}
	return minima[least], gap, nil
}

// outlierPart is how many replicates of a misspecified problem may leave the
// neighbourhood of θ* (shared/theory.md, section 4), and how many populations may have no θ*.
const outlierPart = 0.03

// certain is the standard deviation of θ̂ in its least certain direction up to which a
// sample is judged; the factors have length 1.4. A law that the calibrator cannot represent
// may have almost no curvature somewhere, and then asks for more rows than N = 3e5.
const certain = 0.1

// misspecified is one problem whose law the calibrator cannot represent.
type misspecified struct {
	*experiment
	competing int      // populations left out for a second minimum
	unbounded []string // those left out for want of any
}

// newMisspecified draws problem number n over four shifts of the design.
func newMisspecified(ctx context.Context, s *setup, n, replicates int) (*misspecified, error) {
	rng := newRand(s.Seed, 7, uint64(n))
	p, err := s.problem(s.small, rng)
	if err != nil {
		return nil, err
	}
	s.disturb(p.Truth, rng)
	m := &misspecified{experiment: &experiment{
		trials: trials{setup: s, count: replicates}, table: p.Table, model: p.model, gauge: p.gauge, target: p.target, salt: 8<<32 + uint64(n),
	}}
	shifts := evenShifts(p.Design, 4)
	found := make([]*minimum, len(shifts))
	err = forEach(ctx, len(shifts), p.model.fork, func(model Model, i int) (err error) {
		found[i], err = p.minimum(cheapest(model), shifts[i], newRand(s.Seed, 9, uint64(n), uint64(i)))
		return err
	})
	if err != nil {
		return nil, err
	}
	for i, x := range found {
		if x == nil {
			m.unbounded = append(m.unbounded, fmt.Sprintf("seed %d, problem %d, shift %d", s.Seed, n, shifts[i]))
		} else {
			m.populations = append(m.populations, x.population)
		}
	}
	m.sizes = []int{3e5, 1e6}
	for m.reach()/math.Sqrt(float64(m.sizes[0])) > certain {
		m.sizes[0], m.sizes[1] = 10*m.sizes[0], 10*m.sizes[1]
	}
	// A sample of N lowers the loss of a minimum by about df/2N. Where another lies
	// less than twice that above θ*, a sample's best may be either: θ* is then not
	// unique (A4).
	m.populations = nil
	for _, x := range found {
		switch {
		case x == nil:
		case x.gap < float64(x.asymptotic.freedom())/float64(m.sizes[0]):
			m.competing++
		default:
			m.populations = append(m.populations, x.population)
		}
	}
	return m, nil
}

// minimum is a population at its θ*, and how far the loss of the next best minimum lies above.
type minimum struct {
	population
	gap float64
}

// minimum is that of the population of a shift; nil where it has none.
func (p *problem) minimum(model Model, shift int, rng *rand.Rand) (*minimum, error) {
	law := p.law(shift)
	weights := p.Weights(law)
	theta, gap, err := pseudoTrue(model, p.gauge, p.Theta, weights, rng)
	if errors.Is(err, errUnbounded) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	at, err := newAsymptotics(model, p.gauge, theta, weights)
	return &minimum{population{weights, p.Table.Occupancy(law), at}, gap}, err
}

// misspecifiedProblems sums up what the problems gave.
type misspecifiedProblems struct {
	replicates int

	ratios, naives, betas, walds, widest []float64
	// Sums of variances, and of what first-order theory leaves open.
	ratioError, betaError, waldError, second, slopeSecond, waldLeft float64
	// The greatest of all problems.
	farthest, gradient float64

	outliers, unbounded     []string
	total, drawn, competing int
	measured, naive         Curve
}

func newMisspecifiedProblems(replicates int) *misspecifiedProblems {
	return &misspecifiedProblems{
		replicates: replicates,
		measured:   Curve{Label: "sandwich, one problem each"},
		naive:      Curve{Label: "naive prediction, H in place of the sandwich"},
	}
}

// add takes what the replicates of a problem gave; its outliers are left out.
func (x *misspecifiedProblems) add(problem int, o *outcome) {
	x.outliers = append(x.outliers, o.keepNeighbourhood()...)
	x.total += o.total()
	x.widest = append(x.widest, float64(o.sizes[1]))
	all := o.statistics(0)
	x.ratios, x.betas, x.walds = append(x.ratios, all.Ratio.Value), append(x.betas, all.BetaN.Value), append(x.walds, all.Wald.Value)
	x.ratioError, x.betaError, x.waldError = x.ratioError+square(all.Ratio.Error), x.betaError+square(all.BetaN.Error), x.waldError+square(all.Wald.Error)
	x.second, x.slopeSecond, x.waldLeft = x.second+all.leftOut(), x.slopeSecond+all.leftOutOfSlope(), x.waldLeft+all.leftOutOfWald()
	x.farthest = math.Max(x.farthest, math.Abs(all.Ratio.Value-1)/(0.02+all.leftOut()+all.Ratio.chance()))
	x.naives = append(x.naives, all.NaiveRatio)
	x.measured.add(float64(problem+1), all.Ratio)
	x.naive.add(float64(problem+1), all.Ratio.over(all.NaiveRatio))
}

// report adds the rows of all problems.
func (x *misspecifiedProblems) report(r *Report) error {
	r.rare("unbounded", fmt.Sprintf("populations of %d left out: no minimum near the factors that the law was disturbed from", x.drawn),
		x.unbounded, x.drawn, outlierPart, fmt.Sprintf("at most %g of them; A4 fails there: the loss falls without end", outlierPart))
	if len(x.ratios) == 0 {
		return errors.New("theory: every misspecified population has competing minima, or none: take another seed")
	}
	n := float64(len(x.ratios))
	each := fmt.Sprintf(" of %d problems", len(x.ratios))
	meanOf := func(values []float64, variance float64) Estimate {
		return withError(mean(values), math.Sqrt(variance)/n, x.replicates-1)
	}
	r.record("competing", fmt.Sprintf("populations of %d left out: a second minimum within df/N of θ*", x.drawn), exact(float64(x.competing)), "A4 fails there: θ* is not unique")
	r.record("largest-n", "largest N that a problem needs: N = 1e6, or more where the law has little curvature", exact(slices.Max(x.widest)), "1e6")
	r.rounding("population-gradient", "‖∇L(θ*)‖ of the populations, by the graph", x.gradient, 1e-10, "0: θ* is stationary")
	r.ratio("ratio", "observed/sandwich RMSE, mean"+each, meanOf(x.ratios, x.ratioError), 1, x.second/n, "1")
	r.record("ratio-least", "observed/sandwich RMSE, least"+each, exact(slices.Min(x.ratios)), "1")
	r.record("ratio-greatest", "observed/sandwich RMSE, greatest"+each, exact(slices.Max(x.ratios)), "1")
	r.judge(Row{
		Key: "ratio-farthest", Quantity: "farthest problem from 1, in parts of what chance and second order explain",
		Estimate: exact(x.farthest), Target: math.NaN(), Theory: "≤ 1", Level: rowLevel * n,
	}, Band{0, 1})
	wald := meanOf(x.walds, x.waldError)
	r.ratio("wald", "Wald/df, mean"+each, wald, 1, x.waldLeft/n, "1")
	r.power("wald-power", "probability that Wald/df notices a covariance a tenth too large", wald, 1, 1/1.1, x.waldLeft/n)
	r.record("naive-least", "naive H⁻¹ prediction / sandwich, least", exact(slices.Min(x.naives)), "below 1: H⁻¹ is not the variance here")
	r.below("naive-greatest", "naive H⁻¹ prediction / sandwich, greatest", exact(slices.Max(x.naives)), 0.95, "below 1: the sandwich is needed")
	r.rare("outliers", fmt.Sprintf("replicates of %d that left the neighbourhood of θ*: Wald/df > %g, or no minimum", x.total, waldOutlier),
		x.outliers, x.total, outlierPart, fmt.Sprintf("at most %g of them; they do not enter the ratio", outlierPart))
	r.near("beta-n", "β_N, mean"+each, meanOf(x.betas, x.betaError), -0.5, x.slopeSecond/n, "−1/2")
	r.Figures = append(r.Figures, Figure{
		Name: "ratio", Title: "Misspecified: observed error over prediction",
		XLabel: "problem", YLabel: "RMSE / prediction at the largest N",
		Curves: []Curve{x.measured, x.naive, powerLaw("theory: 1", 1, 0, x.measured.X)},
	})
	return nil
}

// eachMisspecified fits the samples of each problem and hands on what they gave.
func eachMisspecified(ctx context.Context, s *setup, x *misspecifiedProblems, visit func(problem int, o *outcome)) error {
	for problem := range choose(s, 3, 12) {
		e, err := newMisspecified(ctx, s, problem, x.replicates)
		if err != nil {
			return err
		}
		x.drawn, x.competing = x.drawn+len(e.populations)+e.competing+len(e.unbounded), x.competing+e.competing
		x.unbounded = append(x.unbounded, e.unbounded...)
		if len(e.populations) == 0 {
			continue
		}
		g, err := e.populationGradient()
		if err != nil {
			return err
		}
		x.gradient = math.Max(x.gradient, g)
		o, err := e.run(ctx)
		if err != nil {
			return err
		}
		visit(problem, o)
	}
	return nil
}

func runMisspecified(ctx context.Context, s *setup, r *Report) error {
	x := newMisspecifiedProblems(s.replicates(32, 40))
	if err := eachMisspecified(ctx, s, x, x.add); err != nil {
		return err
	}
	return x.report(r)
}
