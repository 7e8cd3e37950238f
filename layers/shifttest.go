package layers

import (
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// ShiftTest says whether new rows can be the calibration rows with other frequencies of the classes.
type ShiftTest struct {
	PValue float64 // of new rows that are
	Apart  float64 // share of the new rows that would have to have other scores
}

// Elsewhere reports whether the shift is not, or not only, one in the labels.
func (s *ShiftTest) Elsewhere() bool { return s != nil && s.PValue < .01 && s.Apart >= .01 }

// Test holds new rows to the table, by the likelihood ratio of the counts N_yb of the calibration rows and O_b of the
// new ones:
//
//	H0:  N_yb ~ θ_yb ,  O_b ~ Σ_y π′_y θ_yb        H1:  O_b ~ any
//
// θ and π′ maximize the likelihood under H0, by EM for a mixture with some labelled members (Hosmer 1973). Twice the
// log ratio is χ² with B − C degrees of freedom, or B − 1 where the new priors are given (nil: they are not). Cells of
// fewer than ten rows are joined to others. With B = C the H0 of unknown priors holds of any counts: its solution is
// BBSE's (Lipton, Wang & Smola 2018), whose assumption the other cells test. It is nil where there is nothing to test.
func (b *ByLabel) Test(x *data.Set, priors []float64) *ShiftTest {
	classes, cells := b.Counts.Dims()
	if x.Logits == nil || b.Cuts == nil || x.Classes() != classes {
		return nil
	}
	observed := make([]float64, cells)
	for i := range x.Len() {
		observed[b.cell(top(x.Logits.RawRowView(i)))] += x.Weight(i) * x.Effective() / x.Total()
	}
	m := b.joined(observed)
	freedom := len(m.observed) - len(m.theta)
	if priors != nil {
		freedom = len(m.observed) - 1
		for at, y := range m.classes {
			m.priors[at] = priors[y]
		}
	}
	if freedom < 1 || floats.Sum(m.priors) == 0 {
		return nil
	}
	ratio := m.fit(priors != nil)
	n, apart := floats.Sum(m.observed), 0.0
	for cell, o := range m.observed {
		apart += math.Abs(o/n-m.share(cell)) / 2
	}
	return &ShiftTest{PValue: distuv.ChiSquared{K: float64(freedom)}.Survival(math.Max(ratio, 0)), Apart: apart}
}

// labelledMixture is the model of H0: of rows that are labelled, and of some that are not.
type labelledMixture struct {
	classes  []int       // that calibration rows have
	counts   [][]float64 // N_yb
	observed []float64   // O_b
	priors   []float64   // π′
	theta    [][]float64 // θ
}

// fewestInCell is how many rows, of both kinds, a cell has at least.
const fewestInCell = 10

// joined is the mixture of the classes that have rows, over cells that have enough: one of too few is joined to its
// neighbour of the same predicted class, and a predicted class of too few to others.
func (b *ByLabel) joined(observed []float64) *labelledMixture {
	var cells [][]int
	var rest []int // of predicted classes of too few
	enough := func(cells []int) bool {
		rows := 0.0
		for _, cell := range cells {
			rows += observed[cell] + mat.Sum(b.Counts.ColView(cell))
		}
		return rows >= fewestInCell
	}
	classes, _ := b.Counts.Dims()
	for k := range classes {
		first, open := len(cells), []int(nil)
		for cell := cellsOfClass * k; cell < cellsOfClass*(k+1); cell++ {
			if open = append(open, cell); enough(open) {
				cells, open = append(cells, open), nil
			}
		}
		if last := len(cells) - 1; last >= first {
			cells[last] = append(cells[last], open...)
		} else {
			rest = append(rest, open...)
		}
	}
	if last := len(cells) - 1; last < 0 || enough(rest) {
		cells = append(cells, rest)
	} else {
		cells[last] = append(cells[last], rest...)
	}
	m := &labelledMixture{}
	of := func(row []float64) []float64 {
		return data.Each(cells, func(joined []int) (sum float64) {
			for _, cell := range joined {
				sum += row[cell]
			}
			return sum
		})
	}
	m.observed = of(observed)
	for y := range classes {
		row := of(b.Counts.RawRowView(y))
		if floats.Sum(row) == 0 {
			continue
		}
		m.classes, m.counts = append(m.classes, y), append(m.counts, row)
		theta := slices.Clone(row)
		floats.AddConst(.5/float64(len(cells)), theta) // none begins at 0, where EM would leave it
		floats.Scale(1/floats.Sum(theta), theta)
		m.theta = append(m.theta, theta)
	}
	m.priors = slices.Repeat([]float64{1 / float64(len(m.classes))}, len(m.classes))
	return m
}

// share is Σ_y π′_y θ_yb.
func (m *labelledMixture) share(cell int) (sum float64) {
	for y, theta := range m.theta {
		sum += m.priors[y] * theta[cell]
	}
	return sum
}

// logLikelihood is Σ_yb N_yb log θ_yb + Σ_b O_b log Σ_y π′_y θ_yb.
func (m *labelledMixture) logLikelihood() (sum float64) {
	for y, row := range m.counts {
		for cell, n := range row {
			if n > 0 {
				sum += n * math.Log(m.theta[y][cell])
			}
		}
	}
	for cell, o := range m.observed {
		if o > 0 {
			sum += o * math.Log(m.share(cell))
		}
	}
	return sum
}

// saturated is the log-likelihood under H1.
func (m *labelledMixture) saturated() (sum float64) {
	for _, row := range append(slices.Clone(m.counts), m.observed) {
		n := floats.Sum(row)
		for _, x := range row {
			if x > 0 {
				sum += x * math.Log(x/n)
			}
		}
	}
	return sum
}

// fit finds θ and, unless they are known, π′, and gives 2 (log L1 − log L0).
func (m *labelledMixture) fit(known bool) float64 {
	last := math.Inf(-1)
	next := make([][]float64, len(m.theta))
	for range 20000 { // some hundred are usual
		said := m.logLikelihood()
		if said-last < 1e-9*math.Abs(said) { // a χ² needs fewer digits
			break
		}
		last = said
		priors := make([]float64, len(m.priors))
		for y, row := range m.counts {
			next[y] = slices.Clone(row)
		}
		for cell, o := range m.observed {
			if sum := m.share(cell); sum > 0 {
				for y, theta := range m.theta {
					part := o * m.priors[y] * theta[cell] / sum
					next[y][cell] += part
					priors[y] += part
				}
			}
		}
		for y, row := range next {
			floats.ScaleTo(m.theta[y], 1/floats.Sum(row), row)
		}
		if floats.Scale(1/floats.Sum(priors), priors); !known {
			m.priors = priors
		}
	}
	return 2 * (m.saturated() - last)
}
