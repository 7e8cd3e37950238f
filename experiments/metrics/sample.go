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
	label         []int32    // N
	weight        []float64  // N, as how many rows each counts; nil: 1
	top           []int32    // N, the class of the largest probability, the first among equals
}

func newSample(logProbs *mat.Dense, labels []int) (*sample, error) {
	if logProbs == nil || logProbs.IsEmpty() {
		return nil, fmt.Errorf("metrics: there are no predictions to measure: give at least one row")
	}
	n, classes := logProbs.Dims()
	if len(labels) != n {
		return nil, fmt.Errorf("metrics: %d rows of predictions but %d labels: give one label per row", n, len(labels))
	}
	if classes < 2 {
		return nil, fmt.Errorf("metrics: predictions have %d class: want two or more", classes)
	}
	s := &sample{
		rows: n, classes: classes,
		prob:  make([]float64, n*classes),
		log:   logProbs,
		label: make([]int32, n),
		top:   make([]int32, n),
	}
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

// take exponentiates and checks row i.
func (s *sample) take(i, label int) error {
	p := s.prob[i*s.classes : (i+1)*s.classes]
	var sum float64
	for c, lp := range s.log.RawRowView(i) {
		if math.IsNaN(lp) || math.IsInf(lp, 1) {
			return fmt.Errorf("metrics: row %d: the log-probability of class %d is %v: predictions must be numbers", i, c, lp)
		}
		p[c] = math.Exp(lp)
		sum += p[c]
		if p[c] > p[s.top[i]] {
			s.top[i] = int32(c)
		}
	}
	if !(math.Abs(sum-1) <= sumTolerance) {
		return fmt.Errorf("metrics: row %d: the probabilities sum to %.6g: want 1 ± %g", i, sum, sumTolerance)
	}
	if label < 0 || label >= s.classes {
		return fmt.Errorf("metrics: row %d: label %d: want 0 to %d", i, label, s.classes-1)
	}
	s.label[i] = int32(label)
	return nil
}

// logProb is log p_ic, bounded below.
func (s *sample) logProb(i, c int) float64 { return max(s.log.At(i, c), LeastLogProb) }

// residual is e_ic = p_ic − 1[y_i = c].
func (s *sample) residual(i, c int) float64 {
	e := s.prob[i*s.classes+c]
	if int(s.label[i]) == c {
		e--
	}
	return e
}

// probability is p_ic, that of the top class for c = C.
func (s *sample) probability(i, c int) float64 {
	if c == s.classes {
		c = int(s.top[i])
	}
	return s.prob[i*s.classes+c]
}

// hit is 1[y_i = c], that of the top class for c = C.
func (s *sample) hit(i, c int) bool {
	return s.label[i] == int32(c) || c == s.classes && s.label[i] == s.top[i]
}

// miss is e_ic = p_ic − 1[y_i = c], that of the top class for c = C.
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

// labels are those of the rows.
func (s *sample) labels(rows []int) []int {
	out := make([]int, len(rows))
	for k, i := range rows {
		out[k] = int(s.label[i])
	}
	return out
}
