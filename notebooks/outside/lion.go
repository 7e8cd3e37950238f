package main

import (
	"math"

	"calibra/experiments"
	"calibra/optim"
)

// Lion moves every weight by the same length (Chen et al. 2023):
//
//	u ← sign(β₁ m + (1−β₁) g) ,  m ← β₂ m + (1−β₂) g ,  θ ← θ − η u
type Lion struct{ Rate, Beta1, Beta2 float64 }

// Parts is itself: Lion is one part of a chain.
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

// lion is the rule as optim.rule names it, with the settings that it has and no others.
var lion = experiments.Rule{Name: "mylion", New: func(s *experiments.RuleSettings) optim.Rule {
	return Lion{
		Rate: s.Rate(), Beta1: s.Float("beta1", 0.9, experiments.Share, "share of the mean in a step"),
		Beta2: s.Float("beta2", 0.99, experiments.Share, "decay of the mean"),
	}
}}

// warmed is Lion on clipped gradients, its rate rising over the first steps and then
// falling by a cosine.
func warmed(rate float64) optim.Rule {
	return optim.Chain{
		optim.Clip{Norm: 1},
		Lion{Rate: rate, Beta1: 0.9, Beta2: 0.99},
		optim.Scheduled{By: optim.WarmUp{Then: optim.Cosine{}}},
	}
}
