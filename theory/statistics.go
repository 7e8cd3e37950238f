package theory

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Estimate is a number from replicates, with its standard error, that error's degrees of
// freedom and a 95 % bootstrap interval. Estimate{Value: x} is a number that is exact, or computed
// from one population and not from replicates: it has no error, and an interval that is a point is none.
type Estimate struct {
	Value, Low, High float64
	Error            float64
	Freedom          int
}

// Exact is a number without chance.
func Exact(value float64) Estimate { return Estimate{Value: value} }

// bounds are the ends of the interval, NaN where there is none.
func (e Estimate) bounds() (low, high float64) {
	if e.Low < e.High {
		return e.Low, e.High
	}
	return math.NaN(), math.NaN()
}

// Over is the estimate divided by a positive number without error.
func (e Estimate) Over(x float64) Estimate {
	e.Value, e.Low, e.High, e.Error = e.Value/x, e.Low/x, e.High/x, e.Error/x
	return e
}

// bootstrapDraws is enough for a 95 % percentile interval to settle in its second digit.
const bootstrapDraws = 400

// Bootstrap evaluates statistic on all replicates and on resampled ones. pick(set)
// returns the replicate indices of an independent set of replicates (a shift and a
// sample size): identity for the value, resampled with replacement for the interval.
func Bootstrap(sets, replicates int, rng *rand.Rand, statistic func(pick [][]int) []float64) []Estimate {
	if statistic == nil {
		return nil
	}
	pick := data.Each(make([]int, sets), func(int) []int { return data.UpTo(replicates) })
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
		if some := numeric.Valid(draws[i]); len(some) > 0 { // of few replicates a draw may have none that counts
			draws[i] = some
		}
		slices.Sort(draws[i])
		estimates[i] = Estimate{
			Value: value,
			Low:   stat.Quantile(0.025, stat.LinInterp, draws[i], nil),
			High:  stat.Quantile(0.975, stat.LinInterp, draws[i], nil),
			// A draw with replacement has (R−1)/R of the variance of R new replicates.
			Error:   stat.StdDev(draws[i], nil) * math.Sqrt(float64(replicates)/float64(max(replicates-1, 1))),
			Freedom: replicates - 1,
		}
	}
	return estimates
}

// RMS is the root mean square of values with its standard error: that of the
// mean square, halved and divided by the root.
func RMS(values []float64) Estimate {
	squares := data.Each(numeric.Valid(values), numeric.Square)
	m, sd := stat.MeanStdDev(squares, nil)
	root := math.Sqrt(m)
	return WithError(root, sd/math.Sqrt(float64(len(squares)))/(2*root), len(squares)-1)
}

// MeanOf is the mean of values with its standard error.
func MeanOf(values []float64) Estimate {
	m, sd := stat.MeanStdDev(values, nil)
	return WithError(m, sd/math.Sqrt(float64(len(values))), len(values)-1)
}

// WithError is an estimate with its normal 95 % interval.
func WithError(value, err float64, freedom int) Estimate {
	half := distuv.UnitNormal.Quantile(.975) * err
	return Estimate{Value: value, Low: value - half, High: value + half, Error: err, Freedom: freedom}
}
