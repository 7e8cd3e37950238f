package optim

import (
	"context"
	"fmt"
	"time"

	"calibra/graph"

	"gorgonia.org/tensor"
)

// place is where a fit's weights are and its steps run: in this process or on a device.
type place interface {
	// epoch takes a step for each batch of rows in order and gives their mean loss. Its
	// error begins with the batch.
	epoch(ctx context.Context, order []int32) (loss float64, err error)
	keep() error            // the weights as they are become the best so far
	restore() error         // the weights become the best so far
	elapsed() time.Duration // of the last epoch by the device's clock; 0 in this process
	close()
}

// newPlace is the device that this process chose, or else this process.
func newPlace(p Problem, s Settings) (place, error) {
	session, err := graph.NewSession(p.Loss, s.Rule.onDevice(), p.Rows, s.Batch)
	if err != nil {
		return nil, fmt.Errorf("optim: %w", err)
	}
	if session != nil {
		return &device{session}, nil
	}
	return newHost(p.Loss, s), nil
}

// host runs the steps in this process.
type host struct {
	loss    *graph.Objective
	batch   int
	stepper stepper
	params  []*tensor.Dense
	best    *graph.Weights
}

func newHost(loss *graph.Objective, s Settings) *host {
	w := loss.Weights()
	h := &host{loss: loss, batch: s.Batch, best: w.Clone()}
	for _, name := range w.Learned() {
		h.params = append(h.params, w.Tensor(name))
	}
	h.stepper = s.Rule.start(h.params)
	return h
}

func (h *host) epoch(ctx context.Context, order []int32) (float64, error) {
	var total float64
	for lo, batch := 0, 1; lo < len(order); lo, batch = lo+h.batch, batch+1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		rows := order[lo:min(lo+h.batch, len(order))]
		loss, grads, err := h.loss.Gradient(rows)
		if err != nil {
			return 0, fmt.Errorf("batch %d: %w", batch, err)
		}
		if name, bad := nonFinite(h.loss.Weights(), loss, grads); bad {
			return 0, fmt.Errorf("batch %d: %s is not finite (it starts at %s)", batch, name, h.loss.NonFinite(len(rows)))
		}
		h.stepper.step(h.params, grads)
		if err := h.loss.Commit(len(rows)); err != nil {
			return 0, fmt.Errorf("batch %d: %w", batch, err)
		}
		total += loss * float64(len(rows))
	}
	return total / float64(len(order)), nil
}

func (h *host) keep() error {
	h.best.Set(h.loss.Weights())
	return nil
}

func (h *host) restore() error {
	h.loss.Weights().Set(h.best)
	return nil
}

func (h *host) elapsed() time.Duration { return 0 }
func (h *host) close()                 {}

// device runs the steps in a session.
type device struct{ *graph.Session }

func (d *device) epoch(ctx context.Context, order []int32) (float64, error) {
	loss, trouble, err := d.Epoch(ctx, order)
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, err
	case err != nil:
		return 0, fmt.Errorf("on the device: %w", err)
	case trouble >= 0:
		return 0, fmt.Errorf("batch %d: the loss or a gradient is not finite; --device cpu says which", trouble+1)
	}
	return loss, nil
}

func (d *device) keep() error            { return d.Keep() }
func (d *device) restore() error         { return d.Restore() }
func (d *device) elapsed() time.Duration { return d.Elapsed() }
func (d *device) close()                 { d.Close() }
