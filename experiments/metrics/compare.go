package metrics

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/stat/distuv"
)

// Comparison is the paired difference of two methods on the same rows.
type Comparison struct {
	Difference float64  // mean of a − b: negative where a is better in an error
	Interval   Interval // 95 % bootstrap interval of the difference
	PValue     float64  // two-sided, of no difference
}

// comparisonReplicates are those of the interval.
const comparisonReplicates = 2000

// Compare tests whether two methods differ on the rows on which both were measured. a and b
// hold one score per row that owes nothing to the other rows' labels, such as
// [Measurement.NLL]; for others see [CompareReplicates]. The interval is a bootstrap's over
// the rows, the p-value that of a paired t test ([tTest]). If ctx is cancelled, the error
// wraps ctx.Err().
func Compare(ctx context.Context, a, b []float64, rng *rand.Rand) (*Comparison, error) {
	if len(a) != len(b) || len(a) == 0 {
		return nil, fmt.Errorf("metrics: compare: %d scores with %d: give both methods' scores of the same rows", len(a), len(b))
	}
	difference := make([]float64, len(a))
	for i := range a {
		difference[i] = a[i] - b[i]
		if math.IsNaN(difference[i]) || math.IsInf(difference[i], 0) {
			return nil, fmt.Errorf("metrics: compare: row %d: the scores %v and %v have no difference", i, a[i], b[i])
		}
	}
	c := &Comparison{Difference: checked.Mean(difference)}
	replicates := make([]float64, comparisonReplicates)
	for k := range replicates {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("metrics: compare: %w", err)
		}
		var sum float64
		for range difference {
			sum += difference[rng.IntN(len(difference))]
		}
		replicates[k] = sum / float64(len(difference))
	}
	edges := checked.QuantileEdges(replicates, 40) // steps of 2.5 %
	c.Interval = Interval{edges[1], edges[39]}
	c.PValue = tTest(difference)
	return c, nil
}

// tTest is the two-sided p-value of Student's t test that x (N) has mean 0:
//
//	t = x̄ √N / s ,  p = 2 P(T_{N−1} ≤ −|t|)
//
// It is 2^(1−N) at least, the chance that all N lean to one side, which alone equal numbers show.
func tTest(x []float64) float64 {
	s, n := NewSpread(x), float64(len(x))
	if s.Mean == 0 {
		return 1
	}
	p := 0.0
	if s.SD > 0 {
		p = 2 * distuv.StudentsT{Sigma: 1, Nu: n - 1}.CDF(-math.Abs(s.Mean)*math.Sqrt(n)/s.SD)
	}
	return max(p, math.Exp2(1-n))
}

// CompareReplicates tests whether two methods differ in a metric of the rows together,
// such as LCE: neighbours share their labels, so that the residuals of single rows err
// together and cannot be resampled one by one. difference is that of the two values; a and
// b are the metric's replicates in pairs ([Report.Replicates]), withoutA and withoutB its
// values without parts of the rows ([Report.Without]). P-value and interval are those of a
// normal difference, whose standard deviation is the larger one of
//
//	bootstrap  that of the replicates a_k − b_k,
//	jackknife  √((P − 1)/P Σ_p (d_p − d̄)²),  d_p the difference without part p.
//
// The bootstrap's alone is too small where errors are near their noise: resampled residuals
// change sign more often, and their absolute values follow the rows less. At 5 % it told
// methods as wrong as each other apart in 10 % of the cases. Replicates that are all equal,
// as of a single row, show no difference. It is nil where the difference or all but a few
// of the replicates are NaN. It panics if pairs are not of one length.
func CompareReplicates(difference float64, a, b, withoutA, withoutB []float64) *Comparison {
	replicates, without := differences(a, b), differences(withoutA, withoutB)
	if math.IsNaN(difference) || len(replicates) < fewestReplicates {
		return nil
	}
	parts := float64(len(without))
	sd := max(NewSpread(replicates).SD, NewSpread(without).SD*(parts-1)/math.Sqrt(max(parts, 1)))
	reach := distuv.UnitNormal.Quantile(.975) * sd
	c := &Comparison{Difference: difference, Interval: Interval{difference - reach, difference + reach}, PValue: 1}
	if sd > 0 {
		c.PValue = math.Erfc(math.Abs(difference) / sd / math.Sqrt2)
	}
	return c
}

// differences are those of the pairs that have one.
func differences(a, b []float64) (d []float64) {
	if len(a) != len(b) {
		panic(fmt.Sprintf("metrics: compare: %d replicates with %d", len(a), len(b)))
	}
	for k := range a {
		if x := a[k] - b[k]; !math.IsNaN(x) {
			d = append(d, x)
		}
	}
	return d
}

// Holm corrects the p-values of several comparisons so that, whichever of the
// hypotheses hold, the chance of rejecting any of these at level α stays below α
// (Holm 1979): the k-th smallest of m is multiplied by m − k + 1, and none may fall
// below a smaller one's.
func Holm(p []float64) []float64 {
	order := checked.FirstToLast(len(p))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p[i], p[j]) })
	adjusted := make([]float64, len(p))
	least := 0.0
	for k, i := range order {
		least = max(least, min(1, p[i]*float64(len(p)-k)))
		adjusted[i] = least
	}
	return adjusted
}
