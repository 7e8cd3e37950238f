package diagnosis

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/optim/pav"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Isotonic is how often the top class is right against its probability, by isotonic regression in the place of bins
// (CORP: Dimitriadis, Gneiting and Jordan 2021): of all curves that never fall the one nearest to the hits. Where it is
// flat rows are pooled, as many as the rows require.
type Isotonic struct {
	// X and Y are the corners of the curve, X ascending; between them it is a line.
	X []float64 `json:"x"`
	Y []float64 `json:"y"`
	// Low and High are where 95 % of the curves of perfectly calibrated predictions lie at Places: the hits are redrawn
	// from the probabilities.
	Places []float64 `json:"places,omitempty"`
	Low    []float64 `json:"low,omitempty"`
	High   []float64 `json:"high,omitempty"`
	// The Brier score of the top class is Miscalibration − Discrimination + Uncertainty: what the curve would save, what
	// it then saves of the score of one probability for all rows, and that score.
	Miscalibration float64 `json:"miscalibration"`
	Discrimination float64 `json:"discrimination"`
	Uncertainty    float64 `json:"uncertainty"`
	// Density is the share of the rows in each of equal parts of the unit interval.
	Density []float64 `json:"density"`
	// Right and Wrong are the probabilities of some rows whose top class is right, and wrong.
	Right []float64 `json:"right"`
	Wrong []float64 `json:"wrong"`
}

const (
	isotonicRedraws = 200
	isotonicPlaces  = 101
	isotonicParts   = 50  // of the density
	isotonicTicks   = 250 // rows at most in Right, and in Wrong
	isotonicWork    = 2e7 // rows that are redrawn in all: of many rows the band needs fewer redraws
)

// isotonic is the curve of the predictions. Its band is drawn from rng; nil: it has none.
func isotonic(s *checked.Sample, rng *rand.Rand) *Isotonic {
	confidence, order := s.Confidences(), make([]int, s.N)
	floats.ArgsortStable(confidence, order)
	hits, ordered := make([]float64, s.N), make([]float64, s.N)
	c := &Isotonic{Density: make([]float64, isotonicParts)}
	var told [2][]float64
	for i, row := range order {
		hits[i], ordered[i] = s.Hit(row, s.Classes), s.W(row)
		right := 0
		if s.Top[row] == s.Label[row] {
			right = 1
		}
		told[right] = append(told[right], confidence[i])
		c.Density[min(int(confidence[i]*isotonicParts), isotonicParts-1)] += ordered[i]
	}
	floats.Scale(1/floats.Sum(ordered), c.Density)
	c.Wrong, c.Right = thinned(told[0], isotonicTicks), thinned(told[1], isotonicTicks)
	p := newPooling(confidence, ordered)
	c.X, c.Y = p.corners(hits)
	c.decompose(confidence, hits, ordered)
	if rng != nil {
		c.band(confidence, p, rng)
	}
	return c
}

// decompose finds the parts of the Brier score, of which a row of share h has h (1 − x)² + (1 − h) x².
func (c *Isotonic) decompose(confidence, hits, weights []float64) {
	n := floats.Sum(weights)
	share := stat.Mean(hits, weights)
	var brier, pooled float64
	for i, x := range confidence {
		open := hits[i] * (1 - hits[i])
		brier += weights[i] / n * ((x-hits[i])*(x-hits[i]) + open)
		y := c.At(x)
		pooled += weights[i] / n * ((y-hits[i])*(y-hits[i]) + open)
	}
	c.Uncertainty = share * (1 - share)
	c.Miscalibration, c.Discrimination = brier-pooled, c.Uncertainty-pooled
}

// band finds Places, Low and High.
func (c *Isotonic) band(confidence []float64, p *pooling, rng *rand.Rand) {
	first, last := confidence[0], confidence[len(confidence)-1]
	if first == last {
		return
	}
	c.Places = floats.Span(make([]float64, isotonicPlaces), first, last)
	redraws := max(40, min(isotonicRedraws, int(isotonicWork)/len(confidence)))
	values := make([][]float64, isotonicPlaces)
	drawn := &Isotonic{}
	hits := make([]float64, len(confidence))
	for range redraws {
		for i, x := range confidence {
			hits[i] = 0
			if rng.Float64() < x {
				hits[i] = 1
			}
		}
		drawn.X, drawn.Y = p.corners(hits)
		for k, x := range c.Places {
			values[k] = append(values[k], drawn.At(x))
		}
	}
	for _, v := range values {
		slices.Sort(v)
		c.Low = append(c.Low, stat.Quantile(0.025, stat.Empirical, v, nil))
		c.High = append(c.High, stat.Quantile(0.975, stat.Empirical, v, nil))
	}
}

// At is the curve at x, flat beyond its ends.
func (c *Isotonic) At(x float64) float64 {
	k, found := slices.BinarySearch(c.X, x)
	switch {
	case found:
		return c.Y[k]
	case k == 0:
		return c.Y[0]
	case k == len(c.X):
		return c.Y[k-1]
	}
	t := (x - c.X[k-1]) / (c.X[k] - c.X[k-1])
	return c.Y[k-1] + t*(c.Y[k]-c.Y[k-1])
}

// pooling is isotonic regression on the same x.
type pooling struct {
	x      []float64 // distinct, ascending
	rows   []int     // at each
	of     []float64 // their weights, one for each
	weight []float64 // of all of them
	sum    []float64 // of their hits
	pools  []pav.Pool
}

func newPooling(ascending, weights []float64) *pooling {
	p := &pooling{of: weights}
	for i, x := range ascending {
		if i == 0 || x != ascending[i-1] {
			p.x, p.rows, p.weight = append(p.x, x), append(p.rows, 0), append(p.weight, 0)
		}
		p.rows[len(p.rows)-1]++
		p.weight[len(p.weight)-1] += weights[i]
	}
	p.sum = make([]float64, len(p.x))
	return p
}

// corners are those of the curve nearest to the hits of rows in ascending order.
func (p *pooling) corners(hits []float64) (x, y []float64) {
	at := 0
	for k, n := range p.rows {
		p.sum[k] = floats.Dot(hits[at:at+n], p.of[at:at+n])
		at += n
	}
	p.pools = pav.Pools(p.pools[:0], p.weight, p.sum)
	for _, b := range p.pools {
		x, y = append(x, p.x[b.First]), append(y, b.Mean())
		if b.Last > b.First {
			x, y = append(x, p.x[b.Last]), append(y, b.Mean())
		}
	}
	return x, y
}

// thinned is at most n of ascending values, evenly by their ranks.
func thinned(values []float64, n int) []float64 {
	if len(values) <= n {
		return values
	}
	out := make([]float64, n)
	for k := range out {
		out[k] = values[int(math.Round(float64(k)*float64(len(values)-1)/float64(n-1)))]
	}
	return out
}
