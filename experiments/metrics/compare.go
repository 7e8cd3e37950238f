package metrics

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Comparison is the paired difference of two methods on the same rows.
type Comparison struct {
	Difference float64  // mean of a − b: negative where a is better in an error
	Interval   Interval // 95 % interval of the difference
	PValue     float64  // two-sided, of no difference
	FromSeeds  float64  // the share of the difference's variance that is from seed to seed

	se, df float64 // the standard error of the difference, and its degrees of freedom
	rows   float64 // as many independent rows of weight 1 have this standard error
}

// leastDifference is how far losses of one row may differ by rounding alone. Where no row's differ by more, there is no
// difference: it is 0 without an interval, and p is 1.
const leastDifference = 1e-12

// Compare tests whether two methods differ on the rows on which both were measured. a and b
// hold one score per row that does not depend on the other rows' labels, such as
// [Measurement.NLL]; for others see [CompareReplicates]. Interval and p-value come from Student's t test of the
// differences d of N rows:
//
//	d̄ ± t_{.975, N−1} s/√N ,   p = 2 P(T_{N−1} ≤ −|d̄| √N / s)
//
// p is at least 2^(1−N), the chance that all N differences have one sign; equal differences show no more.
func Compare(a, b []float64) (*Comparison, error) {
	if len(a) != len(b) || len(a) == 0 {
		return nil, fmt.Errorf("metrics: compare: %d scores with %d: give both methods' scores of the same rows", len(a), len(b))
	}
	difference, differ := make([]float64, len(a)), false
	for i := range a {
		difference[i] = a[i] - b[i]
		differ = differ || math.Abs(difference[i]) > leastDifference
		if math.IsNaN(difference[i]) || math.IsInf(difference[i], 0) {
			return nil, fmt.Errorf("metrics: compare: row %d: the scores %v and %v have no difference", i, a[i], b[i])
		}
	}
	s, n := NewSpread(difference), float64(len(a))
	c := &Comparison{Difference: s.Mean, df: n - 1, rows: n}
	if n > 1 {
		c.se = s.SD / math.Sqrt(n)
	}
	if !differ {
		c.Difference, c.se = 0, 0
	}
	c.test(n - 1)
	return c, nil
}

// CompareGroups is [Compare] for rows in G groups (N numbers); the rows of a group count as one observation (Liang &
// Zeger 1986):
//
//	s²/N  becomes  G/(G − 1) Σ_g (Σ_{i∈g} d_i − d̄)² / N² ,   with G − 1 degrees of freedom
func CompareGroups(a, b []float64, groups []int) (*Comparison, error) {
	c, err := Compare(a, b)
	if err != nil || len(groups) != len(a) {
		return nil, cmp.Or(err, fmt.Errorf("metrics: compare: %d groups of %d rows", len(groups), len(a)))
	}
	if c.Difference == 0 && c.se == 0 {
		return c, nil
	}
	d := floats.SubTo(make([]float64, len(a)), a, b)
	floats.AddConst(-c.Difference, d)
	sums := sumsOf(d, groups)
	g, squares := float64(len(sums)), floats.Dot(sums, sums)
	alone := c.se
	c.df, c.se = g-1, 0
	if g > 1 {
		c.se = math.Sqrt(g/(g-1)*squares) / float64(len(a))
	}
	if c.rows = g; c.se > 0 {
		c.rows = float64(len(a)) * min(1, alone*alone/(c.se*c.se))
	}
	c.test(g - 1)
	return c, nil
}

// sumsOf are the sums of the rows of each group, by ascending group.
func sumsOf(x []float64, groups []int) []float64 {
	sums := map[int]float64{}
	for i, g := range groups {
		sums[g] += x[i]
	}
	var out []float64
	for _, g := range slices.Sorted(maps.Keys(sums)) {
		out = append(out, sums[g])
	}
	return out
}

// CrossFitted is the comparison of methods that were fitted, for each of K folds, to the rows of the other folds. These
// fits share rows, so their errors are correlated, and the differences of rows show too little variance. With n₂ =
// n₁/(K − 1) test rows for n₁ rows of a fit, J = K fits and s² the variance of the mean of n₂ rows, Nadeau & Bengio
// (2003, eq. 13) have
//
//	(1/J + n₂/n₁) s² ,   1 + K/(K − 1) times s²/J, the variance of independent rows
//
// They estimate s² from the J means; here it is estimated from the rows, since there are more of them.
func (c *Comparison) CrossFitted(folds int) *Comparison {
	k := float64(folds)
	wider := math.Sqrt(1 + k/(k-1))
	out := *c
	out.rows /= wider * wider
	if out.se *= wider; c.df > 0 {
		out.test(c.df)
	} else {
		out.normal()
	}
	return &out
}

