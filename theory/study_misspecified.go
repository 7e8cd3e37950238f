package theory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// populationStarts is how many starts the search for θ* of a misspecified
// population makes: the factors the law was disturbed from, and perturbations.
const populationStarts = 9

// startSpread is the standard deviation of a perturbed start.
const startSpread = 0.3

// pseudoTrue returns θ*, the best stationary point of the population loss with a
// positive definite quotient Hessian, from nine starts near theta.
func pseudoTrue(model Model, gauge Gauge, theta, weights []float64, rng *rand.Rand) ([]float64, error) {
	var best []float64
	least := math.Inf(1)
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
			return nil, err
		}
		if err := model.newton(hess, point, weights); err != nil {
			return nil, err
		}
		if loss < least && quotientInverse(hess, gauge.Directions(point)) != nil {
			best, least = point, loss
		}
	}
	if best == nil {
		return nil, errors.New("theory: no start reached a minimum of the misspecified population: lower the disturbance")
	}
	gauge.Fix(best, theta)
	return best, nil
}

// misspecifiedBand is the specification's, wider than the well-specified one.
var bandMisspecified = between(0.93, 1.10)

// bandOutliers bounds the part of replicates that leave the neighbourhood.
var bandOutliers = atMost(0.03)

func runMisspecified(ctx context.Context, s Settings, r *Report) error {
	d := Fast()
	gauge := Rescaling{d.Classes, d.Codewords}
	problems := choose(s, 2, 12)
	low, high := math.Inf(1), math.Inf(-1)
	naiveLow, naiveHigh := math.Inf(1), math.Inf(-1)
	var ratioSum, slopeSum float64
	outliers, total := 0, 0
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
			sizes: []int{3e5, 1e6}, replicates: choose(s, 30, 40), seed: newRand(s.Seed, 8, uint64(problem)).Uint64(),
		}
		shifts := evenShifts(d, 4)
		e.populations = make([]population, len(shifts))
		err = forEach(ctx, len(shifts), model.fork, func(model Model, i int) error {
			cellProb := truth.Table.Multinomial(d.Frequencies(shifts[i]))
			weights := truth.Weights(cellProb)
			theta, err := pseudoTrue(model, gauge, truth.Theta, weights, newRand(s.Seed, 9, uint64(problem), uint64(i)))
			if err != nil {
				return err
			}
			at, err := newAsymptotics(model, gauge, theta, weights)
			e.populations[i] = population{weights, truth.Table.Occupancy(cellProb), at}
			return err
		})
		if err != nil {
			return err
		}
		o, err := e.run(ctx)
		if err != nil {
			return err
		}
		all := o.statistics(0)
		low, high = math.Min(low, all.Ratio.Value), math.Max(high, all.Ratio.Value)
		naiveLow, naiveHigh = math.Min(naiveLow, all.NaiveRatio.Value), math.Max(naiveHigh, all.NaiveRatio.Value)
		ratioSum += all.Ratio.Value
		slopeSum += all.BetaN.Value
		outliers += all.WaldOutliers
		total += all.WaldTotal
		ratios.X, ratios.Y = append(ratios.X, float64(problem+1)), append(ratios.Y, all.Ratio.Value)
		naive.X, naive.Y = append(naive.X, float64(problem+1)), append(naive.Y, all.Ratio.Value/all.NaiveRatio.Value)
	}
	of := fmt.Sprintf(" of %d problems", problems)
	r.judge("observed/sandwich RMSE at N = 1e+06, least"+of, exact(low), "1", bandMisspecified)
	r.judge("observed/sandwich RMSE at N = 1e+06, greatest"+of, exact(high), "1", bandMisspecified)
	r.tell("observed/sandwich RMSE, mean"+of, exact(ratioSum/float64(problems)), "1")
	r.tell("naive H⁻¹ prediction / sandwich, least", exact(naiveLow), "below 1: H⁻¹ is not the variance here")
	r.tell("naive H⁻¹ prediction / sandwich, greatest", exact(naiveHigh), "below 1")
	r.judge(fmt.Sprintf("part of %d replicates with Wald/df > %g", total, waldOutlier), exact(float64(outliers)/float64(total)), "rare", bandOutliers)
	r.tell("β_N from 3e5, mean", exact(slopeSum/float64(problems)), "-1/2")
	r.Figures = append(r.Figures, Figure{
		Name: "ratio", Title: "Misspecified: observed error over prediction",
		XLabel: "problem", YLabel: "RMSE / prediction at N = 1e6",
		Curves: []Curve{ratios, naive, powerLaw("theory: 1", 1, 0, ratios.X)},
	})
	return nil
}
