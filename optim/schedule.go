package optim

import (
	"cmp"
	"math"
)

// Schedule is a factor on the length of steps, in the course of a fit.
type Schedule interface {
	Factor(t Time) float64
}

// Scheduled scales the updates by a schedule.
type Scheduled struct{ By Schedule }

func (s Scheduled) Parts() []Part { return []Part{s} }

func (Scheduled) State() []string { return nil }

func (s Scheduled) Apply(t Time, w []Weight) {
	factor := s.By.Factor(t)
	Each(w, func(_, u float64, _ []float64) float64 { return u * factor })
}

// Rate scales the updates by η, the learning rate.
type Rate struct{ Rate float64 }

func (r Rate) Parts() []Part { return []Part{r} }

func (Rate) State() []string { return nil }

func (r Rate) Apply(_ Time, w []Weight) {
	Each(w, func(_, u float64, _ []float64) float64 { return u * r.Rate })
}

// Cosine falls from 1 to End by half a cosine over all steps (Loshchilov and Hutter 2017).
type Cosine struct{ End float64 }

// Factor is End + (1 − End)(1 + cos πx)/2 at the share x of the steps taken.
func (c Cosine) Factor(t Time) float64 {
	return c.End + (1-c.End)*(1+math.Cos(math.Pi*float64(t.Step-1)/float64(max(t.Steps-1, 1))))/2
}

// WarmUp rises in a straight line over the first steps, and then follows another schedule
// over the remaining steps.
type WarmUp struct {
	Steps int      // 0: a twentieth of all, at least one
	Then  Schedule // nil: 1 for all of them
}

// Factor is t/Steps, then the factor of Then.
func (s WarmUp) Factor(t Time) float64 {
	if s.Steps == 0 {
		s.Steps = max(t.Steps/20, 1)
	}
	if t.Step <= s.Steps {
		return float64(t.Step) / float64(s.Steps)
	}
	if s.Then == nil {
		return 1
	}
	return s.Then.Factor(Time{t.Step - s.Steps, t.Steps - s.Steps})
}

// OneCycle rises by half a cosine from Start to 1 over the share Rise of the steps, and falls
// by another to End (Smith and Topin 2019).
type OneCycle struct {
	Rise       float64 // 0: 0.3
	Start, End float64 // 0: 1/25, and 1e-4 of Start
}

// Factor is the factor of the current cosine.
func (s OneCycle) Factor(t Time) float64 {
	start := cmp.Or(s.Start, 1./25)
	end := cmp.Or(s.End, 1e-4*start)
	top := 1 + int(cmp.Or(s.Rise, 0.3)*float64(t.Steps-1)) // the step of factor 1
	if t.Step < top {
		return Cosine{start}.Factor(Time{top - t.Step + 1, top}) // the cosine back to front
	}
	return Cosine{end}.Factor(Time{t.Step - top + 1, t.Steps - top + 1})
}
