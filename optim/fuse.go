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
	f, at := &fused{}, len(parts)-1
	for ; at >= 0; at-- {
		s, is := parts[at].(Scheduled)
		if !is {
			break
		}
		f.schedules = append(f.schedules, s.By)
	}
	take := func(accept func(Part) bool) bool {
		if at < 0 || !accept(parts[at]) {
			return false
		}
		at--
		return true
	}
	decay := func(to *Decay) func(Part) bool {
		return func(p Part) bool {
			d, is := p.(Decay)
			if is {
				*to = d
			}
			return is
		}
	}
	if !take(func(p Part) bool { r, is := p.(Rate); f.rate = r.Rate; return is }) {
		return nil
	}
	switch {
	case take(func(p Part) bool { m, is := p.(Momentum); f.momentum = &m; return is }):
	default:
		f.momentum = nil
		take(decay(&f.decoupled))
		if !take(func(p Part) bool { m, is := p.(Moments); m = m.withDefaults(); f.moments = &m; return is }) {
			return nil
		}
	}
	take(decay(&f.coupled))
	f.from = at + 1
	return f
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
