package cuda

import (
	"slices"

	"calibra/graph"

	"gorgonia.org/tensor"
)

// gradients is an objective on a device, for a method whose steps the host takes: tables
// are uploaded once, the learned weights for each value, and loss and gradient come back.
type gradients struct {
	*arrays
	loss  *graph.Objective
	grads []*tensor.Dense
}

func newGradients(e *Executor, o *graph.Objective) *gradients {
	s := &gradients{arrays: newArrays(e), loss: o}
	for _, t := range s.learned() {
		s.grads = append(s.grads, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(t.Shape()...)))
	}
	return s
}

// Gradients moves values and gradients of o, of up to rows rows each, to the device, or leaves
// them to the CPU. The first value is computed on both, and must agree.
func (e *Executor) Gradients(o *graph.Objective, rows int) (graph.Gradients, error) {
	s := newGradients(e, o)
	here, err := s.begins(rows, func(loss float64, grads []*tensor.Dense) error {
		err := s.check(rows, loss, grads)
		if err != nil {
			s.free()
		}
		return err
	})
	if err == nil && !here {
		return graph.CPU.Gradients(o, rows)
	}
	return s, err
}

// begins reports whether the device is to compute s, in steps of so many rows: it takes it, and try, given
// what the CPU says of the first step, does not fail there.
func (s *gradients) begins(rows int, try func(loss float64, grads []*tensor.Dense) error) (here bool, err error) {
	if here, err := s.takes(s.loss, rows); err != nil || !here {
		return false, err
	}
	loss, grads, err := s.loss.Gradient(graph.Rows(0, rows))
	if err != nil {
		return false, err
	}
	err = s.do(func() error { return try(loss, grads) })
	return err == nil, s.Instead("a fit runs", err)
}

func (s *gradients) Gradient(rows []int32) (loss float64, grads []*tensor.Dense, err error) {
	p, err := s.loss.Program(len(rows))
	if err != nil {
		return 0, nil, err
	}
	err = s.do(func() error {
		l, err := s.load(p)
		if err != nil {
			return err
		}
		s.sendLearned()
		l.runRows(s.device, rows)
		loss = s.result(l)
		return s.device.Err()
	})
	return loss, s.grads, err
}

// weights are all of the objective, and learned those with a gradient.
func (s *gradients) weights() []*tensor.Dense {
	w := s.loss.Weights()
	return tensors(w, slices.DeleteFunc(w.Names(), w.Exact))
}
func (s *gradients) learned() []*tensor.Dense {
	return tensors(s.loss.Weights(), s.loss.Weights().Learned())
}

func tensors(w *graph.Weights, names []string) (of []*tensor.Dense) {
	for _, name := range names {
		of = append(of, w.Tensor(name))
	}
	return of
}

// sendLearned brings the learned weights in memory to the device.
func (s *gradients) sendLearned() {
	for _, t := range s.learned() {
		upload(s.device, s.onDevice(t), t)
	}
}

// result is the loss that l computed, and sets grads to the gradient.
func (s *gradients) result(l *program) float64 {
	loss := make([]float32, 1)
	Download(s.device, loss, l.outputs[0].Memory)
	for i, g := range s.grads {
		download(s.device, g, l.outputs[i+1].Memory)
	}
	return float64(loss[0])
}

func (s *gradients) Close() {
	s.do(func() error { s.free(); return nil })
}
