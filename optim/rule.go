package optim

import "gorgonia.org/tensor"

// Rule turns gradients into steps: one of those here, a [Chain] of them, or one of your own.
type Rule interface {
	// Parts are the parts of the rule, in order. A rule of one part returns itself.
	Parts() []Part
}

// Part changes the updates of a step. The first part finds the gradients in them; when the last
// is done, each weight moves by θ ← θ − u.
type Part interface {
	// State names what the part remembers of each weight: tensors like the weight, zero at
	// first. They are fetched from a device and saved under these names.
	State() []string
	// Apply changes the updates of all weights. Most parts do so number by number: see [Each].
	Apply(t Time, w []Weight)
}

// Weight is a learned weight in a step.
type Weight struct {
	Name   string          // its path, "head/weight"
	Value  *tensor.Dense   // θ; not to be changed
	Update *tensor.Dense   // u
	State  []*tensor.Dense // in the order of [Part.State]
}

// Time is where a fit stands.
type Time struct {
	Step  int // the number of the step, from 1
	Steps int // that the fit takes if it does not stop early
}

// Chain applies rules one after the other: each rule begins with the updates of the rule before.
//
//	optim.Chain{optim.Clip{Norm: 1}, optim.Adam{Rate: 1e-3}, optim.Scheduled{By: optim.Cosine{}}}
type Chain []Rule

// Parts are the parts of all its rules.
func (c Chain) Parts() (parts []Part) {
	for _, r := range c {
		parts = append(parts, r.Parts()...)
	}
	return parts
}

// Each replaces every update by f of the weight θ, its update u and what the part remembers of
// it, which f may change. It computes in float64 and rounds once to the weights' type.
func Each(w []Weight, f func(theta, u float64, state []float64) float64) {
	for _, w := range w {
		if w.Value.Dtype() == tensor.Float32 {
			each(w, f, (*tensor.Dense).Float32s)
		} else {
			each(w, f, (*tensor.Dense).Float64s)
		}
	}
}

func each[F float32 | float64](w Weight, f func(theta, u float64, state []float64) float64, of func(*tensor.Dense) []F) {
	theta, u, now := of(w.Value), of(w.Update), make([]float64, len(w.State))
	var state [][]F
	for _, s := range w.State {
		state = append(state, of(s))
	}
	for i := range u {
		for k, s := range state {
			now[k] = float64(s[i])
		}
		u[i] = F(f(float64(theta[i]), float64(u[i]), now))
		for k, s := range state {
			s[i] = F(now[k])
		}
	}
}
