package optim

import "cmp"

// Lookahead (Zhang et al. 2019) lets the weights of another rule run k steps ahead of slow weights φ, which then follow
// by a share and are where the next k steps begin:
//
//	φ ← φ + α (θ − φ) ,  θ ← φ
//
// In a [Chain] it comes after all other parts, wherever it stands.
type Lookahead struct {
	Steps int     // k; 0: 5
	Share float64 // α; 0: 0.5
}

// outermost is a part that sees the whole step.
type outermost interface{ outermost() }

func (Lookahead) outermost() {}

func (l Lookahead) Parts() []Part { return []Part{l} }

// State is φ.
func (Lookahead) State() []string { return []string{"slow"} }

// Apply moves the weights to φ after every k steps.
func (l Lookahead) Apply(t Time, w []Weight) {
	steps, share := cmp.Or(l.Steps, 5), cmp.Or(l.Share, 0.5)
	Each(w, func(theta, u float64, slow []float64) float64 {
		if t.Step == 1 {
			slow[0] = theta
		}
		if t.Step%steps != 0 {
			return u
		}
		slow[0] += share * (theta - u - slow[0])
		return theta - slow[0]
	})
}
