package layers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// LabelShift corrects predictions for new class frequencies: π in the calibration rows of the model, π′ in the new
// rows. If the rows of each class look as before, p′(x | y) = p(x | y), Bayes' rule gives
//
//	p′(y | x) ∝ p(y | x) π′_y/π_y
//
// (Saerens, Latinne & Decaestecker 2002, eq. 2.4). A class whose π is 0 gets the probability 0.
type LabelShift struct{ Old, New []float64 } // π and π′ (C), each sums to 1

// Apply reweighs log-probabilities (N×C) in place. A row whose every class has the new prior 0 is a *data.InputError.
func (s *LabelShift) Apply(path string, logProbs *mat.Dense) error {
	shift := make([]float64, len(s.Old))
	for y, old := range s.Old {
		if shift[y] = math.Inf(-1); old > 0 {
			shift[y] = math.Log(s.New[y] / old)
		}
	}
	for i := range logProbs.RawMatrix().Rows {
		row := logProbs.RawRowView(i)
		floats.Add(row, shift)
		sum := floats.LogSumExp(row)
		if math.IsInf(sum, -1) {
			return data.Inputf(path, "row %d can only be of classes whose new prior is 0; give one of them a prior above 0", i)
		}
		floats.AddConst(-sum, row)
	}
	return nil
}

// String is "class a .500 → .100, …", of the six classes that change most.
func (s *LabelShift) String(name func(class int) string) string {
	return s.each(name, func(int) string { return "" })
}

// each is String with more behind each class.
func (s *LabelShift) each(name, more func(class int) string) string {
	order := data.UpTo(len(s.Old))
	change := func(y int) float64 { return math.Abs(s.New[y] - s.Old[y]) }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(change(b), change(a)) })
	const most = 6
	text := ""
	for at, y := range order {
		if at == most {
			return text + fmt.Sprintf(", and %d more", len(order)-most)
		}
		if at > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%s %s → %s", name(y), thousandths(s.Old[y]), thousandths(s.New[y])) + more(y)
	}
	return text
}

// thousandths writes a number between 0 and 1 as .338.
func thousandths(p float64) string { return strings.TrimPrefix(fmt.Sprintf("%.3f", p), "0") }
