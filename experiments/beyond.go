package experiments

import (
	"calibra/layers"
	"calibra/layers/anchored"
)

// beyond are those that none has: maps on the original logits, which choose their priors by
// cross-validation, and variants of vq.
var beyond = []Method{
	onOriginal("order-preserving", "Order preserving", Cost{5, 0}, anchored.OrderPreserving{},
		"one increasing function of every logit"),
	onOriginal("anchored", "Anchored", Cost{15, 1}, anchored.Tables{},
		"the original logits at one temperature, corrected by codewords"),
	onOriginal("anchored-dirichlet", "Anchored Dirichlet", Cost{20, 1}, anchored.Tables{On: anchored.ShrunkDirichlet{}},
		"a shrunk global Dirichlet map of the original logits, corrected by codewords"),
	onOriginal("anchored-head", "Anchored head", Cost{20, 1}, anchored.Tables{On: anchored.SlotHead{On: anchored.ShrunkDirichlet{}}},
		"the same, codewords near each other corrected alike"),
	{
		Name: "anchored-bilinear", Title: "Anchored bilinear", Group: Variant,
		Line:  "the paper's bilinear map on the original head at one temperature",
		Needs: onBoth, StopsEarly: true, Cost: Cost{20, 1},
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.anchor(learnedCodes), o.bilinear(), o.Stage("calibrate", published))
		},
	},
	onOriginal("local-temperature", "Local temperature", Cost{5, 0}, anchored.LocalTemperature{},
		"a temperature for each region, from its codewords"),
	onOriginal("gated", "Gated", Cost{15, 1}, anchored.Gated{},
		"one temperature, mixed with the anchored map by the support of the region"),
	{
		Name: "auto", Title: "Auto", Group: Variant,
		Line:  "the best of the anchored maps by cross-validation, the simplest within one standard error",
		Draws: true, Needs: onBoth, Cost: Cost{30, 1.2}, Candidates: codebooks, TriedOn: "vq-nc",
		New: func(o *Options) layers.Stateful { return o.auto(anchored.Maps()...) },
	},
	{
		Name: "stacked", Title: "Stacked", Group: Recommended, Former: "stacked-random",
		Line:  "the anchored maps mixed, each by what it adds to the others in cross-validation, on codewords drawn from the slots",
		Draws: true, Needs: onBoth, Cost: Cost{30, 1.2}, Candidates: codebooks, TriedOn: "vq-random",
		New: func(o *Options) layers.Stateful { return o.stack(o.anchor(drawnCodes)) },
	},

	{
		Name: "corrected", Title: "Corrected", Group: Variant, Former: "corrected-random",
		Line:  "one joint correction of the classifier's scores: a linear map of the features and tables that soft codes of drawn codewords read",
		Draws: true, Needs: onBoth, Cost: Cost{100, 1},
		New: func(o *Options) layers.Stateful { return o.joint(drawnCodes) },
	},

	{
		Name: "vq-start", Group: Variant,
		Line:  "vq, with its start, the quantized head, as a candidate of early stopping",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{5, 0.5}, Candidates: codebooks,
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), o.bilinear(), fromStart(o.Stage("calibrate", published)))
		},
	},
	{
		Name: "vq-centred", Group: Variant,
		Line:  "vq with steps of one size for any number of classes and slots, its start a candidate",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{5, 0.5}, Candidates: codebooks,
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), layers.Centred{}, fromStart(o.Stage("calibrate", published)))
		},
	},
	{
		Name: "vq-rank", Group: Variant,
		Line:  "vq with several receivers and senders for each codeword",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{5, 0.5},
		New: func(o *Options) layers.Stateful {
			m := layers.Rank{Rank: o.Int("rank.rank", 2, 1, "1", "factors r of each codeword")}
			return layers.Train(o.Divide(), m, o.Stage("calibrate", published))
		},
	},
	variant("vq-diagonal", "vq with a diagonal of its own for each codeword", layers.Diagonal{}),
	variant("vq-tied", "vq with receivers and senders alike", layers.Tied{}),
}

// onOriginal is the method that fits m to the original head, its prior cross-validated.
func onOriginal(name, title string, cost Cost, m layers.Map, line string) Method {
	return Method{
		Name: name, Title: title, Group: Variant, Line: line, Draws: true, Needs: onBoth, Cost: cost,
		New: func(o *Options) layers.Stateful { return o.auto(anchored.Candidate{Name: name, Map: m}) },
	}
}

// auto chooses among the candidates by cross-validation.
func (o *Options) auto(candidates ...anchored.Candidate) *anchored.Auto {
	return &anchored.Auto{
		Base: o.anchor(learnedCodes), Candidates: candidates, Folds: o.Int("search.folds", 3, 2, "", searchFolds), Rows: o.searchRows(),
		Spreads: o.spreads(1./8, 1./2, 16), Optim: o.LBFGS(),
	}
}

const searchFolds = "folds of the cross-validation"

// searchRows are the calibration rows by which maps are judged.
func (o *Options) searchRows() int {
	return o.IntOr("search.rows", "all, or those of 2²² logits", 2, "", "calibration rows that the folds divide; the maps are then fitted to all")
}

// variant is vq with another map.
func variant(name, line string, of layers.Map) Method {
	m := OnCodewords(name, line, of)
	m.Group, m.Cost = Variant, Cost{5, 0.5}
	return m
}
