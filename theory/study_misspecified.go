package theory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// populationStarts is how many starts the search for θ* of a misspecified
// population makes: the factors the law was disturbed from, and perturbations.
const populationStarts = 9

// startSpread is the standard deviation of a perturbed start.
const startSpread = 0.3

// sameMinimum is the distance below which two descents ended in one minimum.
const sameMinimum = 1e-3

// pseudoTrue returns θ*, the best stationary point of the population loss with a
// positive definite quotient Hessian, from nine starts near theta, and how far the
// loss of the next best minimum lies above (infinite if none was found).
func pseudoTrue(model Model, gauge Gauge, theta, weights []float64, rng *rand.Rand) (best []float64, gap float64, err error) {
	var minima [][]float64
	var losses []float64
	n := model.Dim()
	grad := make([]float64, n)
	hess := mat.NewSymDense(n, nil)
	for start := range populationStarts {
		point := append([]float64(nil), theta...)
		if start > 0 {
			for i := range point {
				point[i] += startSpread * rng.NormFloat64()
			}
		}
		if minimize(model, gauge, point, weights) != nil {
			continue // one start may end on a ridge of the loss; the others decide
		}
		loss, err := model.Gradient(grad, point, weights)
		if err != nil {
			return nil, 0, err
		}
		if err := model.newton(hess, point, weights); err != nil {
			return nil, 0, err
		}
		gauge.Fix(point, theta)
		known := func(other []float64) bool { return floats.Distance(point, other, 2) < sameMinimum }
		if quotientInverse(hess, gauge.Directions(point)) != nil && !slices.ContainsFunc(minima, known) {
			minima, losses = append(minima, point), append(losses, loss)
		}
	}
	if minima == nil {
		return nil, 0, errors.New("theory: no start reached a minimum of the misspecified population: lower the disturbance")
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

// bandMisspecified is the specification's, wider than the well-specified one.
var bandMisspecified = between(0.93, 1.10)

// bandOutliers bounds the part of replicates that leave the neighbourhood.
var bandOutliers = atMost(0.03)

func runMisspecified(ctx context.Context, s Settings, r *Report) error {
	d := Fast()
	gauge := Rescaling{d.Classes, d.Codewords}
	problems := choose(s, 3, 12)
	low, high := math.Inf(1), math.Inf(-1)
	naiveLow, naiveHigh := math.Inf(1), math.Inf(-1)
	var ratioSum, slopeSum float64
	outliers, total := 0, 0
	drawn, competing, judged := 0, 0, 0 // populations, those with a second minimum, problems left
	ratios := Curve{Label: "sandwich, one problem each"}
	naive := Curve{Label: "naive prediction, H in place of the sandwich"}
	for problem := range problems {
		rng := newRand(s.Seed, 7, uint64(problem))
		truth, err := NewTruth(d, rng)
		if err != nil {
			return err
		}
		gauge.Fix(truth.Theta, nil)
		truth.misspecify(rng)
		model, err := trained(truth.Table, d.Identity)
		if err != nil {
			return err
		}
		e := &experiment{
			model: model, gauge: gauge, target: Products{gauge},
			sizes: []int{3e5, 1e6}, replicates: choose(s, 24, 40), seed: newRand(s.Seed, 8, uint64(problem)).Uint64(),
		}
		shifts := evenShifts(d, 4)
		populations := make([]population, len(shifts))
		gaps := make([]float64, len(shifts))
		err = forEach(ctx, len(shifts), model.fork, func(model Model, i int) error {
			cellProb := truth.Table.Multinomial(d.Frequencies(shifts[i]))
			weights := truth.Weights(cellProb)
			theta, gap, err := pseudoTrue(model, gauge, truth.Theta, weights, newRand(s.Seed, 9, uint64(problem), uint64(i)))
			if err != nil {
				return err
			}
			at, err := newAsymptotics(model, gauge, theta, weights)
			populations[i], gaps[i] = population{weights, truth.Table.Occupancy(cellProb), at}, gap
			return err
		})
		if err != nil {
			return err
		}
		// A sample of N lowers the loss of a minimum by about df/2N. Where another lies
		// less than twice that above θ*, a sample's best may be either: θ* is then not
		// unique (A4).
		for i, gap := range gaps {
			if freedom := populations[i].asymptotic.freedom(); gap < float64(freedom)/float64(e.sizes[0]) {
				competing++
			} else {
				e.populations = append(e.populations, populations[i])
			}
		}
		drawn += len(shifts)
		if len(e.populations) == 0 {
			continue
		}
		judged++
		o, err := e.run(ctx)
		if err != nil {
			return err
		}
		o.keepNeighbourhood()
		all := o.statistics(0)
		low, high = math.Min(low, all.Ratio.Value), math.Max(high, all.Ratio.Value)
		naiveLow, naiveHigh = math.Min(naiveLow, all.NaiveRatio.Value), math.Max(naiveHigh, all.NaiveRatio.Value)
		ratioSum += all.Ratio.Value
		slopeSum += all.BetaN.Value
		outliers += all.WaldOutliers
		total += all.WaldTotal
		ratios.add(float64(problem+1), all.Ratio)
		naive.X, naive.Y = append(naive.X, float64(problem+1)), append(naive.Y, all.Ratio.Value/all.NaiveRatio.Value)
	}
	if judged == 0 {
		return errors.New("theory: every misspecified population has competing minima: take another seed")
	}
	of := fmt.Sprintf(" of %d problems", judged)
	r.tell(fmt.Sprintf("populations of %d left out: a second minimum within df/N of θ*", drawn), exact(float64(competing)), "A4 fails there: θ* is not unique")
	r.judge("observed/sandwich RMSE at N = 1e+06, least"+of, exact(low), "1", bandMisspecified)
	r.judge("observed/sandwich RMSE at N = 1e+06, greatest"+of, exact(high), "1", bandMisspecified)
	r.tell("observed/sandwich RMSE, mean"+of, exact(ratioSum/float64(judged)), "1")
	r.tell("naive H⁻¹ prediction / sandwich, least", exact(naiveLow), "below 1: H⁻¹ is not the variance here")
	r.tell("naive H⁻¹ prediction / sandwich, greatest", exact(naiveHigh), "below 1")
	r.judge(fmt.Sprintf("part of %d replicates with Wald/df > %g", total, waldOutlier), exact(float64(outliers)/float64(total)), "rare: they left Θ_local and do not enter the ratio", bandOutliers)
	r.tell("β_N from 3e5, mean", exact(slopeSum/float64(judged)), "-1/2")
	r.Figures = append(r.Figures, Figure{
		Name: "ratio", Title: "Misspecified: observed error over prediction",
		XLabel: "problem", YLabel: "RMSE / prediction at N = 1e6",
		Curves: []Curve{ratios, naive, powerLaw("theory: 1", 1, 0, ratios.X)},
	})
	return nil
}
