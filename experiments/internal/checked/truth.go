package checked

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
type Truth struct {
	Label  []int32   // N, of a soft label the class of largest share, the first among equals
	Shares []float64 // N×C, q_ic; nil: labels are certain
	wide   int       // C, of soft
}

func (t Truth) Share(i, c int) float64 {
	if t.Shares != nil {
		return t.Shares[i*t.wide+c]
	}
	if int(t.Label[i]) == c {
		return 1
	}
	return 0
}

// EachShare calls do for each class that row i may be of, of so many.
func (t Truth) EachShare(i int, do func(c int, q float64)) {
	if t.Shares == nil {
		do(int(t.Label[i]), 1)
		return
	}
	for c, q := range t.Shares[i*t.wide : (i+1)*t.wide] {
		if q > 0 {
			do(c, q)
		}
	}
}

// takeSoft takes the shares of the rows that count, as parts of their sum, and gives the class of largest
// share of each. Shares of 0 and 1 alone are certain labels.
func (s *Sample) takeSoft(soft *mat.Dense) (labels []int, err error) {
	if n, c := soft.Dims(); n != s.Input || c != s.Classes {
		return nil, fmt.Errorf("the soft labels are %d×%d: want one row for each of the %d predictions of %d classes", n, c, s.Input, s.Classes)
	}
	labels = make([]int, s.N)
	s.wide, s.Shares = s.Classes, make([]float64, s.N*s.Classes)
	certain := true
	for i := range labels {
		row, from := s.Shares[i*s.Classes:(i+1)*s.Classes], s.InputRow(i)
		copy(row, soft.RawRowView(from))
		var sum float64
		for c, q := range row {
			if !(q >= 0) {
				return nil, fmt.Errorf("row %d: the share of class %d is %v: want a number of 0 or more", from, c, q)
			}
			sum += q
		}
		if !(math.Abs(sum-1) <= sumTolerance) {
			return nil, fmt.Errorf("row %d: the shares of its classes sum to %.6g: want 1 ± %g", from, sum, sumTolerance)
		}
		floats.Scale(1/sum, row)
		labels[i] = floats.MaxIdx(row)
		certain = certain && row[labels[i]] == 1
	}
	if certain {
		s.Shares = nil
	}
	return labels, nil
}
