package optim

import (
	"math"

	"calibra/graph"
	"calibra/graph/cuda"
)

// adamOnDevice is Adam with its moments on a device.
type adamOnDevice struct {
	rule         Adam
	shrink       float64
	t, steps     int         // steps taken, steps of an epoch
	mean, square cuda.Memory // m, v
	corrections  cuda.Memory // η/(1−β₁ᵗ) and 1/√(1−β₂ᵗ) of each step of an epoch
}

var _ graph.DeviceRule = (*adamOnDevice)(nil)

func (a Adam) onDevice() graph.DeviceRule {
	s := newAdam(a, 0, nil)
	return &adamOnDevice{rule: s.rule, shrink: s.shrink}
}

func (a AdamW) onDevice() graph.DeviceRule {
	s := newAdam(a.coupled(), a.WeightDecay, nil)
	return &adamOnDevice{rule: s.rule, shrink: s.shrink}
}

// Start allocates the moments, zero at first.
func (a *adamOnDevice) Start(d *cuda.Device, n, steps int) {
	a.steps, a.mean, a.square, a.corrections = steps, d.Alloc(n), d.Alloc(n), d.Alloc(2*steps)
	d.Clear(a.mean)
	d.Clear(a.square)
}

// Epoch uploads the corrections of the next steps, rounded as the host rounds them.
func (a *adamOnDevice) Epoch(d *cuda.Device) {
	c := make([]float32, 0, 2*a.steps)
	for range a.steps {
		a.t++
		bias1 := 1 - math.Pow(a.rule.Beta1, float64(a.t))
		bias2 := math.Sqrt(1 - math.Pow(a.rule.Beta2, float64(a.t)))
		c = append(c, float32(a.rule.Rate/bias1), float32(1/bias2))
	}
	cuda.Upload(d, a.corrections, c)
}

// Step moves the weights.
func (a *adamOnDevice) Step(d *cuda.Device, p cuda.Parameters, at cuda.Cursor) {
	beta1, beta2 := float32(a.rule.Beta1), float32(a.rule.Beta2)
	d.Adam(cuda.AdamRule{
		Beta1: beta1, Beta2: beta2, Add1: 1 - beta1, Add2: 1 - beta2,
		Decay: float32(a.rule.WeightDecay), Shrink: float32(a.shrink), Epsilon: float32(a.rule.Epsilon),
	}, p, a.mean, a.square, a.corrections, at)
}

// Free gives moments and corrections back and forgets the steps taken.
func (a *adamOnDevice) Free(d *cuda.Device) {
	d.Free(a.mean, a.square, a.corrections)
	*a = adamOnDevice{rule: a.rule, shrink: a.shrink}
}
