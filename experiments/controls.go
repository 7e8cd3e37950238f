package experiments

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/layers/baselines"
)

// controls are methods that take something away from another one, to show where its gain
// comes from. They are at the end of Methods.
var controls = []Method{
	{
		Name: "new-head", Title: "New head", Group: Control,
		Line:  "control: a new last layer on the unquantized features with the logits, penalized",
		Needs: onBoth, Cost: Cost{10, 1}, Candidates: listed("head.strength", "10", "1", "100", "1e3"),
		New: func(o *Options) layers.Stateful {
			return &baselines.LastLayer{
				Strength: o.Float("head.strength", 10, Positive, "", "penalty λ of the new layer's weights"), Optim: o.LBFGS(),
			}
		},
	},
	{
		Name: "rival", Title: "Best rival", Group: Control,
		Line:  "control: one of the methods that corrected has to beat, chosen on held-out calibration rows when it is tuned",
		Needs: onBoth, Cost: Cost{20, 1}, Candidates: listed("rival.of", "sv", "sm", "boosted", "clustered"),
		New: func(o *Options) layers.Stateful {
			switch o.Choice("rival.of", "sv", []string{"sv", "sm", "boosted", "clustered"}, "", "which of them") {
			case "sm":
				return &baselines.Structured{}
			case "boosted":
				return &baselines.Boosted{}
			case "clustered":
				return &baselines.Clustered{}
			}
			return &baselines.StructuredVector{}
		},
	},
	{
		Name: "vq-random", Group: Control,
		Line:  "control: vq on codewords drawn from the slots and never moved",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{5, 0.5}, Candidates: codebooks,
		New: func(o *Options) layers.Stateful {
			divide := o.Divide()
			divide.Codebook = divide.Codebook.Twin()
			return layers.Train(divide, o.bilinear(), o.Stage("calibrate", published))
		},
	},
	{
		Name: "vq-one", Group: Control,
		Line:  "control: vq on a single codeword",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{5, 0.5}, Candidates: slotsOnly,
		New: func(o *Options) layers.Stateful {
			divide := o.Divide()
			divide.Codebook = o.one()
			return layers.Train(divide, o.bilinear(), o.Stage("calibrate", published))
		},
	},
	{
		Name: "stacked-learned", Title: "Stacked learned", Group: Control,
		Line:  "control: stacked on the paper's codewords, moving averages",
		Needs: onBoth, Cost: Cost{30, 1.2}, Candidates: codebooks, TriedOn: "vq-nc",
		New: func(o *Options) layers.Stateful { return o.stack(o.anchor(learnedCodes)) },
	},
	{
		Name: "stacked-one", Title: "Stacked one", Group: Control,
		Line:  "control: stacked on a single codeword",
		Needs: onBoth, Cost: Cost{30, 1.2}, Candidates: slotsOnly, TriedOn: "vq-one",
		New: func(o *Options) layers.Stateful {
			base := o.anchor(learnedCodes)
			base.Codebook = o.one()
			return o.stack(base)
		},
	},
	{
		Name: "corrected-learned", Title: "Corrected learned", Group: Control,
		Line:  "control: corrected on codewords placed by k-means",
		Needs: onBoth, Cost: Cost{100, 1},
		New: func(o *Options) layers.Stateful { return o.joint("kmeans") },
	},
	{
		Name: "stacked-shuffled", Title: "Stacked shuffled", Group: Control,
		Line:  "control: stacked-learned, each row with the codewords of another row",
		Needs: onBoth, Cost: Cost{30, 1.2}, Candidates: codebooks, TriedOn: "vq-nc",
		New: func(o *Options) layers.Stateful { return &shuffled{o.stack(o.anchor(learnedCodes))} },
	},
}

// stack mixes the anchored maps on a base.
func (o *Options) stack(base *anchored.Anchor) *anchored.Stack {
	return &anchored.Stack{
		Spreads: o.spreads(1./8, 1./2, 16),
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

// Together marks that rows are shuffled.
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