// Ties describe how the rows of a comparison count.
type Ties struct {
	Folds     int       // K of a cross-fit; 0: the fits saw none of the rows
	Groups    []int     // N, of rows that together are one observation; nil: each is one
	Law       *Law      // of the NLLs' difference; nil: not known
	Effective float64   // the effective number of weighted rows where the law is not known; 0: each counts alike
	Seeds     []float64 // the difference of each seed, whose losses of a row are summed; nil: one run
	Tests     int       // of all rows by all seeds
}

// Compare tests whether a method lowers or raises an error of single rows: a and b are its losses and those of another
// method (N). It is [Compare], [CompareGroups], [Comparison.CrossFitted] and [Comparison.OverSeeds] as the rows are
// tied. As a t test sees nothing of a rare loss that did not occur, p is the larger one of this test and of a second:
// of the likelihood for NLL, of the signs for Accuracy.
func (t Ties) Compare(m Metric, a, b []float64) (*Comparison, error) {
	c, err := t.paired(a, b)
	switch {
	case err != nil:
		return nil, err
	case c.Difference == 0:
	case m == NLL:
		c.likelihood(t.Law, len(a))
	case m == Accuracy:
		c.signs(t.observations(a, b), t.scale(len(a))/float64(len(a)))
	}
	return c, nil
}

// paired is the t test of rows so tied.
func (t Ties) paired(a, b []float64) (c *Comparison, err error) {
	if t.Groups == nil {
		c, err = Compare(a, b)
	} else {
		c, err = CompareGroups(a, b, t.Groups)
	}
	if err != nil {
		return nil, err
	}
	if t.Effective > 0 && t.Law == nil {
		c.rows *= t.Effective / float64(len(a))
	}
	if t.Folds > 0 {
		c = c.CrossFitted(t.Folds)
	}
	if t.Seeds != nil {
		c = c.OverSeeds(t.Seeds, t.scale(len(a)))
	}
	return c, nil
}

// scale is how many of so many rows' sums over seeds one test of a row is.
func (t Ties) scale(rows int) float64 {
	if t.Seeds == nil {
		return 1
	}
	return float64(rows) / float64(t.Tests)
}

// observations are the differences of independent rows or groups.
func (t Ties) observations(a, b []float64) []float64 {
	d := floats.SubTo(make([]float64, len(a)), a, b)
	if t.Groups == nil {
		return d
	}
	return sumsOf(d, t.Groups)
}

// likelihood holds p to the law of the sum of the rows' differences for labels drawn from b, of a claim that a is
// better, and for labels drawn from a, of a claim that it is worse. No rare label has to occur for it. The interval is
// at least that of a normal difference of this p, d̄ ± z_{.975} |d̄| / z_{1−p/2} (Miettinen 1976), and where p is not
// below .05 it reaches as far beyond 0 as the law does beyond its mean.
func (c *Comparison) likelihood(l *Law, rows int) {
	n := float64(rows)
	p := l.chance(n*c.Difference, c.rows/n)
	z := distuv.UnitNormal.Quantile
	if of := z(1 - p/2); of > 0 {
		reach := z(.975) * math.Abs(c.Difference) / of
		c.atLeast(p, reach, reach)
	}
	if l == nil || p < .05 {
		return
	}
	if to0 := l.below(n*c.Difference, c.rows/n) / n; c.Difference < 0 {
		c.atLeast(p, 0, to0)
	} else {
		c.atLeast(p, to0, 0)
	}
}

// signs holds p to the exact test of the signs of differences, of which n are not 0 (McNemar 1947). They count unit
// each. The interval is at least that of the share of positive ones ([ShareInterval]).
func (c *Comparison) signs(d []float64, unit float64) {
	var below, above float64
	for _, x := range d {
		switch {
		case x < 0:
			below++
		case x > 0:
			above++
		}
	}
	n := below + above
	if n == 0 {
		return
	}
	fewer := min(below, above)
	towards := floats.Norm(d, 1) * unit * (2*ShareInterval(fewer, n).High - 1) // beyond 0 where positive
	reach := math.Abs(c.Difference) + towards
	c.atLeast(2*distuv.Binomial{N: n, P: .5}.CDF(fewer), reach, reach)
}

// atLeast raises p, and how far the interval reaches below and above the difference, to these.
func (c *Comparison) atLeast(p, below, above float64) {
	c.PValue = max(c.PValue, min(p, 1))
	c.Interval = Interval{min(c.Interval.Low, c.Difference-below), max(c.Interval.High, c.Difference+above)}
}

