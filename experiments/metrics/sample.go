package metrics

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// sumTolerance is how far a row's probabilities may sum from 1: float32 softmaxes
// of a thousand classes stay below 1e-4, a row of logits does not.
const sumTolerance = 1e-3

// LeastLogProb bounds the cost of a label that was given probability 0, in nats: ln 1e-12,
// as in the reference values of isotonic regression, whose zeros bear a fortieth of its NLL.
const LeastLogProb = -12 * math.Ln10

// sample is a checked set of predictions, exponentiated once.
type sample struct {
	rows, classes int
	prob          []float64  // N×C, p_ic
	log           *mat.Dense // N×C, log p_ic
	truth
	weight []float64 // N, more than 0 and 1 on average; nil: 1
	of     []int     // N, the input's row that each is, where some have weight 0; nil: the rows are the input's
	input  int       // how many rows the input has
	top    []int32   // N, the class of the largest probability, the first among equals
}

// newSample checks predictions and keeps the rows that count; weights and soft may be nil.
func newSample(logProbs *mat.Dense, labels []int, weights []float64, soft *mat.Dense) (*sample, error) {
	if logProbs == nil || logProbs.IsEmpty() {
		return nil, fmt.Errorf("metrics: there are no predictions to measure: give at least one row")
	}
	n, classes := logProbs.Dims()
	if soft == nil && len(labels) != n {
		return nil, fmt.Errorf("metrics: %d rows of predictions but %d labels: give one label per row", n, len(labels))
	}
	if classes < 2 {
		return nil, fmt.Errorf("metrics: predictions have %d class: want two or more", classes)
	}
	s := &sample{rows: n, classes: classes, log: logProbs, input: n}
	var err error
	if s.weight, s.of, err = counting(weights, n); err != nil {
		return nil, err
	}
	if s.of != nil {
		s.rows, s.log = len(s.of), rowsOf(logProbs, s.of)
		if soft == nil {
			labels = pick(labels, s.of)
		}
	}
	if n = s.rows; soft != nil {
		if labels, err = s.takeSoft(soft); err != nil {
			return nil, err
		}
	}
	s.prob, s.label, s.top = make([]float64, n*classes), make([]int32, n), make([]int32, n)
	const part = 1024 // rows
	wrong := make([]error, (n+part-1)/part)
	inParallel(len(wrong), func(k int) {
		for i := k * part; i < min((k+1)*part, n) && wrong[k] == nil; i++ {
			wrong[k] = s.take(i, labels[i])
		}
	})
	if err := cmp.Or(wrong...); err != nil {
		return nil, err
	}
	return s, nil
}

// saying is the rows under other predictions (N×C).
func (s *sample) saying(logProbs *mat.Dense) (*sample, error) {
	labels := make([]int, s.rows)
	for i, y := range s.label {
		labels[i] = int(y)
	}
	out, err := newSample(logProbs, labels, nil, nil)
	if err != nil {
		return nil, err
	}
	out.truth, out.weight, out.of, out.input = s.truth, s.weight, s.of, s.input
	return out, nil
}

// take exponentiates and checks row i.
func (s *sample) take(i, label int) error {
	p := s.prob[i*s.classes : (i+1)*s.classes]
	var sum float64
	for c, lp := range s.log.RawRowView(i) {
		if math.IsNaN(lp) || math.IsInf(lp, 1) {
			return fmt.Errorf("metrics: row %d: the log-probability of class %d is %v: predictions must be numbers", s.inputRow(i), c, lp)
		}
		p[c] = math.Exp(lp)
		sum += p[c]
		if p[c] > p[s.top[i]] {
			s.top[i] = int32(c)
		}
	}
	if !(math.Abs(sum-1) <= sumTolerance) {
		return fmt.Errorf("metrics: row %d: the probabilities sum to %.6g: want 1 ± %g", s.inputRow(i), sum, sumTolerance)
	}
	if label < 0 || label >= s.classes {
		return fmt.Errorf("metrics: row %d: label %d: want 0 to %d", s.inputRow(i), label, s.classes-1)
	}
	s.label[i] = int32(label)
	return nil
}

// logProb is log p_ic, bounded below.
func (s *sample) logProb(i, c int) float64 { return max(s.log.At(i, c), LeastLogProb) }

// loss is −log p of the label of row i, of a soft one −Σ_c q_ic log p_ic.
func (s *sample) loss(i int, of truth) float64 {
	if of.soft == nil {
		return -s.logProb(i, int(of.label[i]))
	}
	var sum float64
	for c := range s.classes {
		if q := of.share(i, c); q > 0 {
			sum -= q * s.logProb(i, c)
		}
	}
	return sum
}

// residual is e_ic = p_ic − q_ic.
func (s *sample) residual(i, c int) float64 { return s.prob[i*s.classes+c] - s.share(i, c) }

// probability is p_ic, that of the top class for c = C.
func (s *sample) probability(i, c int) float64 {
	if c == s.classes {
		c = int(s.top[i])
	}
	return s.prob[i*s.classes+c]
}

// hit is q_ic, that of the top class for c = C.
func (s *sample) hit(i, c int) float64 {
	if c == s.classes {
		c = int(s.top[i])
	}
	return s.share(i, c)
}

// miss is e_ic = p_ic − q_ic, that of the top class for c = C.
func (s *sample) miss(i, c int) float64 {
	if c == s.classes {
		c = int(s.top[i])
	}
	return s.residual(i, c)
}

// misses are those of some rows for the classes below most.
func (s *sample) misses(rows []int, most int) *mat.Dense {
	out := mat.NewDense(len(rows), most, nil)
	for at, i := range rows {
		for c, row := 0, out.RawRowView(at); c < most; c++ {
			row[c] = s.miss(i, c)
		}
	}
	return out
}

// confidence is max_c p_ic.
func (s *sample) confidence(i int) float64 { return s.prob[i*s.classes+int(s.top[i])] }

// confidences are those of all rows.
func (s *sample) confidences() []float64 {
	out := make([]float64, s.rows)
	for i := range out {
		out[i] = s.confidence(i)
	}
	return out
}
