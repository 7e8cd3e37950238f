package experiments

import (
	"slices"

	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/layers/baselines"
	"calibra/optim"
)

// corrected fits m, its prior cross-validated.
func corrected(name string, m layers.Map) func(*Options) layers.Stateful {
	return func(o *Options) layers.Stateful {
		return &anchored.Auto{Base: o.anchor(), Candidates: []anchored.Candidate{{Name: name, Map: m}}, Folds: o.Int("search.folds", 3, 2, "", searchFolds), Rows: o.searchRows(), Spreads: o.spreads(), Optim: o.LBFGS()}
	}
}

const searchFolds = "folds of the cross-validation"

// searchRows are the calibration rows by which maps are judged.
func (o *Options) searchRows() int {
	return o.IntOr("search.rows", "all, or those of 2²² logits", 2, "", "calibration rows that the folds divide; the maps are then fitted to all")
}

// Methods lists all methods, the paper's first.
var Methods = slices.Concat(papers, beyond, Controls)

// Beyond names the methods that no paper has published. "All" methods leave them out.
var Beyond = (&Catalog{slices.Concat(beyond, Controls)}).Names()

// papers are the methods that papers have published.
var papers = []Method{
	{"vq", "the paper's calibrator: quantized head, then a bilinear Dirichlet map for each region", func(o *Options) layers.Stateful {
		return layers.Train(o.Divide(), o.bilinear(), o.Stage("calibrate", published))
	}, []string{"features"}, true, true},
	{"vq-nc", "the quantized head alone, not calibrated", func(o *Options) layers.Stateful {
		return layers.Train(o.Divide(), layers.Identity{}, optim.Settings{})
	}, []string{"features"}, true, true},
	{"vq-dc", "the quantized head with one global Dirichlet map", func(o *Options) layers.Stateful {
		return layers.Train(o.Divide(), layers.Dirichlet{}, o.Stage("calibrate", published))
	}, []string{"features"}, true, true},
	{"nc", "not calibrated: the classifier as it is", func(o *Options) layers.Stateful {
		return layers.Train(&layers.Original{}, layers.Identity{}, optim.Settings{})
	}, []string{"logits"}, false, false},
	{"ts", "temperature scaling: one number for all logits", func(o *Options) layers.Stateful {
		return &layers.Temperature{}
	}, []string{"logits"}, false, false},

	{"ir", "isotonic regression of each class against the rest", func(o *Options) layers.Stateful {
		return &baselines.Isotonic{}
	}, []string{"logits"}, false, false},
	{"ps", "Platt scaling: a logistic regression on the probabilities for each class", func(o *Options) layers.Stateful {
		return &baselines.Platt{Optim: o.LBFGS()}
	}, []string{"logits"}, false, false},
	{"dc", "Dirichlet calibration by maximum likelihood", func(o *Options) layers.Stateful {
		return &baselines.Dirichlet{Optim: o.LBFGS()}
	}, []string{"logits"}, false, false},
	{"dc-odir", "Dirichlet calibration, off-diagonal and intercept penalized, strengths cross-validated", func(o *Options) layers.Stateful {
		return o.odir()
	}, []string{"logits"}, false, false},
	{"sm", "structured matrix scaling", func(o *Options) layers.Stateful {
		return &baselines.Structured{Optim: o.BFGS(), Strength: o.Float("sm.strength", 1, Positive, "1", "what the published penalties are multiplied by")}
	}, []string{"logits"}, false, false},
	{"kc", "kernel calibration as the paper runs it: Local Nets' similarity, trained alone", func(o *Options) layers.Stateful {
		hidden, dropout, sigma := o.net()
		return &baselines.Kernel{Hidden: hidden, Dropout: dropout, Sigma: sigma, Optim: o.Optim("train", publishedNet)}
	}, []string{"features", "logits"}, false, true},
	{"kc-original", "kernel calibration as its authors have it (KCal)", func(o *Options) layers.Stateful {
		return &baselines.KCal{
			Dimensions: o.Int("kcal.dimensions", 32, 1, "", "width of the learned projection"),
			Bandwidth:  o.Float("kcal.bandwidth", 1, Positive, "", "bandwidth h₀ of the kernel in training; it is chosen from a tenth to ten times that afterwards"),
			Folds:      o.Int("kcal.folds", 20, 2, "", "folds of the cross-validation that chooses it"),
			Optim:      o.Optim("train", Training{Batch: 64}),
		}
	}, []string{"features", "logits"}, false, true},
	{"ln", "Local Nets: a new head that agrees with its neighbourhood", func(o *Options) layers.Stateful {
		hidden, dropout, sigma := o.net()
		return &baselines.LocalNets{
			Hidden: hidden, Dropout: dropout, Sigma: sigma, Optim: o.Optim("train", publishedNet),
			Lambda: o.Float("net.lambda", 1, Positive, "1", "weight λ of the distance to the neighbourhood's labels"),
		}
	}, []string{"features", "logits"}, false, true},
	{"pc", "ProCal: density ratio over confidence and proximity", func(o *Options) layers.Stateful {
		return &baselines.ProCal{Neighbours: o.neighbours()}
	}, []string{"features", "logits"}, false, false},
	{"pc-bins", "ProCal by bin-mean-shift: an isotonic map of the confidence for each range of proximity", func(o *Options) layers.Stateful {
		m := &baselines.ProCalBins{Neighbours: o.neighbours(), Parts: o.Int("procal.parts", 5, 1, "", "ranges of proximity")}
		if o.Choice("procal.map", "isotonic", []string{"isotonic", "histogram"}, "", "map of the confidence in each range") == "histogram" {
			m.Map = baselines.HistogramMap{}
		}
		return m
	}, []string{"features", "logits"}, false, false},
	{"vector", "vector scaling: a scale and an offset for each class", func(o *Options) layers.Stateful {
		return &baselines.Vector{Optim: o.LBFGS(), Strength: o.Float("vector.strength", 0, NonNegative, "0", "penalty λ of scales and offsets; 0 is maximum likelihood")}
	}, []string{"logits"}, false, false},
	{"histogram", "histogram binning of each class against the rest", func(o *Options) layers.Stateful {
		return &baselines.Histogram{Bins: o.Int("histogram.bins", 15, 1, "", "bins of each class")}
	}, []string{"logits"}, false, false},
	{"beta", "beta calibration of each class against the rest", func(o *Options) layers.Stateful {
		return &baselines.Beta{Optim: o.LBFGS()}
	}, []string{"logits"}, false, false},
	{"ets", "ensemble temperature scaling: two temperatures and the uniform distribution, mixed", func(o *Options) layers.Stateful {
		return &baselines.EnsembleTemperature{}
	}, []string{"logits"}, false, false},
	{"spline", "splines: the derivative of the cumulated frequency of each class against the rest", func(o *Options) layers.Stateful {
		return &baselines.Spline{Knots: o.Int("spline.knots", 6, 3, "6", "knots of each class's spline")}
	}, []string{"logits"}, false, false},
	{"venn-abers", "Venn–Abers predictors of each class against the rest", func(o *Options) layers.Stateful {
		return &baselines.VennAbers{}
	}, []string{"logits"}, false, false},
	{"top-label", "histogram binning of the top class's probability, for each top class", func(o *Options) layers.Stateful {
		return &baselines.TopLabel{Rows: o.Int("top_label.rows", 50, 1, "", "rows of a bin")}
	}, []string{"logits"}, false, false},
	{"local-ts", "local temperature scaling: a temperature for each row, from its features", func(o *Options) layers.Stateful {
		return &baselines.LocalTemperature{Optim: o.LBFGS()}
	}, []string{"features", "logits"}, false, false},
	{"ts-published", "temperature scaling by the published optimizer, which stops short", func(o *Options) layers.Stateful {
		return &baselines.PublishedTemperature{Optim: o.fixedLBFGS()}
	}, []string{"logits"}, false, false},
	{"dc-published", "Dirichlet calibration by the published optimizer, which stops short", func(o *Options) layers.Stateful {
		return &baselines.PublishedDirichlet{Optim: o.fixedLBFGS()}
	}, []string{"logits"}, false, false},
}

