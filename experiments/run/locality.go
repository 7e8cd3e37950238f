package run

import (
	"context"
	"math"

	"calibra/data"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// Bandwidths are the γ of the kernel at which [Locality] is measured, in units of the embedding.
var Bandwidths = []float64{1, 2, 5, 10, 20, 50, 100}

// codeBins are the quantile bins of the profiles along codes.
const codeBins = 10

// Locality says on how small a scale predictions are wrong: their local calibration error in the embedding shared by
// all methods as the kernel widens, and along how a method divides the rows.
type Locality struct {
	// LCE and Noise are the error and its noise floor at each of Bandwidths. Where the kernel is so narrow that a row
	// meets itself alone, the error is that of a single label; where it is wide, that of a whole bin of confidence.
	LCE, Noise []float64
	// Entropy and Distance are the error along the entropy of a row's codewords and along the mean squared distance of
	// its slots to them (see [layers.Quantized]), in deciles, at the Spec's own bandwidth; nil without codes.
	Entropy, Distance *metrics.Profile
}

// locality measures an outcome that is judged; embedded are the test rows in features of the method's own, or nil.
func (r *Run) locality(ctx context.Context, p *Prepared, o *Outcome, embedded mat.Matrix) (*Locality, error) {
	measure, err := r.measurer(ctx, p, o.Predictions)
	if err != nil {
		return nil, err
	}
	l := &Locality{}
	for _, bandwidth := range Bandwidths {
		m, err := measure(o.Shared, bandwidth)
		if err != nil {
			return nil, err
		}
		noise := math.NaN()
		if floor := m.Noise[metrics.LCE]; floor != nil {
			noise = floor.Mean
		}
		l.LCE, l.Noise = append(l.LCE, m.Values[metrics.LCE]), append(l.Noise, noise)
	}
	q, coded := embedded.(interface { // as layers.Quantized
		Entropies() []float64
		Distances(x mat.Matrix) []float64
	})
	if !coded {
		return l, nil
	}
	along := func(x []float64) *metrics.Profile {
		if rows := o.Metrics.Counted; rows != nil {
			x = data.Each(rows, func(i int) float64 { return x[i] })
		}
		profile := o.Metrics.Local.Profile(x, codeBins)
		return &profile
	}
	l.Entropy, l.Distance = along(q.Entropies()), along(q.Distances(r.Source.Test.Features))
	return l, nil
}
