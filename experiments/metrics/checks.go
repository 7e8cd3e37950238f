package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/stat/distuv"
)

// Checks are estimates of calibration error less the bias of noise, as independent
// witnesses of the binned and the local ones. Of calibrated predictions SKCE averages 0
// and SquaredDebiased little less; the debiased ECE keeps part of its bias.
type Checks struct {
	// ECEDebiased and TopECEDebiased are ECE and TopECE less their bias when each
	// bin's frequency is taken as normal around the observed one (Kumar, Liang and
	// Ma 2019, section 5 and their implementation). They may be negative.
	ECEDebiased    float64
	TopECEDebiased float64
	// SquaredDebiased is the class average of the squared error less its noise,
	// Σ_b |B_b|/n · [(conf_b − freq_b)² − freq_b(1 − freq_b)/(|B_b| − 1)] (Kumar et al.
	// 2019, definition 5.1), a bin of one row counting 0. It is unbiased where a bin's
	// rows share one probability. Where these have a variance v_b, the binomial one is
	// too large and takes off Σ_b |B_b|/n · v_b/(|B_b| − 1) too much, next to nothing in
	// bins of a fifteenth. It may be negative.
	SquaredDebiased float64
	// SKCE is the squared kernel calibration error, unbiased,
	// 1/(n(n−1)) · Σ_{i≠j} k(p_i, p_j) e_iᵀe_j (Widmann, Lindsten and Zachariah 2019,
	// table 1), with k(p, q) = exp(−‖p − q‖²/(2m²)), m the median distance between up to
	// 500 evenly spaced predictions. NaN for a single row.
	SKCE      float64
	SKCENoise *Noise // nil without redraws
	// SmoothECE is the smooth calibration error of the top class (Błasiok and Nakkiran
	// 2023), without bins and with a bandwidth that it chooses itself. NaN where rows are
	// measured in parts.
	SmoothECE   float64
	SmoothNoise *Noise // nil without redraws
}

// debiased fills the estimates after Kumar et al.
func (b *binned) debiased(out *Checks) {
	out.debiased(b.classWeights(b.observed()), func(c int) binCounts {
		counts := newBinCounts(b.settings.Bins)
		for i := range b.N {
			counts.add(int(b.binsOf(i)[c]), b.W(i), b.Probability(i, c), b.Hit(i, c))
		}
		return counts
	})
}

// debiased fills them from the bins of each class, and of the top class, C.
func (out *Checks) debiased(weights []float64, bins func(c int) binCounts) {
	for c, w := range weights {
		class := bins(c)
		out.ECEDebiased += w * class.debiasedECE()
		out.SquaredDebiased += w * class.debiasedSquare()
	}
	out.TopECEDebiased = bins(len(weights)).debiasedECE()
}

// binCounts are per bin Σ w, Σ w² (nil of curves pooled), and the sums of confidences, hits and squared hits by weight: the hit
// of a certain label is 0 or 1.
type binCounts struct{ size, squares, confidence, hits, hitSquares []float64 }

func newBinCounts(bins int) binCounts {
	return binCounts{
		size: make([]float64, bins), squares: make([]float64, bins), confidence: make([]float64, bins), hits: make([]float64, bins), hitSquares: make([]float64, bins),
	}
}

func (f binCounts) add(k int, w, confidence, hit float64) {
	f.size[k] += w
	f.squares[k] += w * w
	f.confidence[k] += w * confidence
	f.hits[k] += w * hit
	f.hitSquares[k] += w * hit * hit
}

// variance is that of a bin's hits: f(1 − f) of certain labels, f their frequency.
func (f binCounts) variance(k int) float64 {
	frequency := f.hits[k] / f.size[k]
	return f.hitSquares[k]/f.size[k] - frequency*frequency
}

// debiasedECE is 2·ECE − E[ECE*], the frequencies of ECE* being normal with the
// binomial variance; for a gap g and a deviation σ,
// E|g + σZ| = σ √(2/π) exp(−g²/2σ²) + g (1 − 2Φ(−g/σ)).
func (f binCounts) debiasedECE() float64 {
	var n, sum float64
	for k, rows := range f.size {
		if rows == 0 {
			continue
		}
		n += rows
		frequency := f.hits[k] / rows
		gap := math.Abs(f.confidence[k]/rows - frequency)
		expected := gap
		if sd := math.Sqrt(max(0, f.variance(k)) / (rows * rows / f.squares[k])); sd > 0 {
			z := gap / sd
			expected = sd*math.Sqrt(2/math.Pi)*math.Exp(-z*z/2) + gap*(1-2*distuv.UnitNormal.CDF(-z))
		}
		sum += rows * (2*gap - expected)
	}
	return sum / n
}