// beyond are those that none has: maps on the original logits, which choose their priors by
// cross-validation, and variants of vq.
var beyond = []Method{
	{"order-preserving", "one increasing function of every logit", corrected("order-preserving", anchored.OrderPreserving{}), anchorNeeds, true, false},
	{"anchored", "the original logits at one temperature, corrected by codewords", corrected("anchored", anchored.Corrected{}), anchorNeeds, true, false},
	{"anchored-dirichlet", "a shrunk global Dirichlet map of the original logits, corrected by codewords", corrected("anchored-dirichlet", anchored.Corrected{On: anchored.ShrunkDirichlet{}}), anchorNeeds, true, false},
	{"anchored-head", "the same, codewords near each other corrected alike", corrected("anchored-head", anchored.Corrected{On: anchored.SlotHead{On: anchored.ShrunkDirichlet{}}}), anchorNeeds, true, false},
	{"anchored-bilinear", "the paper's bilinear map on the original head at one temperature", func(o *Options) layers.Stateful {
		return layers.Train(o.anchor(), o.bilinear(), o.Stage("calibrate", published))
	}, anchorNeeds, true, true},
	{"local-temperature", "a temperature for each region, from its codewords", corrected("local-temperature", anchored.LocalTemperature{}), anchorNeeds, true, false},
	{"gated", "one temperature, mixed with the anchored map by the support of the region", corrected("gated", anchored.Gated{}), anchorNeeds, true, false},
	{"auto", "the best of the anchored maps by cross-validation, the simplest within one standard error", func(o *Options) layers.Stateful {
		return &anchored.Auto{Base: o.anchor(), Candidates: anchored.Maps(), Folds: o.Int("search.folds", 3, 2, "", searchFolds), Rows: o.searchRows(), Spreads: o.spreads(), Optim: o.LBFGS()}
	}, anchorNeeds, true, false},
	{"stacked", "the anchored maps mixed, each by what it adds to the others in cross-validation", func(o *Options) layers.Stateful {
		return o.stack(o.anchor())
	}, anchorNeeds, true, false},

	{"vq-start", "vq, with its start, the quantized head, as a candidate of early stopping", func(o *Options) layers.Stateful {
		return layers.Train(o.Divide(), o.bilinear(), fromStart(o.Stage("calibrate", published)))
	}, []string{"features"}, true, true},
	{"vq-centred", "vq with steps of one size for any number of classes and slots, its start a candidate", func(o *Options) layers.Stateful {
		return layers.Train(o.Divide(), layers.Centred{Classes: o.classes()}, fromStart(o.Stage("calibrate", published)))
	}, []string{"features"}, true, true},
	{"vq-tuned", "vq-centred with slots and codewords chosen on validation rows", func(o *Options) layers.Stateful {
		return o.tuned()
	}, []string{"features"}, false, true},
	{"vq-rank", "vq with several receivers and senders for each codeword", func(o *Options) layers.Stateful {
		m := layers.Rank{Rank: o.Int("rank.rank", 2, 1, "1", "factors r of each codeword")}
		return layers.Train(o.Divide(), m, o.Stage("calibrate", published))
	}, []string{"features"}, true, true},
	OnCodewords("vq-diagonal", "vq with a diagonal of its own for each codeword", layers.Diagonal{}),
	OnCodewords("vq-tied", "vq with receivers and senders alike", layers.Tied{}),
	OnCodewords("vq-squareplus", "vq with an algebraic softplus", layers.Squareplus{}),
	OnCodewords("vq-regional-prior", "vq with a prior for each region", layers.Bilinear{Prior: layers.RegionalPrior{}}),
}

// anchorNeeds are the arrays that methods on a anchored.Anchor read.
var anchorNeeds = []string{"logits", "features"}
