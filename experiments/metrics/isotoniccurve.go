package metrics

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/optim/pav"

	"gonum.org/v1/gonum/floats"
)

// IsotonicCurve is how often predictions hit against their confidence, by isotonic regression (CORP: Dimitriadis,
// Gneiting and Jordan 2021) and then the mean in a moving window, which is still increasing (Mukerjee 1988). With rows
// in the order of their confidence f, W their cumulative weight, F and H the cumulative sums of w f and of w h, and G
// the greatest convex minorant of H, whose slope is the isotonic regression, a window from a to b has
//
//	at (F(b) − F(a)) / (W(b) − W(a))  the frequency  (G(b) − G(a)) / (W(b) − W(a))
//
// Without windows the error at one place is that of one pool, about (f's density × N)^(−1/3).
type IsotonicCurve struct {
	At        []float64 `json:"at"` // ascending
	Frequency []float64 `json:"frequency"`
	// Low and High are a 95 % interval of the frequency at each place ([ShareInterval]): of as many rows as have, where
	// labels are redrawn from the curve, its mean square distance from the curve that they were drawn from. That
	// distance has the bias of the windows and pools in it.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
	// CalibratedLow and CalibratedHigh are where 95 % of the curves of calibrated predictions lie at each place: labels
	// are redrawn from the confidences.
	CalibratedLow  []float64 `json:"calibrated_low,omitempty"`
	CalibratedHigh []float64 `json:"calibrated_high,omitempty"`
}

const (
	curvePlaces  = 101
	curveRedraws = 200
	curveFewest  = 40  // redraws
	curveWork    = 2e7 // rows that are redrawn in all: of many rows the band needs fewer redraws

	// A window would hold as many rows as give this standard error where 20,000 are in all, and as N^(−2/5), the best
	// rate for a smooth curve, for others, if it did not narrow to stay within curveSpan. A row's variance is f (1 − f)
	// and a bit, as predictions that are too sure of themselves vary more than they say.
	curveError, curveErrorRows = 0.007, 20000.
	curveVariance              = 0.05
	curveSpan                  = 0.5
)

// NewIsotonicCurve is the curve of rows whose confidence ascends. Its intervals are drawn from rng; nil: it has none.
func NewIsotonicCurve(confidence, hit, weight []float64, rng *rand.Rand) *IsotonicCurve {
	r := newIsotonic(confidence, weight)
	c := &IsotonicCurve{At: r.at, Frequency: r.fit(func(i int) float64 { return hit[i] })}
	if rng == nil {
		return c
	}
	shrunk := make([]float64, len(r.at)) // off 0 and 1, which would redraw one label for ever
	for j, f := range c.Frequency {
		rows := (r.to[j] - r.from[j]) * r.rows / r.total
		shrunk[j] = (rows*f + 0.5) / (rows + 1)
	}
	drawn := make([]float64, len(r.value))
	for k, x := range r.value {
		drawn[k] = interpolate(r.at, shrunk, x)
	}
	for j, redrawn := range r.redraw(func(i int) float64 { return drawn[r.of[i]] }, rng) {
		p, square := shrunk[j], 0.
		for _, f := range redrawn {
			square += (f - p) * (f - p) / float64(len(redrawn))
		}
		n := min(r.rows, p*(1-p)/square)
		i := ShareInterval(n*c.Frequency[j], n)
		c.Low, c.High = append(c.Low, i.Low), append(c.High, i.High)
	}
	for _, redrawn := range r.redraw(func(i int) float64 { return confidence[i] }, rng) {
		slices.Sort(redrawn)
		beyond := (len(redrawn)+1)/40 - 1 // 2.5 % of the redraws and the curve itself
		c.CalibratedLow, c.CalibratedHigh = append(c.CalibratedLow, redrawn[beyond]), append(c.CalibratedHigh, redrawn[len(redrawn)-1-beyond])
	}
	return c
}

// isotonic fits curves of the same rows to other hits.
type isotonic struct {
	value, weight []float64 // V different confidences, ascending, and the weight of the rows of each
	of            []int     // N: the value of each row
	rowWeight     []float64 // N
	total, rows   float64   // Σ w and (Σ w)²/Σ w²
	from, to      []float64 // the windows, in cumulative weight
	at            []float64 // their mean confidences
	sum           []float64 // V
	pools         []pav.Pool
}

