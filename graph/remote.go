package graph

import "gorgonia.org/tensor"

// Remote is a [Session] whose weights do not lie in memory.
type Remote interface {
	Session
	// Fetch brings the weights and the optimizer's state into memory, and Send takes the weights in
	// memory for those of the fit.
	Fetch() error
	Send() error
}

// Fetch brings the weights of a session and its optimizer's state into memory, where they are not
// there anyway.
func Fetch(s Session) error {
	if r, ok := s.(Remote); ok {
		return r.Fetch()
	}
	return nil
}

// Send replaces the weights of a session by the weights in memory.
func Send(s Session) error {
	if r, ok := s.(Remote); ok {
		return r.Send()
	}
	return nil
}

// Planned is an [Optimizer] whose steps an executor with a kernel for them can take itself.
type Planned interface {
	Optimizer
	// Plan is the next n steps, which the executor then takes; nil where Step must. It is of one
	// type throughout a fit.
	Plan(n int) Plan
}

// Plan is steps of one of the rules that kernels exist for: an *[AdamPlan] or a *[MomentumPlan].
type Plan interface{ plan() }

// AdamPlan is steps of Adam (Kingma and Ba 2015), which moves a weight θ with moments m and v by
//
//	g ← g + λ θ,  m ← β₁ m + (1−β₁) g,  v ← β₂ v + (1−β₂) g²
//	θ ← s θ − r_t m / (c_t √v + ε)
type AdamPlan struct {
	Beta1, Beta2, Epsilon float64
	Decay, Shrink         float64   // λ, s
	Rates, Scales         []float64 // r_t = η_t/(1−β₁ᵗ) and c_t = 1/√(1−β₂ᵗ) of each step
	Mean, Square          []*tensor.Dense
	Begun                 bool // whether Mean and Square may be other than zero
}

// MomentumPlan is steps of gradient descent with heavy-ball momentum, which moves a weight θ with
// velocity u by
//
//	u ← μ u + g + λ θ,  θ ← θ − η u
type MomentumPlan struct {
	Rate, Momentum, Decay float64 // η, μ, λ
	Velocity              []*tensor.Dense
	Begun                 bool // whether Velocity may be other than zero
}

func (*AdamPlan) plan()     {}
func (*MomentumPlan) plan() {}
