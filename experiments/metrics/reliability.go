package metrics

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// Curve is a reliability diagram in numbers: per bin of the unit interval the mean
// confidence and the frequency of hits, NaN in an empty bin, with a 95 % bootstrap
// band of the frequency over the rows (NaN without replicates).
type Curve struct {
	Confidence, Frequency, Low, High []float64
	Count                            []int // predictions in the bin
}

// Reliability returns the curve of the top class's confidence, N predictions, and
// that of all classes' probabilities, N·C predictions. Of s it takes the bins.
func Reliability(ctx context.Context, logProbs *mat.Dense, labels []int, s Settings, replicates int, rng *rand.Rand) (top, classes *Curve, err error) {
	b, _, err := prepare(logProbs, labels, nil, s)
	if err != nil {
		return nil, nil, err
	}
	observed := b.hits(ones(b.rows))
	var tops, all []reliabilityBins
	for range replicates {
		if err := ctx.Err(); err != nil {
			return nil, nil, fmt.Errorf("metrics: reliability: %w", err)
		}
		again := b.hits(multiplicities(b.rows, rng))
		tops, all = append(tops, again.top), append(all, again.classes)
	}
	return observed.top.curve(tops), observed.classes.curve(all), nil
}

// reliabilityBins are per bin the weight of its predictions, of their hits, and the
// sum of their confidences.
type reliabilityBins struct{ weight, hits, confidence []float64 }

func newReliabilityBins(bins int) reliabilityBins {
	return reliabilityBins{make([]float64, bins), make([]float64, bins), make([]float64, bins)}
}

func (r reliabilityBins) add(bin uint16, weight, confidence float64, hit bool) {
	r.weight[bin] += weight
	r.confidence[bin] += weight * confidence
	if hit {
		r.hits[bin] += weight
	}
}

type hits struct{ top, classes reliabilityBins }

func (b *binned) hits(weight []float64) hits {
	h := hits{newReliabilityBins(b.settings.Bins), newReliabilityBins(b.settings.Bins)}
	for i, w := range weight {
		h.top.add(b.topLabel[i], w, b.confidence(i), b.top[i] == b.label[i])
		for c := range b.classes {
			at := i*b.classes + c
			h.classes.add(b.class[at], w, b.prob[at], c == b.label[i])
		}
	}
	return h
}

func (r reliabilityBins) curve(replicates []reliabilityBins) *Curve {
	bins := len(r.weight)
	c := &Curve{make([]float64, bins), make([]float64, bins), make([]float64, bins), make([]float64, bins), make([]int, bins)}
	for k, n := range r.weight {
		c.Count[k] = int(n)
		c.Confidence[k], c.Frequency[k] = r.confidence[k]/n, r.hits[k]/n
		c.Low[k], c.High[k] = math.NaN(), math.NaN()
		var frequencies []float64
		for _, again := range replicates {
			if again.weight[k] > 0 {
				frequencies = append(frequencies, again.hits[k]/again.weight[k])
			}
		}
		if len(frequencies) > 0 {
			edges := quantileEdges(frequencies, 40) // steps of 2.5 %
			c.Low[k], c.High[k] = edges[1], edges[39]
		}
	}
	return c
}
