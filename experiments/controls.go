package experiments

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/layers/baselines"
)

// Controls are methods that take something away from another one, to tell where its gain
// comes from. They are at the end of Methods.
var Controls = []Method{
	{"new-head", "control: a new last layer on the unquantized features with the logits, penalized", func(o *Options) layers.Stateful {
		return &baselines.LastLayer{
			Strength: o.Float("head.strength", 10, Positive, "", "penalty λ of the new layer's weights"), Optim: o.LBFGS(),
		}
	}, anchorNeeds, false, false},
	{"vq-random", "control: vq on codewords drawn from the slots and never moved", func(o *Options) layers.Stateful {
		divide := o.Divide()
		divide.Codebook.Decay = unmoved
		return layers.Train(divide, o.bilinear(), o.Stage("calibrate", published))
	}, []string{"features"}, true, true},
	{"vq-one", "control: vq on a single codeword", func(o *Options) layers.Stateful {
		divide := o.Divide()
		divide.Codebook.Codewords = 1
		return layers.Train(divide, o.bilinear(), o.Stage("calibrate", published))
	}, []string{"features"}, true, true},
	{"stacked-random", "control: stacked on codewords drawn from the slots and never moved", func(o *Options) layers.Stateful {
		base := o.anchor()
		base.Codebook.Decay = unmoved
		return o.stack(base)
	}, anchorNeeds, true, false},
	{"stacked-one", "control: stacked on a single codeword", func(o *Options) layers.Stateful {
		base := o.anchor()
		base.Codebook.Codewords = 1
		return o.stack(base)
	}, anchorNeeds, true, false},
	{"stacked-shuffled", "control: stacked, each row with the codewords of another row", func(o *Options) layers.Stateful {
		return &shuffled{o.stack(o.anchor())}
	}, anchorNeeds, true, false},
}

// unmoved is a decay of the codebook's averages at which no codeword leaves its start
// within any number of batches that fits: 1e6 of them move it by 1e-6 of the way.
const unmoved = 1 - 1e-12

// stack mixes the anchored maps on a base.
func (o *Options) stack(base *anchored.Anchor) *anchored.Stack {
	return &anchored.Stack{
		Spreads: o.spreads(),
		Base:    base, Candidates: anchored.Maps(), Optim: o.LBFGS(),
		Folds: o.IntOr("search.folds", "5 up to 4,096 rows, else 3", 2, "", searchFolds), Rows: o.searchRows(),
	}
}

// shuffled is a calibrator that sees each row's logits with the features of another row.
type shuffled struct{ layers.Stateful }

var _ layers.Stateful = (*shuffled)(nil)

// Together is a calibrator whose prediction of a row depends on the other rows of the set, so
// that a set cannot be predicted in parts.
type Together interface{ Together() }

// Together says that rows are shuffled.
func (*shuffled) Together() {}

// Fit draws the other rows of cal from rng.
func (s *shuffled) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	other := otherFeatures(cal, rng)
	if val != nil {
		val = otherFeatures(val, rng)
	}
	return s.Stateful.Fit(ctx, other, val, rng)
}

// Predict draws those of x from a generator of its own, so that it repeats.
func (s *shuffled) Predict(x *data.Set) (*data.Predictions, error) {
	return s.Stateful.Predict(otherFeatures(x, rand.New(rand.NewPCG(uint64(x.Len()), 7))))
}

func otherFeatures(x *data.Set, rng *rand.Rand) *data.Set {
	out := *x
	out.Features = data.Select(x.Features, rng.Perm(x.Len()))
	return &out
}
