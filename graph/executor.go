package graph

import (
	"context"
	"time"

	"gorgonia.org/tensor"
)

// Executor says where graphs run. It is passed in the settings of a fit, never found: nil is
// this process, and [On] makes that [CPU]. Whoever implements it elsewhere runs what a [Program]
// lists; an operation that it has no code for it can leave to the operation's own Do.
//
// No method holds anything that another waits for once it has returned: sessions may be open
// side by side, and an observer of a fit may begin another.
type Executor interface {
	// Fit begins a fit of o by m to rows 0…rows−1, in steps of batch. The learned weights may
	// not be used elsewhere until Close, but see Session.Fetch.
	Fit(o *Objective, m Mover, rows, batch int) (Session, error)
	// Slopes is where a method whose steps are taken in this process has loss and gradient
	// of o computed, of up to so many rows each.
	Slopes(o *Objective, rows int) (Slopes, error)
	// Tables is [Function.Tables].
	Tables(f *Function, n, size int) ([]*tensor.Dense, error)
	// Stay is an executor of the same place for one fit in stages. Tables that its work reads or
	// makes and weights that it learns stay there from stage to stage until Close; meanwhile
	// nothing else may change them.
	Stay() Residence
}

// Residence is an [Executor] that keeps what its work needs.
type Residence interface {
	Executor
	Close()
}

// Session is a fit that runs. Between its calls the weights may lie elsewhere: those in memory
// are those of the start, or of the last Fetch or Restore.
type Session interface {
	// Epoch takes a step for each batch of rows in the given order and gives their mean loss. A
	// loss or gradient that is not finite is an error that names the batch. A cancelled ctx ends
	// the epoch with its error.
	Epoch(ctx context.Context, order []int32) (loss float64, err error)
	// Mean is [Function.Mean] of a function of the session's weights.
	Mean(f *Function, n, size int) (float64, error)
	// Keep makes the weights as they are the best so far, and Restore brings the best back into
	// memory.
	Keep() error
	Restore() error
	// Fetch brings the weights and the mover's state into memory, and Send takes the weights in
	// memory for those of the fit.
	Fetch() error
	Send() error
	// Elapsed is how long the last epoch took a device by its own clock; 0 in this process.
	Elapsed() time.Duration
	Close()
}

// Slopes computes values and gradients.
type Slopes interface {
	// Gradient is [Objective.Gradient] at the weights in memory.
	Gradient(rows []int32) (loss float64, grads []*tensor.Dense, err error)
	Close()
}

// Mover moves the learned weights of a fit: it is an optimizer with its state.
type Mover interface {
	// Move takes a step: weights move by their gradients, in the order of [Weights.Learned].
	// Gradients may be overwritten.
	Move(weights, grads []*tensor.Dense)
	// Pass is the next n steps as an *AdamPass or a *MomentumPass, for an executor with a kernel
	// for it, which then takes them; nil where Move must. It is of one type throughout a fit.
	Pass(n int) any
}

// AdamPass is steps of Adam (Kingma and Ba 2015), which moves a weight θ with moments m and v by
//
//	g ← g + λ θ,  m ← β₁ m + (1−β₁) g,  v ← β₂ v + (1−β₂) g²
//	θ ← s θ − r_t m / (c_t √v + ε)
type AdamPass struct {
	Beta1, Beta2, Epsilon float64
	Decay, Shrink         float64   // λ, s
	Rates, Scales         []float64 // r_t = η_t/(1−β₁ᵗ) and c_t = 1/√(1−β₂ᵗ) of each step
	Mean, Square          []*tensor.Dense
	Begun                 bool // whether Mean and Square may be other than zero
}

// MomentumPass is steps of gradient descent with heavy-ball momentum, which moves a weight θ with
// velocity u by
//
//	u ← μ u + g + λ θ,  θ ← θ − η u
type MomentumPass struct {
	Rate, Momentum, Decay float64 // η, μ, λ
	Velocity              []*tensor.Dense
	Begun                 bool // whether Velocity may be other than zero
}

// On is e, or [CPU] where that is nil.
func On(e Executor) Executor {
	if e == nil {
		return CPU
	}
	return e
}
