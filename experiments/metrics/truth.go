package metrics

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// truth is the labels of rows, or the shares q_ic of their classes.
//
// A soft label is C weights of one row. The metrics are linear in the indicator 1[y_i = c], and take q_ic
// in its place; that is 1 or 0 of a certain label. A redrawn label is certain.
type truth struct {
	label []int32   // N, of a soft label the class of largest share, the first among equals
	soft  []float64 // N×C, q_ic; nil: labels are certain
	wide  int       // C, of soft
}

// share is q_ic.
func (t truth) share(i, c int) float64 {
	if t.soft != nil {
		return t.soft[i*t.wide+c]
	}
	if int(t.label[i]) == c {
		return 1
	}
	return 0
}

// eachShare calls do for each class that row i may be of, of so many.
func (t truth) eachShare(i int, do func(c int, q float64)) {
	if t.soft == nil {
		do(int(t.label[i]), 1)
		return
	}
	for c, q := range t.soft[i*t.wide : (i+1)*t.wide] {
		if q > 0 {
			do(c, q)
		}
	}
}

// takeSoft takes the shares of the rows that count, as parts of their sum, and gives the class of largest
// share of each. Shares of 0 and 1 alone are certain labels.
func (s *sample) takeSoft(soft *mat.Dense) (labels []int, err error) {
	if n, c := soft.Dims(); n != s.input || c != s.classes {
		return nil, fmt.Errorf("metrics: the soft labels are %d×%d: want one row for each of the %d predictions of %d classes", n, c, s.input, s.classes)
	}
	labels = make([]int, s.rows)
	s.wide, s.soft = s.classes, make([]float64, s.rows*s.classes)
	certain := true
	for i := range labels {
		row, from := s.soft[i*s.classes:(i+1)*s.classes], s.inputRow(i)
		copy(row, soft.RawRowView(from))
		var sum float64
		for c, q := range row {
			if !(q >= 0) {
				return nil, fmt.Errorf("metrics: row %d: the share of class %d is %v: want a number of 0 or more", from, c, q)
			}
			sum += q
		}
		if !(math.Abs(sum-1) <= sumTolerance) {
			return nil, fmt.Errorf("metrics: row %d: the shares of its classes sum to %.6g: want 1 ± %g", from, sum, sumTolerance)
		}
		floats.Scale(1/sum, row)
		labels[i] = floats.MaxIdx(row)
		certain = certain && row[labels[i]] == 1
	}
	if certain {
		s.soft = nil
	}
	return labels, nil
}
