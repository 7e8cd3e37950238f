package graph

import (
	"fmt"

	"calibra/graph/cuda"

	"gorgonia.org/tensor"
)

// Slopes is an [Objective] on a device, for a method whose steps the host takes: tables
// are uploaded once, the learned weights for each value, and loss and gradient come back.
type Slopes struct {
	*deviceArrays
	loss   *Objective
	bySize map[int]*deviceProgram
	grads  []*tensor.Dense
}

// NewSlopes moves values and gradients of o, of up to rows rows each, to the device that
// this process chose. It is nil where the CPU is to compute them, as [NewSession] is.
//
// The first value is computed on both, and must agree.
func NewSlopes(o *Objective, rows int) (*Slopes, error) {
	d, err := o.device(rows)
	if d == nil {
		return nil, err
	}
	d.Lock()
	s := &Slopes{newDeviceArrays(d), o, map[int]*deviceProgram{}, nil}
	for _, name := range o.weights.Learned() {
		s.grads = append(s.grads, tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(o.weights.tensors[name].Shape()...)))
	}
	if err := withRoom(d, func() error { return s.check(o, Rows(0, rows)) }); err != nil {
		err = instead(d, err)
		s.Close()
		return nil, err
	}
	return s, nil
}

// Gradient is [Objective.Gradient].
func (s *Slopes) Gradient(rows []int32) (loss float64, grads []*tensor.Dense, err error) {
	d, o := s.device, s.loss
	l, ok := s.bySize[len(rows)]
	if !ok {
		host, err := o.compile(len(rows))
		if err != nil {
			return 0, nil, err
		}
		if l, err = s.load(host.program, host.rows); err != nil {
			return 0, nil, err
		}
		s.bySize[len(rows)] = l
	}
	for _, name := range o.weights.Learned() {
		t := o.weights.tensors[name]
		cuda.Upload(d, s.resident(t), t.Float32s())
	}
	cuda.Upload(d, l.rows.Memory, rows)
	l.run(d)
	value := make([]float32, 1)
	cuda.Download(d, value, l.outputs[0].Memory)
	for i, g := range s.grads {
		cuda.Download(d, g.Float32s(), l.outputs[i+1].Memory)
	}
	if err := d.Err(); err != nil {
		return 0, nil, fmt.Errorf("graph: %w", err)
	}
	return float64(value[0]), s.grads, nil
}

// Close gives the device back.
func (s *Slopes) Close() {
	for _, l := range s.bySize {
		l.free(s.device)
	}
	for _, t := range s.loss.weights.tensors {
		s.drop(t) // the host moves them
	}
	s.free()
	s.device.Unlock()
}
