package metrics

import "math"

// binned holds the class-wise and the top-label bins of a sample: what global
// metrics need of it, whatever the weights of its rows.
type binned struct {
	*sample
	settings Settings
	weights  []float64  // C class weights, sum 1
	class    [][]uint16 // C×N, bin of p_ic
	topLabel []uint16   // N, bin of the confidence
}

func bin(s *sample, settings Settings) *binned {
	b := &binned{
		sample: s, settings: settings,
		weights: settings.classWeights(s.label, s.classes),
		class:   make([][]uint16, s.classes),
	}
	column := make([]float64, s.rows)
	for c := range b.class {
		s.column(column, c)
		b.class[c] = assign(column, settings.Bins, settings.Binning)
	}
	for i := range column {
		column[i] = s.confidence(i)
	}
	b.topLabel = assign(column, settings.Bins, settings.Binning)
	return b
}

// rowScores returns N-vectors of what accuracy, NLL and the Brier score average.
func (s *sample) rowScores() (hit, nll, brier []float64) {
	hit, nll, brier = make([]float64, s.rows), make([]float64, s.rows), make([]float64, s.rows)
	for i := range s.rows {
		if s.top[i] == s.label[i] {
			hit[i] = 1
		}
		nll[i] = -s.logProb[i]
		for c := range s.classes {
			e := s.residual(i, c)
			brier[i] += e * e
		}
	}
	return hit, nll, brier
}

// gaps are per bin the weight of its rows and the sum of their residuals,
// Σ_i w_i (conf_i − hit_i).
type gaps struct{ weight, residual []float64 }

func newGaps(bins int) gaps {
	return gaps{make([]float64, bins), make([]float64, bins)}
}

func (g gaps) reset() {
	clear(g.weight)
	clear(g.residual)
}

func (g gaps) add(bin uint16, weight, residual float64) {
	g.weight[bin] += weight
	g.residual[bin] += weight * residual
}

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

// calibration fills the binned metrics of v for rows of the given weights (N
// values of sum n) whose labels are those of label (N).
func (b *binned) calibration(v *Values, weight []float64, label []int) {
	var n float64
	for _, w := range weight {
		n += w
	}
	v[ECE], v[MCE], v[ECCE] = 0, 0, 0
	g := newGaps(b.settings.Bins)
	for c, bins := range b.class {
		g.reset()
		for i, w := range weight {
			e := b.prob[i*b.classes+c]
			if label[i] == c {
				e--
			}
			g.add(bins[i], w, e)
		}
		v[ECE] += b.weights[c] * g.ece(n)
		v[MCE] += b.weights[c] * g.mce()
		v[ECCE] += b.weights[c] * g.ecce(n, b.settings.Protocol)
	}
	g.reset()
	for i, w := range weight {
		e := b.confidence(i)
		if label[i] == b.top[i] {
			e--
		}
		g.add(b.topLabel[i], w, e)
	}
	v[TopECE] = g.ece(n)
}

// global fills the global metrics of v.
func (b *binned) global(v *Values) {
	hit, nll, brier := b.rowScores()
	v[Accuracy], v[NLL], v[Brier] = mean(hit), mean(nll), mean(brier)
	b.calibration(v, ones(b.rows), b.label)
}

func mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func ones(n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
	}
	return x
}
