package optim

// Decay adds λθ to the update (weight decay). Before the moments of a gradient it is the
// derivative of ½λ‖θ‖², as in Adam; after them it is decoupled, as in AdamW (Loshchilov and
// Hutter 2019).
type Decay struct {
	Strength float64                // λ
	Mask     func(name string) bool // which weights decay; nil: all
}

// Parts is itself.
func (d Decay) Parts() []Part { return []Part{d} }

// State is empty.
func (Decay) State() []string { return nil }

// Apply adds λθ.
func (d Decay) Apply(_ Time, w []Weight) {
	for i := range w {
		if strength := d.of(w[i].Name); strength != 0 {
			Each(w[i:i+1], func(theta, u float64, _ []float64) float64 { return u + strength*theta })
		}
	}
}

// of is λ for the weight of that name.
func (d Decay) of(name string) float64 {
	if d.Mask != nil && !d.Mask(name) {
		return 0
	}
	return d.Strength
}
