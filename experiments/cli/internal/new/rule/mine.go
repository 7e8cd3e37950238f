package main

import (
	"math"

	"calibra/experiments/method"
	"calibra/optim"
)

// mine is the rule as --set optim.rule=mine names it, with the settings that it has and no others.
var mine = method.Rule{Name: "mine", New: func(s *method.RuleSettings) optim.Rule {
	return Lion{
		Rate:  s.Rate(),
		Beta1: s.Float("beta1", 0.9, method.Share, "share of the mean in a step"),
		Beta2: s.Float("beta2", 0.99, method.Share, "decay of the mean"),
	}
}}

// Lion moves every weight by the same length (Chen et al. 2023): of a weight θ with gradient g and mean m
//
//	u ← η sign(β₁ m + (1−β₁) g) ,  m ← β₂ m + (1−β₂) g ,  θ ← θ − u
type Lion struct{ Rate, Beta1, Beta2 float64 }

var _ optim.Part = Lion{}

// Parts is itself: Lion is one part. An optim.Chain sets others before and after, such as optim.Clip.
func (l Lion) Parts() []optim.Part { return []optim.Part{l} }

// State is m, which checkpoints keep under this name.
func (Lion) State() []string { return []string{"mean"} }

// Apply turns the gradients into updates.
func (l Lion) Apply(_ optim.Time, w []optim.Weight) {
	optim.Each(w, func(_, g float64, m []float64) float64 {
		c := l.Beta1*m[0] + (1-l.Beta1)*g
		m[0] = l.Beta2*m[0] + (1-l.Beta2)*g
		if c == 0 {
			return 0
		}
		return math.Copysign(l.Rate, c)
	})
}
