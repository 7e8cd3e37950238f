package metrics

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Curve is a reliability diagram in numbers: per bin of the unit interval the mean
// confidence and the frequency of hits with its 95 % interval, NaN in an empty bin.
type Curve struct {
	Confidence, Frequency, Low, High []float64
	Count                            []int // predictions in the bin
}

// Reliability returns the curve of the top class's confidence, N predictions, and
// the curve of each class's probabilities, of N too. It uses the bins, Rows and Soft of s.
func Reliability(logProbs *mat.Dense, labels []int, s Settings) (top *Curve, classes []*Curve, err error) {
	b, _, err := prepare(logProbs, labels, nil, s)
	if err != nil {
		return nil, nil, err
	}
	counts := make([]binCounts, b.Classes+1) // the last of the top class
	for c := range counts {
		counts[c] = newBinCounts(b.settings.Bins)
	}
	for i := range b.N {
		for c, k := range b.binsOf(i) {
			counts[c].add(int(k), b.W(i), b.Probability(i, c), b.Hit(i, c))
		}
	}
	for _, of := range counts[:b.Classes] {
		classes = append(classes, of.curve())
	}
	return counts[b.Classes].curve(), classes, nil
}

// NewCurve is the curve of predictions from their confidences, hits and weights, in bins of equal width.
func NewCurve(bins int, confidence, hit, weight []float64) *Curve {
	counts := newBinCounts(bins)
	for i, p := range confidence {
		counts.add(min(bins-1, int(p*float64(bins))), weight[i], p, hit[i])
	}
	return counts.curve()
}

// PoolCurves joins the curves of several models on the same rows, such as those of
// several seeds. Confidence and Frequency are means over all their predictions, Count is
// the mean count: more models are not more rows, so the intervals stay as wide as for one.
func PoolCurves(curves []*Curve) *Curve {
	bins := newBinCounts(len(curves[0].Count))
	bins.squares = nil // the rows of one
	for _, c := range curves {
		for k, n := range c.Count {
			if n > 0 {
				w := float64(n) / float64(len(curves))
				bins.size[k] += w
				bins.confidence[k] += w * c.Confidence[k]
				bins.hits[k] += w * c.Frequency[k]
			}
		}
	}
	return bins.curve()
}

// binCounts are per bin Σ w, Σ w² (nil of curves pooled), and the sums of confidences and hits by weight.
type binCounts struct{ size, squares, confidence, hits []float64 }

func newBinCounts(bins int) binCounts {
	return binCounts{size: make([]float64, bins), squares: make([]float64, bins), confidence: make([]float64, bins), hits: make([]float64, bins)}
}

func (f binCounts) add(k int, w, confidence, hit float64) {
	f.size[k] += w
	f.squares[k] += w * w
	f.confidence[k] += w * confidence
	f.hits[k] += w * hit
}

// curve is that of the bins; of n rows that count differently the effective number, n²/Σ w², decides the interval.
func (f binCounts) curve() *Curve {
	bins := len(f.size)
	c := &Curve{
		Confidence: make([]float64, bins), Frequency: make([]float64, bins),
		Low: make([]float64, bins), High: make([]float64, bins), Count: make([]int, bins),
	}
	var below float64
	for k, n := range f.size {
		c.Count[k] = int(math.Round(below+n) - math.Round(below)) // weights too add up to the rows
		below += n
		c.Confidence[k], c.Frequency[k] = f.confidence[k]/n, f.hits[k]/n
		c.Low[k], c.High[k] = math.NaN(), math.NaN()
		if n > 0 {
			hits := f.hits[k]
			if f.squares != nil {
				hits, n = hits*n/f.squares[k], n*n/f.squares[k]
			}
			i := ShareInterval(hits, n)
			c.Low[k], c.High[k] = i.Low, i.High
		}
	}
	return c
}
