package theory

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// slope is the least-squares slope of y on x with one intercept per group
// (the within-group, or fixed-effects, estimator). One group is a plain regression.
func slope(x, y []float64, group []int) float64 {
	var sumX, sumY, count []float64
	for i, g := range group {
		for len(count) <= g {
			sumX, sumY, count = append(sumX, 0), append(sumY, 0), append(count, 0)
		}
		sumX[g] += x[i]
		sumY[g] += y[i]
		count[g]++
	}
	var xy, xx float64
	for i, g := range group {
		dx := x[i] - sumX[g]/count[g]
		xy += dx * (y[i] - sumY[g]/count[g])
		xx += dx * dx
	}
	return xy / xx
}

// plane returns the least-squares coefficients of y on 1, x1, x2 without the intercept's.
func plane(x1, x2, y []float64) (b1, b2 float64) {
	design := mat.NewDense(len(y), 3, nil)
	for i := range y {
		design.SetRow(i, []float64{1, x1[i], x2[i]})
	}
	var b mat.VecDense
	if err := b.SolveVec(design, mat.NewVecDense(len(y), y)); err != nil {
		return math.NaN(), math.NaN()
	}
	return b.AtVec(1), b.AtVec(2)
}

// Estimate is a number with its 95 % bootstrap interval. Low and High are NaN where
// the number is exact, or computed from one population and not from replicates.
type Estimate struct{ Value, Low, High float64 }

func exact(value float64) Estimate { return Estimate{value, math.NaN(), math.NaN()} }

// bootstrapDraws is enough for a 95 % percentile interval to settle in its second digit.
const bootstrapDraws = 400

// bootstrap evaluates statistic on all replicates and on resampled ones. pick(set)
// returns the replicate indices of an independent set of replicates (a shift and a
// sample size): identity for the value, resampled with replacement for the interval.
func bootstrap(sets, replicates int, rng *rand.Rand, statistic func(pick [][]int) []float64) []Estimate {
	pick := make([][]int, sets)
	for s := range pick {
		pick[s] = everyone(replicates)
	}
	values := statistic(pick)
	draws := make([][]float64, len(values))
	for range bootstrapDraws {
		for s := range pick {
			for r := range pick[s] {
				pick[s][r] = rng.IntN(replicates)
			}
		}
		for i, value := range statistic(pick) {
			draws[i] = append(draws[i], value)
		}
	}
	estimates := make([]Estimate, len(values))
	for i, value := range values {
		slices.Sort(draws[i])
		estimates[i] = Estimate{
			Value: value,
			Low:   stat.Quantile(0.025, stat.LinInterp, draws[i], nil),
			High:  stat.Quantile(0.975, stat.LinInterp, draws[i], nil),
		}
	}
	return estimates
}

// everyone lists the indices 0 … n−1: all replicates, none resampled.
func everyone(n int) []int {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return at
}

// rms is the root mean square of values at the given indices; NaN marks a replicate
// that does not count.
func rms(values []float64, at []int) float64 {
	var sum, count float64
	for _, r := range at {
		if !math.IsNaN(values[r]) {
			sum += values[r] * values[r]
			count++
		}
	}
	return math.Sqrt(sum / count)
}

// rmsEstimate is rms of all values times scale, with its bootstrap interval.
func rmsEstimate(values []float64, scale float64, rng *rand.Rand) Estimate {
	return bootstrap(1, len(values), rng, func(pick [][]int) []float64 { return []float64{scale * rms(values, pick[0])} })[0]
}

func logs(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v)
	}
	return out
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return stat.Quantile(0.5, stat.LinInterp, sorted, nil)
}

func mean(values []float64) float64 { return stat.Mean(values, nil) }
