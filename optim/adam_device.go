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
	sizes        []int
	t, steps     int           // steps taken, steps of an epoch
	mean, square []cuda.Memory // m, v
	corrections  cuda.Memory   // η/(1−β₁ᵗ) and 1/√(1−β₂ᵗ) of each step of an epoch
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
func (a *adamOnDevice) Start(d *cuda.Device, sizes []int, steps int) {
	a.sizes, a.steps = sizes, steps
	for _, n := range sizes {
		m, v := d.Alloc(n), d.Alloc(n)
		d.Clear(m)
		d.Clear(v)
		a.mean, a.square = append(a.mean, m), append(a.square, v)
	}
	a.corrections = d.Alloc(2 * steps)
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

// Step moves weight i.
func (a *adamOnDevice) Step(d *cuda.Device, i int, weight, grad cuda.Memory, at cuda.Cursor) {
	beta1, beta2 := float32(a.rule.Beta1), float32(a.rule.Beta2)
	d.Adam(cuda.AdamRule{
		Beta1: beta1, Beta2: beta2, Add1: 1 - beta1, Add2: 1 - beta2,
		Decay: float32(a.rule.WeightDecay), Shrink: float32(a.shrink), Epsilon: float32(a.rule.Epsilon),
	}, weight, grad, a.mean[i], a.square[i], a.corrections, at, a.sizes[i])
}

// Free gives moments and corrections back and forgets the steps taken.
func (a *adamOnDevice) Free(d *cuda.Device) {
	d.Free(a.mean...)
	d.Free(a.square...)
	d.Free(a.corrections)
	*a = adamOnDevice{rule: a.rule, shrink: a.shrink}
}
