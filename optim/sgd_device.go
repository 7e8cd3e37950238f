package optim

import (
	"calibra/graph"
	"calibra/graph/cuda"
)

// sgdOnDevice is SGD with its velocity on a device.
type sgdOnDevice struct {
	rule     SGD
	velocity cuda.Memory // u
}

var _ graph.DeviceRule = (*sgdOnDevice)(nil)

func (s SGD) onDevice() graph.DeviceRule {
	s.Rate = orDefault(s.Rate, 1e-2)
	return &sgdOnDevice{rule: s}
}

// Start allocates the velocity, zero at first.
func (s *sgdOnDevice) Start(d *cuda.Device, n, _ int) {
	s.velocity = d.Alloc(n)
	d.Clear(s.velocity)
}

// Epoch has nothing to upload: the steps are all alike.
func (s *sgdOnDevice) Epoch(*cuda.Device) {}

// Step moves the weights.
func (s *sgdOnDevice) Step(d *cuda.Device, p cuda.Parameters, at cuda.Cursor) {
	d.SGD(float32(s.rule.Rate), float32(s.rule.Momentum), float32(s.rule.WeightDecay), p, s.velocity, at)
}

// Free gives the velocity back.
func (s *sgdOnDevice) Free(d *cuda.Device) {
	d.Free(s.velocity)
	s.velocity = cuda.Memory{}
}