func (f binCounts) debiasedSquare() float64 {
	var n, sum float64
	for k, rows := range f.size {
		n += rows
		effective := rows * rows / f.squares[k]
		if !(effective >= 2) {
			continue
		}
		gap := (f.confidence[k] - f.hits[k]) / rows
		sum += rows * (gap*gap - f.variance(k)/(effective-1))
	}
	return sum / n
}

// skce fills SKCE, and its noise under the redrawn labels (T × N).
func (b *binned) skce(ctx context.Context, redrawn []ids, p *checked.Progress, out *Checks) error {
	out.SKCE = math.NaN()
	if b.N < 2 {
		return nil
	}
	certain := b.certain()
	estimates, err := certain.kernelErrors(ctx, redrawn, p)
	if err == nil && certain != b { // whose own labels are soft
		var soft []float64
		if soft, err = b.kernelErrors(ctx, nil, p); err == nil {
			estimates[0] = soft[0]
		}
	}
	if err != nil {
		return fmt.Errorf("metrics: kernel calibration error: %w", err)
	}
	out.SKCE = estimates[0]
	if len(redrawn) > 0 {
		out.SKCENoise = upperNoise(out.SKCE, estimates[1:])
	}
	return nil
}

// certain are the rows with certain labels, for what redrawn ones alone decide; b where labels are certain.
func (b *binned) certain() *binned {
	if b.Shares == nil {
		return b
	}
	s, out := *b.Sample, *b
	s.Shares, out.Sample = nil, &s
	return &out
}

// kernelErrors are the SKCE of the rows, and under redrawn labels.
func (b *binned) kernelErrors(ctx context.Context, redrawn []ids, p *checked.Progress) ([]float64, error) {
	n := newNeighbours(b.Sample, b.predictionSpace(), b.firstOrder(), evenBlocks(b.firstOrder()), b.receivers(), oneBin)
	labels := append([]ids{idsOf(b.Label, b.Classes)}, redrawn...)
	places := n.redrawPlaces(labels)
	// Σ_i e_iᵀR_i of each stripe, added up in their order
	partial := make([][]float64, (n.receivers+lanes-1)/lanes)
	err := n.each(ctx, p, func() []observer {
		return []observer{b.products(n.newRedrawer(places, labels), len(labels), partial)}
	})
	estimates := make([]float64, len(labels))
	pairs := float64(n.receivers) * float64(b.N-1)
	if b.Weight != nil { // Σ_i w_i Σ_{j≠i} w_j over the receivers i
		total := b.Total()
		pairs = 0
		for _, i := range n.order[:n.receivers] {
			pairs += b.W(i) * (total - b.W(i))
		}
	}
	for _, sums := range partial {
		for k, x := range sums {
			estimates[k] += x / pairs
		}
	}
	return estimates, err
}

// products lets o sum e_iᵀR_i of a stripe under each of so many labels.
func (b *binned) products(o *redrawer, labels int, partial [][]float64) *redrawer {
	sum := make([]float64, labels)
	o.residuals = func(t *stripe, k, c, l int, r float64) {
		sum[k+1] += b.W(t.order[t.first+l]) * o.residualOf(t, k, t.first+l, c) * r
	}
	o.done = func(t *stripe) {
		for c := range t.classes {
			for l := range t.count {
				sum[0] += b.W(t.order[t.first+l]) * t.residual(t.first+l, c) * t.total[c*lanes+l]
			}
		}
		partial[t.first/lanes] = slices.Clone(sum)
		clear(sum)
	}
	return o
}

// medianRows bounds the rows whose pairs the median distance is taken over.
const medianRows = 500

// predictionSpace holds the predictions in units of the median distance between
// evenly spaced ones.
func (b *binned) predictionSpace() *scaled {
	var distances []float64
	step := (b.N + medianRows - 1) / medianRows
	for i := 0; i < b.N; i += step {
		for j := i + step; j < b.N; j += step {
			var d2 float64
			for c := range b.Classes {
				d := b.Prob[i*b.Classes+c] - b.Prob[j*b.Classes+c]
				d2 += d * d
			}
			distances = append(distances, math.Sqrt(d2))
		}
	}
	slices.Sort(distances)
	median := distances[len(distances)/2]
	if median == 0 {
		median = 1
	}
	return &scaled{dim: b.Classes, write: func(dst []float32, i int) {
		for c, x := range b.Prob[i*b.Classes : (i+1)*b.Classes] {
			dst[c] = float32(x / median)
		}
	}}
}
