package graph

import (
	"context"

	"gorgonia.org/tensor"
)

// Executor is where graphs run. It is passed in the settings of a fit, never found: nil is
// this process, and [On] makes that [CPU]. Whoever implements it elsewhere runs what a [Program]
// lists; an operation that it has no code for it can leave to the operation's own Do.
//
// [CPU] is the least of them. What else a session may do is an interface of its own, [Remote].
//
// No method holds anything that another waits for once it has returned: sessions may be open
// side by side, and an observer of a fit may begin another.
type Executor interface {
	// Fit begins a fit of o by m to rows 0…rows−1, in steps of batch. The learned weights may
	// not be used elsewhere until Close, but see Session.Fetch.
	Fit(o *Objective, m Optimizer, rows, batch int) (Session, error)
	// Gradients is where a method whose steps are taken in this process has loss and gradient
	// of o computed, of up to so many rows each.
	Gradients(o *Objective, rows int) (Gradients, error)
}

// Session is a fit that runs. Between its calls the weights may lie elsewhere, see [Remote]: those
// in memory are then the weights of the start, or of the last Restore.
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
	Close()
}

// Gradients computes losses with their gradients, by tables that stay what they are until Close.
type Gradients interface {
	// Gradient is [Objective.Gradient] at the weights in memory.
	Gradient(rows []int32) (loss float64, grads []*tensor.Dense, err error)
	Close()
}

// Optimizer is a rule with its state, which moves the learned weights of a fit.
type Optimizer interface {
	// Step moves weights by their gradients, in the order of [Weights.Learned]. Gradients may be
	// overwritten.
	Step(weights, grads []*tensor.Dense)
}

// Probing is an [Optimizer] that may ask for the gradient at another point, on the same rows, before it steps.
type Probing interface {
	Optimizer
	// Probes reports whether it does, at each step of a fit.
	Probes() bool
	// Probe moves weights to the point, by their gradients, which may be overwritten. Step then gets the gradients
	// there, and begins where the weights were.
	Probe(weights, grads []*tensor.Dense)
}

// ProberOf is the optimizer where it probes, else nil.
func ProberOf(o Optimizer) Probing {
	if p, ok := o.(Probing); ok && p.Probes() {
		return p
	}
	return nil
}

// On is e, or [CPU] where that is nil.
func On(e Executor) Executor {
	if e == nil {
		return CPU
	}
	return e
}
