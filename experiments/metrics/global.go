package metrics

import (
	"math"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/work"
)

// binned holds the class-wise and the top-label bins of a sample: what global
// metrics need of it, whatever the weights of its rows.
type binned struct {
	*checked.Sample
	settings Settings
	bins     []uint16    // N×(C+1), bin of p_ic, and at C that of the confidence
	anchors  *anchorRows // nil: all rows are measured at
	groups   []int       // N, 0…G−1: rows that together are one observation; nil: each is one
}

func bin(s *checked.Sample, settings Settings) *binned {
	b := &binned{Sample: s, settings: settings, bins: make([]uint16, s.N*(s.Classes+1))}
	work.Each(s.Classes+1, 1, func(c int) {
		column := make([]float64, s.N)
		for i := range column {
			column[i] = s.Probability(i, c)
		}
		for i, k := range assign(column, s.Weight, settings.Bins, settings.Binning) {
			b.binsOf(i)[c] = k
		}
	})
	b.anchors = b.drawAnchors()
	return b
}

// binsOf are the bins of row i, C+1.
func (b *binned) binsOf(i int) []uint16 { return b.bins[i*(b.Classes+1) : (i+1)*(b.Classes+1)] }

// topBin is that of the confidence of row i.
func (b *binned) topBin(i int) int { return int(b.bins[(i+1)*(b.Classes+1)-1]) }

// gaps are per bin the weight of its rows and the sum of their residuals,
// Σ_i w_i (conf_i − hit_i).
type gaps struct{ weight, residual []float64 }

func newGaps(bins int) gaps { return gaps{make([]float64, bins), make([]float64, bins)} }

func (g gaps) add(bin int, weight, residual float64) {
	g.weight[bin] += weight
	g.residual[bin] += weight * residual
}

// slice is the gaps of the bins from…to−1.
func (g gaps) slice(from, to int) gaps { return gaps{g.weight[from:to], g.residual[from:to]} }

// ece is Σ_b |B_b|/n · |freq(B_b) − conf(B_b)|.
func (g gaps) ece(n float64) float64 {
	var sum float64
	for _, r := range g.residual {
		sum += math.Abs(r)
	}
	return sum / n
}

// mce is max_b |freq(B_b) − conf(B_b)|.
func (g gaps) mce() float64 {
	var most float64
	for b, r := range g.residual {
		if g.weight[b] > 0 {
			most = max(most, math.Abs(r)/g.weight[b])
		}
	}
	return most
}

// ecce is Σ_b |Σ_{i≤b} |B_i|/n · (freq(B_i) − conf(B_i))|: in the Formula protocol
// over all bins as printed, in the Tables protocol over the non-empty ones and
// divided by their number.
func (g gaps) ecce(n float64, p Protocol) float64 {
	var sum, cumulative, nonEmpty float64
	for b, r := range g.residual {
		cumulative += r / n
		switch {
		case p == Formula:
			sum += math.Abs(cumulative)
		case g.weight[b] > 0:
			sum += math.Abs(cumulative)
			nonEmpty++
		}
	}
	if p == Tables {
		return sum / nonEmpty
	}
	return sum
}

// variant is a sample's rows with other weights or other labels than its own.
type variant struct {
	weight []float64 // N, by its own weight and how often it was drawn
	checked.Truth
}

// observed is the sample as it is.
func (b *binned) observed() variant { return variant{b.Weights(), b.Truth} }

// global measures the global metrics of a variant.
func (b *binned) global(as variant) Values {
	v := unmeasured()
	bins := b.settings.Bins
	class := newGaps((b.Classes + 1) * bins)
	var n, hits, nll, brier float64
	for i, w := range as.weight {
		if w == 0 {
			continue
		}
		p, k := b.Prob[i*b.Classes:(i+1)*b.Classes], b.binsOf(i)
		var squares float64
		for c, x := range p {
			q := as.Share(i, c)
			e := x - q
			class.add(c*bins+int(k[c]), w, e)
			squares += e*e + q*(1-q) // q (1 − p)² + (1 − q) p²
		}
		hit := as.Share(i, int(b.Top[i]))
		hits += w * hit
		class.add(b.Classes*bins+int(k[b.Classes]), w, p[b.Top[i]]-hit)
		n += w
		nll += w * b.Loss(i, as.Truth)
		brier += w * squares
	}
	v[Accuracy], v[NLL], v[Brier] = hits/n, nll/n, brier/n
	class.summarize(&v, n, b.classWeights(as), b.settings)
	return v
}

// summarize takes the calibration errors of n rows from the bins of each class and, last, of the top class.
func (g gaps) summarize(v *Values, n float64, weights []float64, s Settings) {
	v[ECE], v[MCE], v[ECCE] = 0, 0, 0
	for c, w := range weights {
		class := g.slice(c*s.Bins, (c+1)*s.Bins)
		v[ECE] += w * class.ece(n)
		v[MCE] += w * class.mce()
		v[ECCE] += w * class.ecce(n, s.Protocol)
	}
	v[TopECE] = g.slice(len(weights)*s.Bins, len(g.weight)).ece(n)
}

// classWeights are C weights w_c that sum to 1.
func (b *binned) classWeights(as variant) []float64 {
	if b.settings.Weighting == Uniform {
		return slices.Repeat([]float64{1 / float64(b.Classes)}, b.Classes)
	}
	weights := make([]float64, b.Classes)
	for i, w := range as.weight {
		as.EachShare(i, func(c int, q float64) { weights[c] += w * q })
	}
	var sum float64
	for _, w := range weights {
		sum += w
	}
	for c := range weights {
		weights[c] /= sum
	}
	return weights
}
