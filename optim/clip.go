package optim

import "cmp"

// Clip shrinks the updates of all weights by one factor, so that their Euclidean norm together
// is at most Norm (Pascanu, Mikolov and Bengio 2013).
type Clip struct{ Norm float64 } // 0: 1

func (c Clip) Parts() []Part { return []Part{c} }

func (Clip) State() []string { return nil }

func (c Clip) Apply(_ Time, w []Weight) {
	most, norm := cmp.Or(c.Norm, 1), lengthOf(w)
	if norm > most {
		Each(w, func(_, u float64, _ []float64) float64 { return u * (most / norm) })
	}
}