func newIsotonic(confidence, weight []float64) *isotonic {
	r := &isotonic{of: make([]int, len(confidence)), rowWeight: weight}
	var squares float64
	for i, x := range confidence {
		if n := len(r.value); n == 0 || x > r.value[n-1]*(1+sameValue) {
			r.value, r.weight = append(r.value, x), append(r.weight, 0)
		}
		r.of[i] = len(r.value) - 1
		r.weight[r.of[i]] += weight[i]
		r.total += weight[i]
		squares += weight[i] * weight[i]
	}
	r.rows, r.sum = r.total*r.total/squares, make([]float64, len(r.value))
	from, to := r.windows()
	values := make([]pav.Pool, len(r.value))
	for k, x := range r.value {
		values[k] = pav.Pool{Weight: r.weight[k], Sum: r.weight[k] * x}
	}
	for j, x := range means(values, from, to) {
		if n := len(r.at); n == 0 || x > r.at[n-1]*(1+sameValue) { // windows within one value are one
			r.at, r.from, r.to = append(r.at, x), append(r.from, from[j]), append(r.to, to[j])
		}
	}
	return r
}

// windows are of length 1 along a line on which a row has as much as it adds to a window's precision, and a distance
// between confidences as much as it adds to its span. At both ends they are shorter, down to half: beyond those the
// curve is not drawn.
func (r *isotonic) windows() (from, to []float64) {
	wanted := curveError * math.Pow(curveErrorRows/r.rows, 0.4)
	line, below := make([]float64, len(r.value)+1), make([]float64, len(r.value)+1)
	for k, x := range r.value {
		below[k+1] = below[k] + r.weight[k]
		line[k+1] = line[k] + r.weight[k]*r.rows/r.total*wanted*wanted/(x*(1-x)+curveVariance)
		if k > 0 {
			line[k+1] += (x - r.value[k-1]) / curveSpan
		}
	}
	end := line[len(r.value)]
	half := min(0.5, end/4)
	for k := range curvePlaces {
		middle := half/2 + (end-half)*float64(k)/(curvePlaces-1)
		h := min(half, middle, end-middle)
		from = append(from, interpolate(line, below, middle-h))
		to = append(to, interpolate(line, below, middle+h))
	}
	return from, to
}

// fit is the curve of these hits.
func (r *isotonic) fit(hit func(i int) float64) []float64 {
	clear(r.sum)
	for i, k := range r.of {
		r.sum[k] += r.rowWeight[i] * hit(i)
	}
	r.pools = pav.Pools(r.pools[:0], r.weight, r.sum)
	return means(r.pools, r.from, r.to)
}

// redraw has for each place the frequencies of curves whose hits are drawn with these chances.
func (r *isotonic) redraw(chance func(i int) float64, rng *rand.Rand) [][]float64 {
	frequencies := make([][]float64, len(r.at))
	for range max(curveFewest, min(curveRedraws, int(curveWork)/len(r.of))) {
		drawn := r.fit(func(i int) float64 {
			if rng.Float64() < chance(i) {
				return 1
			}
			return 0
		})
		for j, f := range drawn {
			frequencies[j] = append(frequencies[j], f)
		}
	}
	return frequencies
}

// means are those of pools over windows, which ascend, in their cumulative weight.
func means(pools []pav.Pool, from, to []float64) []float64 {
	sumBelow := func(ends []float64) []float64 {
		sums := make([]float64, len(ends))
		var k int
		var weight, sum float64 // of the pools before k
		for j, end := range ends {
			for ; k < len(pools)-1 && weight+pools[k].Weight <= end; k++ {
				weight, sum = weight+pools[k].Weight, sum+pools[k].Sum
			}
			sums[j] = sum + (end-weight)*pools[k].Mean()
		}
		return sums
	}
	mean := floats.SubTo(make([]float64, len(to)), sumBelow(to), sumBelow(from))
	for j := range mean {
		mean[j] /= to[j] - from[j]
	}
	return mean
}

// interpolate is y at x = at, as at the nearest end where it is beyond both. x ascends.
func interpolate(x, y []float64, at float64) float64 {
	j, _ := slices.BinarySearch(x, at)
	if j == 0 || j == len(x) {
		return y[max(0, j-1)]
	}
	return y[j-1] + (y[j]-y[j-1])*(at-x[j-1])/(x[j]-x[j-1])
}
