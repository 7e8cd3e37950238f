package diagnosis

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Reliability is how often the top class is right against its probability.
type Reliability struct {
	SmoothECE float64                `json:"smece_top"` // smooth calibration error of the top class
	Curve     *metrics.IsotonicCurve `json:"curve"`
	Bins      []MassBin              `json:"bins"` // of about equal weight, ascending
	// Density is the share of the rows in each of equal parts of the unit interval.
	Density []float64 `json:"density"`
}

// MassBin are rows of neighbouring confidences.
type MassBin struct {
	Rows       int     `json:"rows"`
	Confidence float64 `json:"confidence"` // the mean
	Frequency  float64 `json:"frequency"`  // of hits
	// Low and High are where 95 % of the frequencies of perfectly calibrated predictions lie: hits are redrawn from the
	// confidences (consistency bars, Bröcker and Smith 2007). Both are the confidence where nothing was redrawn.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

const (
	densityParts = 50
	mostBins     = 15
	binRows      = 20 // a bin has at least
	binRedraws   = 1000
	fewestDraws  = 100
	binWork      = 2e7 // rows that are redrawn in all
)

// reliability is that of the rows; what is random is drawn from rng, nil: nothing is.
func reliability(s *checked.Sample, rng *rand.Rand) *Reliability {
	confidence, order := s.Confidences(), make([]int, s.N)
	floats.ArgsortStable(confidence, order)
	hits, weights := make([]float64, s.N), make([]float64, s.N)
	r := &Reliability{Density: make([]float64, densityParts)}
	for i, row := range order {
		hits[i], weights[i] = s.Hit(row, s.Classes), s.W(row)
		r.Density[min(int(confidence[i]*densityParts), densityParts-1)] += weights[i]
	}
	floats.Scale(1/floats.Sum(weights), r.Density)
	r.SmoothECE = metrics.SmoothECE(confidence, hits, weights)
	r.Curve = metrics.NewIsotonicCurve(confidence, hits, weights, rng)
	bins := equalMasses(confidence, weights)
	sources := make([]*rand.PCG, len(bins))
	for k, rows := range bins {
		from, to := rows[0], rows[1]
		mean := stat.Mean(confidence[from:to], weights[from:to])
		r.Bins = append(r.Bins, MassBin{to - from, mean, stat.Mean(hits[from:to], weights[from:to]), mean, mean})
		if rng != nil {
			sources[k] = rand.NewPCG(rng.Uint64(), rng.Uint64())
		}
	}
	if rng != nil {
		redraws := max(fewestDraws, min(binRedraws, int(binWork)/s.N))
		work.Each(len(bins), 1, func(k int) {
			rows := bins[k]
			r.Bins[k].redraw(confidence[rows[0]:rows[1]], weights[rows[0]:rows[1]], redraws, sources[k])
		})
	}
	return r
}

// equalMasses parts rows of ascending confidence into bins of about equal weight, each from its first row to before its
// last. Rows of one confidence stay together.
func equalMasses(confidence, weights []float64) (bins [][2]int) {
	n := len(confidence)
	count := float64(min(mostBins, max(1, n/binRows)))
	total, below, first := floats.Sum(weights), 0., 0
	for i, w := range weights {
		below += w
		if i == n-1 || below >= total*float64(len(bins)+1)/count && confidence[i+1] > confidence[i] {
			bins, first = append(bins, [2]int{first, i + 1}), i+1
		}
	}
	return bins
}

// redraw finds Low and High.
func (b *MassBin) redraw(confidence, weights []float64, redraws int, source *rand.PCG) {
	const digits = 53                        // of a draw
	below := make([]uint64, len(confidence)) // a draw below it is a hit
	share := floats.ScaleTo(make([]float64, len(weights)), 1/floats.Sum(weights), weights)
	for i, p := range confidence {
		below[i] = uint64(math.Ldexp(p, digits))
	}
	frequencies := make([]float64, redraws)
	for k := range frequencies {
		for i, most := range below {
			if source.Uint64()>>(64-digits) < most {
				frequencies[k] += share[i]
			}
		}
	}
	slices.Sort(frequencies)
	b.Low, b.High = stat.Quantile(0.025, stat.Empirical, frequencies, nil), stat.Quantile(0.975, stat.Empirical, frequencies, nil)
}
