package metrics

import (
	"math"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/stat/distuv"
)

// meanInterval is the 95 % interval of the mean m of x by weight (N each; nil: 1 each). With h_i = w_i/Σw, r_i = x_i −
// m,
//
//	s² = Σ h_i² r_i²/(1 − 2h_i + Σh²)   unbiased where all r_i have one variance (HC2, MacKinnon & White 1985)
//	γ = Σ h_i³ r_i³ / (Σ h_i² r_i²)^{3/2}   the skewness of the mean
//	ν = min((Σh²)²/Σh⁴, N − 1)   degrees of freedom (Satterthwaite 1946)
//
// Student's t quantiles ±t of ν are taken back through the cubic by which Hall (1992) removes the skewness of T = (m −
// μ)/s,
//
//	g(T) = T + γT²/3 + γ²T³/27 + γ/6 ,   μ from m − s g⁻¹(t) to m − s g⁻¹(−t)
//
// There is none of a single row.
func meanInterval(x, weight []float64) Interval {
	if len(x) < 2 {
		return noInterval
	}
	h := make([]float64, len(x))
	var total, m, squares, fourths, variance, linear, cubes float64
	for i := range x {
		if h[i] = 1; weight != nil {
			h[i] = weight[i]
		}
		total += h[i]
	}
	for i := range h {
		h[i] /= total
		m += h[i] * x[i]
		squares += h[i] * h[i]
		fourths += math.Pow(h[i], 4)
	}
	for i := range x {
		u := h[i] * (x[i] - m)
		variance += u * u / max(1-2*h[i]+squares, math.SmallestNonzeroFloat64)
		linear += u * u
		cubes += u * u * u
	}
	if variance == 0 {
		return Interval{m, m}
	}
	s, skewness := math.Sqrt(variance), cubes/math.Pow(linear, 1.5)
	t := distuv.StudentsT{Sigma: 1, Nu: min(squares*squares/fourths, float64(len(x)-1))}.Quantile(.975)
	back := func(g float64) float64 {
		if math.Abs(skewness) < 1e-6 { // the limit, beyond which rounding would count
			return g
		}
		return 3 / skewness * (math.Cbrt(1+skewness*(g-skewness/6)) - 1)
	}
	return Interval{m - s*back(t), m - s*back(-t)}
}

// wider is by what the intervals of resamples are too narrow: they use the normal law, and heavy rows pull their own
// mean. It is Student's quantile over the normal one, with ν of [meanInterval], times 1/√(1 − Σh²).
func (b *binned) wider() float64 {
	_, w := b.observations(make([]float64, b.N))
	if w == nil {
		w = b.Weights()
	}
	if len(w) < 2 {
		return 1
	}
	var total, squares, fourths float64
	for _, x := range w {
		total += x
		squares += x * x
		fourths += math.Pow(x, 4)
	}
	t := distuv.StudentsT{Sigma: 1, Nu: min(squares*squares/fourths, float64(len(w)-1))}.Quantile(.975)
	return t / distuv.UnitNormal.Quantile(.975) / math.Sqrt(1-squares/(total*total))
}

// effective is as how many independent rows of one weight the rows count for a share, x being 1 where a row hits: (Σ
// w)²/Σ w² (Kish 1965). Where groups of rows are the observations, the variance v of the share p between them decides
// as far as it makes the rows fewer,
//
//	n = p(1 − p)/v · (t_{N−1}/t_{G−1})²   (Korn & Graubard 1998),
//
// and where all rows hit or none, the number of groups.
func (b *binned) effective(x []float64) float64 {
	rows := b.Sample.Effective()
	if b.groups == nil {
		return rows
	}
	mean, weight := b.observations(x)
	groups, p := checked.Effective(weight), b.Mean(x)
	if len(mean) < 2 || !(p > 0 && p < 1) {
		return groups
	}
	var total, v float64
	for _, w := range weight {
		total += w
	}
	for g, w := range weight {
		v += math.Pow(w/total*(mean[g]-p), 2) * float64(len(mean)) / float64(len(mean)-1)
	}
	quantile := func(n int) float64 { return distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile(.975) }
	return min(rows, p*(1-p)/v*math.Pow(quantile(b.N)/quantile(len(mean)), 2))
}

// shareInterval is the interval of a share, x being 1 where a row hits.
func (b *binned) shareInterval(x []float64) Interval {
	n := b.effective(x)
	return ShareInterval(b.Mean(x)*n, n)
}

// observations are the rows' x and their weights, or the means and weights of the groups.
func (b *binned) observations(x []float64) (mean, weight []float64) {
	if b.groups == nil {
		return x, b.Weight
	}
	for i, g := range b.groups {
		for len(weight) <= g {
			mean, weight = append(mean, 0), append(weight, 0)
		}
		mean[g] += b.W(i) * x[i]
		weight[g] += b.W(i)
	}
	for g, w := range weight {
		mean[g] /= w
	}
	return mean, weight
}

// meanIntervals are the intervals of accuracy, NLL and the Brier score.
//
// As long as no error was seen (less than one of the effective rows), the loss of an error is missing from the losses.
// Their mean may then be as much higher as the upper limit u of the error rate e allows, at the cost that the
// predictions p expect of an error,
//
//	m + (u − e)(E_p[ℓ | wrong] − E_p[ℓ | right])
func (b *binned) meanIntervals() (out [Metrics]Interval) {
	hit, loss := make([]float64, b.N), [2][]float64{make([]float64, b.N), make([]float64, b.N)} // NLL, Brier
	var sum [2]float64                                                                          // of the probability of the top class, and of all others
	var expected [2][2]float64
	for i := range b.N {
		hit[i] = b.Hit(i, b.Classes)
		squares := 0.
		for _, p := range b.Prob[i*b.Classes : (i+1)*b.Classes] {
			squares += p * p
		}
		brier := func(c int) float64 { return squares - 2*b.Prob[i*b.Classes+c] + 1 }
		loss[0][i] = b.Loss(i, b.Truth)
		b.EachShare(i, func(c int, q float64) { loss[1][i] += q * brier(c) })
		for c := range b.Classes {
			miss := 0
			if c != int(b.Top[i]) {
				miss = 1
			}
			w := b.W(i) * math.Exp(b.LogProb(i, c))
			sum[miss] += w
			expected[0][miss] -= w * b.LogProb(i, c)
			expected[1][miss] += w * brier(c)
		}
	}
	n, share := b.effective(hit), b.Mean(hit)
	out[Accuracy] = b.shareInterval(hit)
	for k, m := range []Metric{NLL, Brier} {
		out[m] = meanInterval(b.observations(loss[k]))
		out[m].Low = max(out[m].Low, 0)
		if cost := expected[k][1]/sum[1] - expected[k][0]/sum[0]; (1-share)*n < 1 {
			out[m].High = max(out[m].High, b.Mean(loss[k])+(share-out[Accuracy].Low)*cost)
		}
	}
	return out
}
