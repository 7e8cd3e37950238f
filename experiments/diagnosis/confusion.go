package diagnosis

import (
	"cmp"
	"maps"
	"slices"

	"calibra/experiments/internal/checked"
)

// Confusion says which classes are taken for which others, and with what probability.
type Confusion struct {
	Classes []int      `json:"classes"` // the numbers of those it has, ascending
	Rows    []float64  `json:"rows"`    // of each of them
	Taken   []Mistaken `json:"taken"`   // by class, then by what it is taken for
	Of      int        `json:"of"`      // how many classes there are, of which these are the most confused
}

// Mistaken are the rows of a class whose top class is another.
type Mistaken struct {
	Class      int     `json:"class"`
	For        int     `json:"for"`
	Rows       float64 `json:"rows"`       // by weight
	Confidence float64 `json:"confidence"` // mean probability of their top class
}

// confusion is that of the predictions, of at most so many classes.
func confusion(s *checked.Sample, most int) *Confusion {
	wrong, rows := make([]float64, s.Classes), make([]float64, s.Classes) // taken for others, or others for the class
	taken := map[[2]int]Mistaken{}
	for i := range s.N {
		top := int(s.Top[i])
		s.EachShare(i, func(y int, q float64) {
			weight := q * s.W(i)
			rows[y] += weight
			if top == y {
				return
			}
			wrong[y] += weight
			wrong[top] += weight
			m := taken[[2]int{y, top}]
			taken[[2]int{y, top}] = Mistaken{Class: y, For: top, Rows: m.Rows + weight, Confidence: m.Confidence + weight*s.Confidence(i)}
		})
	}
	c := &Confusion{Of: s.Classes, Taken: []Mistaken{}}
	c.Classes = slices.Sorted(slices.Values(checked.Descending(wrong)[:min(s.Classes, most)]))
	for _, y := range c.Classes {
		c.Rows = append(c.Rows, rows[y])
	}
	for _, pair := range slices.SortedFunc(maps.Keys(taken), func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }) {
		if m := taken[pair]; slices.Contains(c.Classes, m.Class) && slices.Contains(c.Classes, m.For) {
			m.Confidence /= m.Rows
			c.Taken = append(c.Taken, m)
		}
	}
	return c
}
