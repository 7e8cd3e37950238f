package experiments

import (
	"context"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/layers"
)

// trial is calibration rows as they are parted to try settings: a stratified fifth is held out, and of the others a method
// that stops early stops by a tenth.
type trial struct {
	fitted, stop, held *data.Set // stop is nil of a method that does not
}

func (s Spec) trial(method Method, cal *data.Set) trial {
	parts := cal.Stratify([]float64{0.72, 0.08, 0.2}, rand.New(rand.NewPCG(s.Seed, 6)))
	t := trial{held: cal.Rows(parts[2])}
	if method.StopsEarly {
		t.stop = cal.Rows(parts[1])
	} else {
		parts[0] = slices.Sorted(slices.Values(slices.Concat(parts[0], parts[1])))
	}
	t.fitted = cal.Rows(parts[0])
	return t
}

// loss is the mean NLL on the rows held out after the Spec's fit of the method to the others, the at-th try of its seed.
func (t trial) loss(ctx context.Context, s Spec, method Method, at int) (float64, error) {
	options, err := s.options(t.fitted, nil)
	if err != nil {
		return 0, err
	}
	model, _, err := method.Build(options)
	if err != nil {
		return 0, err
	}
	if err := model.Fit(ctx, t.fitted, t.stop, rand.New(rand.NewPCG(s.Seed, uint64(100+at)))); err != nil {
		return 0, err
	}
	return layers.HeldOutLoss(model, t.held)
}
