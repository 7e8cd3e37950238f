package optim

import (
	"calibra/graph"

	"gorgonia.org/tensor"
)

// fused is the last parts of a rule where they are Adam's or SGD's, with any schedule after
// them: one pass over a weight takes their place.
//
//	[Decay] Moments [Decay] Rate Scheduled…
//	[Decay] Momentum Rate Scheduled…
type fused struct {
	from               int // the first of these parts
	coupled, decoupled Decay
	moments            *Moments // or momentum
	momentum           *Momentum
	rate               float64
	schedules          []Schedule
}

// fuse finds it at the end of the parts, or gives nil.
func fuse(parts []Part) *fused {
	f := &fused{}
	rest, schedule, is := last[Scheduled](parts)
	for ; is; rest, schedule, is = last[Scheduled](rest) {
		f.schedules = append(f.schedules, schedule.By)
	}
	rest, rate, is := last[Rate](rest)
	if !is {
		return nil
	}
	f.rate = rate.Rate
	if before, momentum, is := last[Momentum](rest); is {
		rest, f.momentum = before, &momentum
	} else {
		before, decay, _ := last[Decay](rest)
		before, moments, is := last[Moments](before)
		if !is {
			return nil
		}
		moments = moments.withDefaults()
		rest, f.decoupled, f.moments = before, decay, &moments
	}
	rest, f.coupled, _ = last[Decay](rest)
	f.from = len(rest)
	return f
}

// last splits off the last part, if it is a P; else all are the rest.
func last[P Part](parts []Part) (rest []Part, p P, is bool) {
	if n := len(parts); n > 0 {
		if p, is = parts[n-1].(P); is {
			return parts[:n-1], p, true
		}
	}
	return parts, p, false
}

// rateAt is η times the schedules.
func (f *fused) rateAt(t Time) float64 {
	rate := f.rate
	for _, s := range f.schedules {
		rate *= s.Factor(t)
	}
	return rate
}

func (f *fused) step(t Time, w Weight) {
	if f.moments != nil {
		f.moments.step(t, w, f.rateAt(t), f.coupled.of(w.Name), f.decoupled.of(w.Name))
	} else {
		f.momentum.step(w, f.rateAt(t), f.coupled.of(w.Name))
	}
}

// pass is the n steps after t as executors may have kernels for, or nil: these have one decay
// for all weights, and one rate where it is not Adam's.
func (f *fused) pass(t Time, n int, state func(k int) []*tensor.Dense) graph.Plan {
	scheduled := len(f.schedules) > 0
	switch {
	case f.coupled.Mask != nil || f.decoupled.Mask != nil:
		return nil
	case f.momentum != nil && !scheduled:
		return &graph.MomentumPlan{Rate: f.rate, Momentum: f.momentum.Factor, Decay: f.coupled.Strength, Velocity: state(0), Begun: t.Step > 0}
	case f.momentum != nil, scheduled && f.decoupled.Strength != 0:
		return nil
	}
	p := &graph.AdamPlan{
		Beta1: f.moments.Beta1, Beta2: f.moments.Beta2, Epsilon: f.moments.Epsilon,
		Decay: f.coupled.Strength, Shrink: 1 - f.rate*f.decoupled.Strength,
		Mean: state(0), Square: state(1), Begun: t.Step > 0,
	}
	for range n {
		t.Step++
		bias, scale := f.moments.corrections(t)
		p.Rates, p.Scales = append(p.Rates, f.rateAt(t)/bias), append(p.Scales, scale)
	}
	return p
}
