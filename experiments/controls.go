package experiments

import (
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
		Draws: true, Needs: onBoth, Cost: Cost{30, 1.2}, Candidates: codebooks, TriedOn: "vq-nc",
		New: func(o *Options) layers.Stateful { return o.stack(o.anchor(learnedCodes)) },
	},
	{
		Name: "stacked-one", Title: "Stacked one", Group: Control,
		Line:  "control: stacked on a single codeword",
		Draws: true, Needs: onBoth, Cost: Cost{30, 1.2}, Candidates: slotsOnly, TriedOn: "vq-one",
		New: func(o *Options) layers.Stateful {
			base := o.anchor(learnedCodes)
			base.Codebook = o.one()
			return o.stack(base)
		},
	},
	{
		Name: "corrected-learned", Title: "Corrected learned", Group: Control,
		Line:  "control: corrected on codewords placed by k-means",
		Draws: true, Needs: onBoth, Cost: Cost{100, 1},
		New: func(o *Options) layers.Stateful { return o.joint("kmeans") },
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
