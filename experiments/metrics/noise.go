package metrics

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics/internal/tile"
)

// Noise is the distribution of a metric for a perfectly calibrated model with these
// predictions: labels are redrawn from them.
type Noise struct {
	Mean   float64 `json:"mean"`
	SD     float64 `json:"sd"`
	P95    float64 `json:"p95"`    // 95th percentile
	Excess float64 `json:"excess"` // value − mean
	// PValue is the chance of a value as extreme under perfect calibration, from T
	// redraws (1 + those as extreme)/(T + 1): as large for an error, as far from
	// the mean on either side for accuracy, NLL and the Brier score.
	PValue float64 `json:"p_value"`
}

// Exceeded reports whether the value lies above what perfect calibration shows, by one of so many tests at the level
// that holds for all of them (Bonferroni).
func (n *Noise) Exceeded(level float64, tests int) bool {
	return n.PValue*float64(tests) < level && n.Excess > 0
}

func newNoise(m Metric, value float64, redraws []float64) *Noise {
	if math.IsNaN(value) || slices.ContainsFunc(redraws, math.IsNaN) {
		return nil
	}
	n := upperNoise(value, redraws)
	if m == Accuracy || m == NLL || m == Brier {
		// the mean of all T + 1, so that value and redraws are exchangeable
		centre := (n.Mean*float64(len(redraws)) + value) / float64(len(redraws)+1)
		n.PValue = tail(math.Abs(value-centre), redraws, func(x float64) float64 { return math.Abs(x - centre) })
	}
	return n
}

// upperNoise is the noise of a statistic of which large values speak against calibration.
func upperNoise(value float64, redraws []float64) *Noise {
	n := &Noise{Mean: checked.Mean(redraws), P95: checked.QuantileEdges(redraws, 20)[19]}
	for _, x := range redraws {
		n.SD += (x - n.Mean) * (x - n.Mean)
	}
	n.SD = math.Sqrt(n.SD / float64(max(1, len(redraws)-1)))
	n.Excess = value - n.Mean
	n.PValue = tail(value, redraws, func(x float64) float64 { return x })
	return n
}

// tail is (1 + #{x: of(x) ≥ value})/(T + 1). Values that differ by rounding alone are equal.
func tail(value float64, redraws []float64, of func(float64) float64) float64 {
	as := 1
	for _, x := range redraws {
		if of(x) >= value-1e-9*math.Abs(value) {
			as++
		}
	}
	return float64(as) / float64(len(redraws)+1)
}

// redraw draws labels from the predictions, T times N.
func (b *binned) redraw(times int, rng *rand.Rand) []ids {
	labels := make([]ids, times)
	for t := range labels {
		labels[t] = newIDs(b.N, b.Classes)
	}
	cumulative := make([]float64, b.Classes)
	for i := range b.N {
		b.Cumulate(cumulative, i)
		for t := range labels {
			labels[t].set(i, int32(drawClass(cumulative, rng)))
		}
	}
	return labels
}

// drawClass draws a class from cumulative probabilities.
func drawClass(cumulative []float64, rng *rand.Rand) (c int) {
	last := len(cumulative) - 1
	for u := rng.Float64() * cumulative[last]; c < last && u >= cumulative[c]; c++ {
	}
	return c
}

// certain are the rows with certain labels, for what redrawn ones alone decide; b where labels are certain.
func (b *binned) certain() *binned {
	if b.Shares == nil {
		return b
	}
	return b.under(checked.Truth{Label: b.Label})
}

// under are the rows with other labels.
func (b *binned) under(truth checked.Truth) *binned {
	s, out := *b.Sample, *b
	s.Truth, out.Sample = truth, &s
	return &out
}

// redrawer is the observer that sums the kernel over the rows of each redrawn label
// and own bin, Y_ic = Σ_j K_ij 1[y_j = c]. As e_jc changes with the label alone, the
// redrawn R is R + Y(observed) − Y(redrawn). A row is in one class per redraw, so a
// pair costs one addition per redraw, whatever C. It counts the local residuals |(R + e_i)/(S + 1)|; of row i,
// e counts w_i times and 1 is w_i.
type redrawer struct {
	sample *checked.Sample
	places []ids     // T+1 of rows: where row j adds itself; first the observed labels
	labels []ids     // T+1 of N
	label  []int32   // T+1 of lanes: those of the stripe
	block  []int32   // the places of a block, under each of them
	height int       // C + slots + 1: a row of sums for each dominant bin, each slot, and what is skipped
	y      []float32 // (T+1)×height×lanes

	counts *tally    // of the local residuals of each redraw
	local  *Local    // to whose floor their means are added
	norm   []float64 // T×lanes: Σ_c of them, of the stripe
}

var _ observer = (*redrawer)(nil)

// redrawPlaces returns where each row of n adds itself under each of the labels.
func (n *neighbours) redrawPlaces(labels []ids) []ids {
	places := make([]ids, len(labels))
	for t, label := range labels {
		places[t] = newIDs(n.rows, n.classes+n.slots+1)
		for j, i := range n.order {
			c := label.at(i)
			switch place := n.own[int(c)*n.rows+j]; place {
			case dominant:
				places[t].set(j, c)
			case skipped:
				places[t].set(j, int32(n.classes+n.slots))
			default:
				places[t].set(j, int32(n.classes)+place)
			}
		}
	}
	return places
}

func (n *neighbours) newRedrawer(places, labels []ids, local *Local) *redrawer {
	height, redraws := n.classes+n.slots+1, len(labels)-1
	return &redrawer{
		sample: n.sample, places: places, labels: labels, label: make([]int32, len(labels)*lanes),
		block: make([]int32, len(labels)*n.longestBlock()), height: height, y: make([]float32, len(labels)*height*lanes),
		counts: tallyOf(n.sample, redraws), local: local, norm: make([]float64, redraws*lanes),
	}
}

func (o *redrawer) begin(*stripe) { clear(o.y) }

func (o *redrawer) met(t *stripe, _, j0, j1 int) {
	rows := j1 - j0
	for k, place := range o.places {
		place.slice(o.block[k*rows:(k+1)*rows], j0)
	}
	tile.AddRows(o.y, o.block[:len(o.places)*rows], rows, t.kernel)
}

func (o *redrawer) end(t *stripe) {
	size, redraws := o.height*lanes, len(o.labels)-1
	for k, label := range o.labels {
		for l, i := range t.order[t.first : t.first+t.count] {
			o.label[k*lanes+l] = label.at(i)
		}
	}
	for c := range t.classes {
		_, s, _ := t.sumsOf(c)
		for l, i := range t.order[t.first : t.first+t.count] {
			place := int(t.own[c*t.rows+t.first+l])
			switch {
			case place == skipped:
				continue
			case place == dominant:
				place = c
			default:
				place += t.classes
			}
			at, w, certain := place*lanes+l, o.sample.W(i), o.sample.Residual(i, c) // e_ic but for a redrawn label
			if int(o.label[l]) == c {
				certain++
			}
			base, kernel, floor := t.total[c*lanes+l]+float64(o.y[at]), t.total[s+l]+w, 0.
			for k := range redraws {
				e := certain
				if int(o.label[(k+1)*lanes+l]) == c {
					e--
				}
				x := math.Abs(base-float64(o.y[(k+1)*size+at])+w*e) / kernel
				o.counts.add(k, c, x, w)
				floor += x / float64(redraws)
				o.norm[k*lanes+l] += x
			}
			o.local.Floor.RawRowView(o.local.place(i))[c] += floor
		}
	}
	for at, x := range o.norm {
		o.counts.addNorm(at/lanes, x)
	}
	clear(o.norm)
}
