package optim

import (
	"cmp"
	"math"
)

// Average sets how much the weights after a step count in their average ā, which a fit
// validates and keeps:
//
//	ā ← ā + s_t (θ − ā)
type Average interface {
	Share(t Time) float64 // s_t
}

// EMA is the exponential moving average of the weights, corrected for its start:
// s_t = (1 − γ)/(1 − γᵗ).
type EMA struct{ Decay float64 } // γ; 0: 0.999

// Share is s_t.
func (e EMA) Share(t Time) float64 {
	gamma := cmp.Or(e.Decay, 0.999)
	return (1 - gamma) / (1 - math.Pow(gamma, float64(t.Step)))
}
