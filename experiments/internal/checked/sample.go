package checked

import (
	"cmp"
	"fmt"
	"math"

	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// sumTolerance is how far a row's probabilities may sum from 1: float32 softmaxes
// of a thousand classes stay below 1e-4, a row of logits does not.
const sumTolerance = 1e-3

// LeastLogProb bounds the cost of a label that was given probability 0, in nats: ln 1e-12,
// as in the reference values of isotonic regression, whose zeros bear a fortieth of its NLL.
const LeastLogProb = -12 * math.Ln10

// Sample is a checked set of predictions, exponentiated once.
type Sample struct {
	N, Classes int
	Prob       []float64  // N×C, p_ic
	Log        *mat.Dense // N×C, log p_ic
	Truth
	Weight []float64 // N, more than 0 and 1 on average; nil: 1
	Of     []int     // N, the input's row that each is, where some have weight 0; nil: the rows are the input's
	Input  int       // how many rows the input has
	Top    []int32   // N, the class of the largest probability, the first among equals
}

// NewSample checks predictions and keeps the rows that count; weights and soft may be nil.
func NewSample(logProbs *mat.Dense, labels []int, weights []float64, soft *mat.Dense) (*Sample, error) {
	if logProbs == nil || logProbs.IsEmpty() {
		return nil, fmt.Errorf("there are no predictions to measure: give at least one row")
	}
	n, classes := logProbs.Dims()
	if soft == nil && len(labels) != n {
		return nil, fmt.Errorf("%d rows of predictions but %d labels: give one label per row", n, len(labels))
	}
	if classes < 2 {
		return nil, fmt.Errorf("predictions have %d class: want two or more", classes)
	}
	s := &Sample{N: n, Classes: classes, Log: logProbs, Input: n}
	var err error
	if s.Weight, s.Of, err = counting(weights, n); err != nil {
		return nil, err
	}
	if s.Of != nil {
		s.N, s.Log = len(s.Of), RowsOf(logProbs, s.Of)
		if soft == nil {
			labels = Pick(labels, s.Of)
		}
	}
	if n = s.N; soft != nil {
		if labels, err = s.takeSoft(soft); err != nil {
			return nil, err
		}
	}
	s.Prob, s.Label, s.Top = make([]float64, n*classes), make([]int32, n), make([]int32, n)
	const part = 1024 // rows
	wrong := make([]error, (n+part-1)/part)
	work.Each(len(wrong), 1, func(k int) {
		for i := k * part; i < min((k+1)*part, n) && wrong[k] == nil; i++ {
			wrong[k] = s.take(i, labels[i])
		}
	})
	if err := cmp.Or(wrong...); err != nil {
		return nil, err
	}
	return s, nil
}

// Saying is the rows under other predictions (N×C).
func (s *Sample) Saying(logProbs *mat.Dense) (*Sample, error) {
	labels := make([]int, s.N)
	for i, y := range s.Label {
		labels[i] = int(y)
	}
	out, err := NewSample(logProbs, labels, nil, nil)
	if err != nil {
		return nil, err
	}
	out.Truth, out.Weight, out.Of, out.Input = s.Truth, s.Weight, s.Of, s.Input
	return out, nil
}

// take exponentiates and checks row i.
func (s *Sample) take(i, label int) error {
	p := s.Prob[i*s.Classes : (i+1)*s.Classes]
	var sum float64
	for c, lp := range s.Log.RawRowView(i) {
		if math.IsNaN(lp) || math.IsInf(lp, 1) {
			return fmt.Errorf("row %d: the log-probability of class %d is %v: predictions must be numbers", s.InputRow(i), c, lp)
		}
		p[c] = math.Exp(lp)
		sum += p[c]
		if p[c] > p[s.Top[i]] {
			s.Top[i] = int32(c)
		}
	}
	if !(math.Abs(sum-1) <= sumTolerance) {
		return fmt.Errorf("row %d: the probabilities sum to %.6g: want 1 ± %g", s.InputRow(i), sum, sumTolerance)
	}
	if label < 0 || label >= s.Classes {
		return fmt.Errorf("row %d: label %d: want 0 to %d", s.InputRow(i), label, s.Classes-1)
	}
	s.Label[i] = int32(label)
	return nil
}

// LogProb is log p_ic, bounded below.
func (s *Sample) LogProb(i, c int) float64 { return max(s.Log.At(i, c), LeastLogProb) }

// Loss is −log p of the label of row i, of a soft one −Σ_c q_ic log p_ic.
func (s *Sample) Loss(i int, of Truth) float64 {
	if of.Shares == nil {
		return -s.LogProb(i, int(of.Label[i]))
	}
	var sum float64
	for c := range s.Classes {
		if q := of.Share(i, c); q > 0 {
			sum -= q * s.LogProb(i, c)
		}
	}
	return sum
}

// Residual is e_ic = p_ic − q_ic.
func (s *Sample) Residual(i, c int) float64 { return s.Prob[i*s.Classes+c] - s.Share(i, c) }

// class is the class that c stands for in row i: C for the top class.
func (s *Sample) class(i, c int) int {
	if c == s.Classes {
		return int(s.Top[i])
	}
	return c
}

// Probability is p_ic; c = C stands for the top class.
func (s *Sample) Probability(i, c int) float64 { return s.Prob[i*s.Classes+s.class(i, c)] }

// Hit is q_ic; c = C stands for the top class.
func (s *Sample) Hit(i, c int) float64 { return s.Share(i, s.class(i, c)) }

// Miss is e_ic = p_ic − q_ic; c = C stands for the top class.
func (s *Sample) Miss(i, c int) float64 { return s.Residual(i, s.class(i, c)) }

// Misses are the misses of some rows for the classes below most.
func (s *Sample) Misses(rows []int, most int) *mat.Dense {
	out := mat.NewDense(len(rows), most, nil)
	for at, i := range rows {
		for c, row := 0, out.RawRowView(at); c < most; c++ {
			row[c] = s.Miss(i, c)
		}
	}
	return out
}

// Confidence is max_c p_ic.
func (s *Sample) Confidence(i int) float64 { return s.Prob[i*s.Classes+int(s.Top[i])] }

// Confidences are the confidences of all rows.
func (s *Sample) Confidences() []float64 {
	out := make([]float64, s.N)
	for i := range out {
		out[i] = s.Confidence(i)
	}
	return out
}

// Cumulate writes Σ_{l ≤ c} p_il to dst (C).
func (s *Sample) Cumulate(dst []float64, i int) {
	var sum float64
	for c := range dst {
		sum += s.Prob[i*s.Classes+c]
		dst[c] = sum
	}
}

// FeaturesOf are the features of the rows that count; there must be one finite row for each prediction.
func (s *Sample) FeaturesOf(features mat.Matrix) (mat.Matrix, error) {
	if !Given(features) {
		return nil, fmt.Errorf("there are no features: give one row for each of the %d predictions", s.Input)
	}
	n, d := features.Dims()
	if n != s.Input || d == 0 {
		return nil, fmt.Errorf("the features are %d×%d: want one row for each of the %d predictions", n, d, s.Input)
	}
	features = s.Counted(features)
	buffer := make([]float64, d)
	for i := range s.N {
		for j, x := range RowOf(features, i, buffer) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("row %d: feature %d is %v: features must be finite", s.InputRow(i), j, x)
			}
		}
	}
	return features, nil
}