// String says in a line what the ties mean for intervals and p, "" where there are none.
func (t Ties) String() string {
	if t.Folds == 0 {
		return ""
	}
	text := fmt.Sprintf("Each row is predicted by a fit to the other %d of %d folds; intervals and p are wider for the rows that these fits share (Nadeau & Bengio 2003)", t.Folds-1, t.Folds)
	if t.Groups != nil {
		text += ", and a group counts as one observation"
	}
	return text + "."
}

// normal gives the comparison the interval and the p-value of a normal difference of its standard error.
func (c *Comparison) normal() {
	reach := distuv.UnitNormal.Quantile(.975) * c.se
	c.Interval, c.PValue = Interval{c.Difference - reach, c.Difference + reach}, 1
	switch {
	case c.se > 0:
		c.PValue = math.Erfc(math.Abs(c.Difference) / c.se / math.Sqrt2)
	case c.Difference == 0:
		c.Interval = noInterval
	}
}

// test gives the comparison the interval and the p-value of its standard error, p at least that of so many equal signs.
func (c *Comparison) test(signs float64) {
	c.Interval, c.PValue = Interval{c.Difference, c.Difference}, 0
	switch {
	case c.Difference == 0 && c.se == 0:
		c.Interval, c.PValue = noInterval, 1
	case c.se > 0:
		t := distuv.StudentsT{Sigma: 1, Nu: c.df}
		reach := t.Quantile(.975) * c.se
		c.Interval = Interval{c.Difference - reach, c.Difference + reach}
		c.PValue = 2 * t.CDF(-math.Abs(c.Difference)/c.se)
	}
	c.PValue = max(c.PValue, math.Exp2(-signs))
}

// OverSeeds is the comparison of the mean of S seeds, whose differences d_s vary more than their rows explain. c
// compares each row's mean over the seeds, in units of which one is scale. Variances add up, with the degrees of
// freedom of Satterthwaite (1946):
//
//	s² = s_rows² + s_seeds²/S ,   ν = s⁴ / (s_rows⁴/(N − 1) + (s_seeds²/S)²/(S − 1))
func (c *Comparison) OverSeeds(seeds []float64, scale float64) *Comparison {
	of := NewSpread(seeds)
	out := &Comparison{Difference: of.Mean, se: scale * c.se, df: c.df, rows: c.rows}
	if c.se == 0 && floats.Norm(seeds, math.Inf(1)) <= leastDifference {
		out.Difference = 0
	}
	if len(seeds) > 1 {
		rows, own := out.se*out.se, of.SD*of.SD/float64(len(seeds))
		if sum := rows + own; sum > 0 {
			out.FromSeeds = own / sum
			out.se, out.df = math.Sqrt(sum), sum*sum/(rows*rows/max(c.df, 1)+own*own/float64(len(seeds)-1))
		}
	}
	out.test(c.df)
	return out
}

// CompareReplicates tests whether two methods differ in a metric of the rows together,
// such as LCE: neighbours share their labels, so the residuals of single rows are
// correlated and cannot be resampled one by one. difference is the difference of the two
// values; a and b are the metric's replicates in pairs ([Report.Replicates]), withoutA and
// withoutB its values without parts of the rows ([Report.Without]). P-value and interval come
// from a normal distribution, whose standard deviation is the larger one of
//
//	bootstrap  the standard deviation of the replicates a_k − b_k,
//	jackknife  √((P − 1)/P Σ_p (d_p − d̄)²),  d_p the difference without part p.
//
// The bootstrap's alone is too small if errors are near their noise: resampled residuals
// change sign more often, and their absolute values follow the rows less. At 5 % it found a
// difference between equally wrong methods in 10 % of the cases. Replicates that are all equal,
// as for a single row, show no difference. It is nil if the difference or all but a few
// of the replicates are NaN. It panics if pairs have different lengths.
func CompareReplicates(difference float64, a, b, withoutA, withoutB []float64) *Comparison {
	replicates, without := differences(a, b), differences(withoutA, withoutB)
	if math.IsNaN(difference) || len(replicates) < FewestReplicates {
		return nil
	}
	parts := float64(len(without))
	c := &Comparison{Difference: difference, se: max(NewSpread(replicates).SD, NewSpread(without).SD*(parts-1)/math.Sqrt(max(parts, 1)))}
	if floats.Norm(append(replicates, difference), math.Inf(1)) <= leastDifference {
		c.Difference, c.se = 0, 0
	}
	c.normal()
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
	adjusted := make([]float64, len(p))
	least := 0.0
	for k, i := range checked.Ascending(p) {
		least = max(least, min(1, p[i]*float64(len(p)-k)))
		adjusted[i] = least
	}
	return adjusted
}
