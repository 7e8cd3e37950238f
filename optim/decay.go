package optim

import (
	"cmp"
	"errors"
	"slices"
)

// Decay adds λθ to the update (weight decay). Before the moments of a gradient it is the
// derivative of ½λ‖θ‖², as in Adam; after them it is decoupled, as in AdamW (Loshchilov and
// Hutter 2019).
type Decay struct {
	Strength float64                // λ
	Mask     func(name string) bool // which weights decay; nil: all
}

func (d Decay) Parts() []Part { return []Part{d} }

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

// ErrDecoupled is [Ridge]'s error of decay that is no penalty on the loss.
var ErrDecoupled = errors.New("optim: weight decay that is decoupled from the gradient, as AdamW's and Lion's, is no penalty on the loss, nor does a gradient at another point, as SAM's, minimize it")

// Undeclared is a rule whose weight decay none of its parts is: [Ridge] knows nothing of it.
type Undeclared struct{ Rule }

// Ridge is λ of the penalty ½λ‖θ‖² on the loss that a rule's weight decay amounts to, 0 for
// a rule without decay. Decay that meets the gradient itself is its derivative: where such a
// rule rests, ∇L + λθ = 0. Decay after the moments is another: AdamW rests where
//
//	g_i + λ(√v_i + ε) θ_i = 0,
//
// a penalty of each weight by the gradients it has met, which is in no model file; that is [ErrDecoupled], as is a
// Mask, an [Undeclared] rule, and a [Prober], which rests where the gradient at another point is 0. A Clip is taken to
// be idle where the rule rests.
func Ridge(r Rule) (float64, error) {
	ridge, coupled := 0.0, true
	if undeclared(r) {
		return 0, ErrDecoupled
	}
	for _, p := range cmp.Or[Rule](r, Adam{}).Parts() {
		switch p := p.(type) {
		case Clip, Lookahead:
		case Prober:
			return 0, ErrDecoupled
		case Decay:
			if p.Strength != 0 && (!coupled || p.Mask != nil) {
				return 0, ErrDecoupled
			}
			ridge += p.Strength
		default:
			coupled = false
		}
	}
	return ridge, nil
}

func undeclared(r Rule) bool {
	_, is := r.(Undeclared)
	chain, _ := r.(Chain)
	return is || slices.ContainsFunc(chain, undeclared)
}
