package checked

import (
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Bounded is log p (N×C), not below [LeastLogProb], normalized again.
func (s *Sample) Bounded() *mat.Dense {
	l := mat.NewDense(s.N, s.Classes, nil)
	for i := range s.N {
		row := l.RawRowView(i)
		for c := range row {
			row[c] = s.LogProb(i, c)
		}
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return l
}
