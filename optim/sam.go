package optim

import "cmp"

// SAM is sharpness-aware minimization (Foret et al. 2021). It takes the steps of another rule by the gradient at the
// point near θ where the loss is largest, to first order:
//
//	e = ρ g/‖g‖ ,  g ← ∇L(θ + e)
//
// Each step costs two gradients. A loss that draws noise draws it for each.
type SAM struct {
	Of     Rule    // nil: Adam
	Radius float64 // ρ; 0: 0.05
}

// Parts are Ascent and those of the rule.
func (s SAM) Parts() []Part {
	return append([]Part{Ascent{s.Radius}}, cmp.Or[Rule](s.Of, Adam{}).Parts()...)
}

// Prober is a [Part] that has the gradient of a step taken at another point, on the same rows.
type Prober interface {
	Part
	// Probe changes the updates, which are the gradients at θ, to e: the gradient is then taken at θ + e, and the step
	// from θ.
	Probe(t Time, w []Weight)
}

// Ascent takes the gradient of a step at a distance from the weights, in the direction in which the loss grows.
type Ascent struct{ Radius float64 } // ρ; 0: 0.05

var _ Prober = Ascent{}

func (a Ascent) Parts() []Part { return []Part{a} }

func (Ascent) State() []string { return nil }

// Apply leaves the updates as they are.
func (Ascent) Apply(Time, []Weight) {}

// Probe gives e = ρ g/‖g‖.
func (a Ascent) Probe(_ Time, w []Weight) {
	if norm := lengthOf(w); norm > 0 { // else there is no direction to go
		scale := cmp.Or(a.Radius, 0.05) / norm
		Each(w, func(_, g float64, _ []float64) float64 { return scale * g })
	}
}
