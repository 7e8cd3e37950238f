package metrics

import (
	"math"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats"
)

// FewestEvents are how many wrong rows, or rows of a class, are needed to tell predictions apart by them.
const FewestEvents = 5

// Events are how many of the rows are of each class, and how many have another top class than their label: as labels
// have it, and as is expected if the predictions are calibrated. Weighted rows count as their effective number.
type Events struct {
	Wrong    float64 `json:"wrong"`
	Expected float64 `json:"expected_wrong"`
	// Of, ExpectedOf and Loss have a number for each class c: how many rows are of it, Σ_i p_ic, and the NLL of c
	// against the rest, −mean[q_ic log p_ic + (1 − q_ic) log(1 − p_ic)].
	Of         []float64 `json:"of"`
	ExpectedOf []float64 `json:"expected_of"`
	Loss       []float64 `json:"against_rest"`
}

// EventsOf counts those of a sample.
func EventsOf(s *checked.Sample) *Events {
	e := &Events{Of: make([]float64, s.Classes), ExpectedOf: make([]float64, s.Classes), Loss: make([]float64, s.Classes)}
	effective := s.Effective()
	scale := effective / s.Total()
	for i := range s.N {
		w := scale * s.W(i)
		e.Wrong += w * (1 - s.Hit(i, s.Classes))
		e.Expected += w * (1 - s.Confidence(i))
		for c := range s.Classes {
			p, q := s.Probability(i, c), s.Share(i, c)
			e.Of[c] += w * q
			e.ExpectedOf[c] += w * p
			e.Loss[c] -= w * (q*s.LogProb(i, c) + (1-q)*max(math.Log1p(-min(p, 1)), LeastLogProb))
		}
	}
	for c := range e.Loss {
		e.Loss[c] /= effective
	}
	return e
}

// Plus are the events of both; the losses are the mean of theirs.
func (e *Events) Plus(other *Events) *Events {
	sum := func(x, y []float64) []float64 { return floats.AddTo(make([]float64, len(x)), x, y) }
	loss := sum(e.Loss, other.Loss)
	floats.Scale(.5, loss)
	return &Events{e.Wrong + other.Wrong, e.Expected + other.Expected, sum(e.Of, other.Of), sum(e.ExpectedOf, other.ExpectedOf), loss}
}

// Scarce says by which events predictions were to be told apart.
type Scarce struct {
	Class          int     // whose rows they are; −1: the rows whose top class is not their label
	Seen, Expected float64 // how many there are, and how many either prediction expects at most
	Most           float64 // the larger of both
}

// Few reports whether they are too few.
func (s Scarce) Few() bool { return s.Most < FewestEvents }

// Few are the events by which predictions a are told from predictions b of the same rows, the sum of whose NLLs differs
// by x: the wrong rows or, if these are five or more, the rows of the class that carries more than half of x. For
// Poisson counts a class of which there are n rows, and a and b expect E rows, carries
//
//	n log(E(b)/E(a)) − E(b) + E(a)
func Few(a, b *Events, x float64) Scarce {
	scarce := func(class int, n, ea, eb float64) Scarce {
		return Scarce{Class: class, Seen: n, Expected: max(ea, eb), Most: max(n, ea, eb)}
	}
	all := scarce(-1, max(a.Wrong, b.Wrong), a.Expected, b.Expected)
	if all.Few() {
		return all
	}
	for c, n := range a.Of {
		ea, eb := a.ExpectedOf[c], b.ExpectedOf[c]
		carries := ea - eb
		if n > 0 {
			carries += n * math.Log(eb/ea)
		}
		if of := scarce(c, n, ea, eb); of.Few() && carries*x > x*x/2 {
			return of
		}
	}
	return all
}
