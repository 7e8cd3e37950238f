package method

import (
	"slices"

	"calibra/data"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/layers/baselines"
	"calibra/optim"
)

// Methods lists all methods, the paper's first.
var All = slices.Concat(papers, beyond, controls)

// costOfVQ is that of the paper's calibrator and its likes.
var costOfVQ = Cost{2.2, 0, .08, 2.5}

// papers are the methods that papers have published, the paper's own first.
var papers = []Method{
	{
		Name: "vq", Group: Paper, Reference: "Divide et Calibra",
		Line:  "the paper's calibrator: quantized head, then a bilinear Dirichlet map for each region",
		Needs: onFeatures, StopsEarly: true, Cost: costOfVQ,
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), o.bilinear(), o.Stage("calibrate", Published))
		},
	},
	{
		Name: "vq-nc", Group: Paper, Reference: "Divide et Calibra",
		Line:  "the quantized head alone, not calibrated",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{1.6, 0, .1, 1},
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), layers.Identity{}, optim.Settings{})
		},
	},
	{
		Name: "vq-dc", Group: Paper, Reference: "Divide et Calibra",
		Line:  "the quantized head with one global Dirichlet map",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{1.9, 0, .06, 1.5},
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), layers.Dirichlet{}, o.Stage("calibrate", Published))
		},
	},
	{
		Name: "nc", Group: Baseline,
		Line:  "not calibrated: the classifier as it is",
		Needs: onLogits, Cost: Moment,
		New: func(o *Options) layers.Stateful {
			return layers.Train(&layers.Original{}, layers.Identity{}, optim.Settings{})
		},
	},
	{
		Name: "ts", Group: Baseline, Reference: "Guo et al. 2017",
		Line:  "temperature scaling: one number for all logits",
		Needs: onLogits, Cost: Moment,
		New: func(o *Options) layers.Stateful {
			t := &layers.Temperature{Method: o.minimize(bisection)}
			if s := o.FloatOr("temperature.prior", "none", Positive, "none", "standard deviation s of a prior "+
				"log T ~ N(0, s²), which draws T toward 1; try .2 where the classifier hardly errs"); s != nil {
				t.Prior = *s
			}
			return t
		},
	},

	{
		Name: "ir", Group: Baseline, Reference: "Zadrozny and Elkan 2002",
		Line:  "isotonic regression of each class against the rest",
		Needs: onLogits, Cost: Moment,
		New: func(o *Options) layers.Stateful { return baselines.Isotonic() },
	},
	{
		Name: "ps", Group: Baseline, Reference: "Platt 1999",
		Line:  "Platt scaling: a sigmoid of each class's score",
		Needs: onLogits, Cost: Cost{.12, .08, .125, 2.5},
		New: func(o *Options) layers.Stateful {
			method := o.Minimize()
			c := o.FloatOr("platt.C", "none", Positive, "1",
				"inverse strength of a penalty on a regression of all probabilities, as the paper's tables have it; none is Platt's sigmoid")
			if c != nil {
				return baselines.PlattVector(*c, method)
			}
			return baselines.Platt(method)
		},
	},
	{
		Name: "dc", Group: Baseline, Reference: "Kull et al. 2019",
		Line:  "Dirichlet calibration by maximum likelihood",
		Needs: onLogits, Cost: Cost{.06, 0, .28, 2.5},
		New: func(o *Options) layers.Stateful { return &baselines.Dirichlet{Method: o.Minimize()} },
	},
	{
		Name: "dc-odir", Group: Baseline, Reference: "Kull et al. 2019",
		Line:  "Dirichlet calibration, off-diagonal and intercept penalized, strengths cross-validated",
		Needs: onLogits, Cost: Cost{.46, .13, .48, 2.5},
		New: func(o *Options) layers.Stateful {
			return &baselines.DirichletODIR{
				Grid:  o.Floats("odir.strengths", []float64{10, 1, 1e-1, 1e-2, 1e-3}, NonNegative, "", "penalties λ and μ to choose from"),
				Folds: o.Int("odir.folds", 3, 2, "", "folds of the cross-validation that chooses them"),
				Optim: (&RuleSettings{of: o, prefixes: []string{optimPrefix}}).newton(),
			}
		},
	},
	{
		Name: "sm", Group: Baseline, Reference: "Berta et al. 2025",
		Line:  "structured matrix scaling",
		Needs: onLogits, Cost: Cost{.04, 0, .024, 2}, Penalized: true,
		New: func(o *Options) layers.Stateful {
			return baselines.Structured(o.minimize(newton), o.Float("sm.strength", 1, Positive, "1", "what the published penalties are multiplied by"))
		},
	},
	{
		Name: "sv", Group: Baseline, Reference: "Berta et al. 2025",
		Line:  "structured vector scaling",
		Needs: onLogits, Cost: Moment, Penalized: true,
		New: func(o *Options) layers.Stateful {
			return baselines.StructuredVector(o.Minimize(), o.Float("sv.strength", 1, Positive, "1", "what the published penalties are multiplied by"))
		},
	},
	{
		Name: "kc", Group: Baseline, Reference: "Lin, Trivedi and Sun 2023, as the paper runs it",
		Line:  "kernel calibration as the paper runs it: Local Nets' similarity, trained alone",
		Needs: onBoth, StopsEarly: true, Cost: Cost{22, 0, 0, 0},
		Weighing: "a row enters each kernel sum by its weight",
		New: func(o *Options) layers.Stateful {
			hidden, dropout, sigma := o.net()
			k := &baselines.Kernel{Hidden: hidden, Dropout: dropout, Sigma: sigma, Method: o.Optim("train", publishedNet)}
			by := o.Choice("kernel.rows", "calibration", []string{"calibration", "validation", "all"}, "validation",
				"rows whose labels are averaged: those it is trained on, those that stop the training, or both")
			if by != "calibration" {
				k.By = baselines.KernelRows(by)
			}
			return k
		},
	},
	{
		Name: "kc-original", Group: Baseline, Reference: "Lin, Trivedi and Sun 2023",
		Line:  "kernel calibration as its authors have it (KCal)",
		Needs: onBoth, StopsEarly: true, Cost: Cost{0, 5, 8, .7},
		Weighing: "a row enters each kernel sum by its weight",
		New: func(o *Options) layers.Stateful {
			return &baselines.KCal{
				Dimensions: o.Int("kcal.dimensions", 32, 1, "", "width of the learned projection"),
				Bandwidth:  o.Float("kcal.bandwidth", 1, Positive, "", "bandwidth h₀ of the kernel in training; it is chosen from a tenth to ten times that afterwards"),
				Folds:      o.Int("kcal.folds", 20, 2, "", "folds of the cross-validation that chooses it"),
				Method:     o.Optim("train", Training{Batch: 64}),
			}
		},
	},
	{
		Name: "ln", Group: Baseline, Reference: "Barbera et al. 2025",
		Line:  "Local Nets: a new head that agrees with its neighbourhood",
		Needs: onBoth, StopsEarly: true, Cost: Cost{28, 8, 0, 0},
		Weighing: "a row enters each kernel sum by its weight, which multiplies its loss too",
		New: func(o *Options) layers.Stateful {
			hidden, dropout, sigma := o.net()
			return &baselines.LocalNets{
				Hidden: hidden, Dropout: dropout, Sigma: sigma, Method: o.Optim("train", publishedNet),
				Lambda: o.Float("net.lambda", 1, Positive, "1", "weight λ of the distance to the neighbourhood's labels"),
			}
		},
	},
	{
		Name: "pc", Group: Baseline, Reference: "Xiong et al. 2023",
		Line:  "ProCal: density ratio over confidence and proximity",
		Needs: onBoth, Cost: Cost{0, 2.2, .024, 1.5},
		Weighing: "a row enters each density by its weight, and its neighbours are rows alike",
		New: func(o *Options) layers.Stateful {
			return &baselines.ProCal{Neighbours: o.Int("procal.neighbours", 50, 1, "",
				"calibration rows that a row's proximity is taken from")}
		},
	},
	{
		Name: "vector", Group: Baseline, Reference: "Guo et al. 2017",
		Line:  "vector scaling: a scale and an offset for each class",
		Needs: onLogits, Cost: Cost{.11, .05, .031, 3},
		New: func(o *Options) layers.Stateful {
			return baselines.Vector(o.Minimize(), o.Float("vector.strength", 0, NonNegative, "0", "penalty λ of scales and offsets; 0 is maximum likelihood"))
		},
	},
	{
		Name: "histogram", Group: Baseline, Reference: "Zadrozny and Elkan 2001",
		Line:  "histogram binning of each class against the rest",
		Needs: onLogits, Cost: Moment,
		Weighing: "its bins hold equal weight, and a bin's frequency is that of its weight",
		New: func(o *Options) layers.Stateful {
			return baselines.Histogram(o.Int("histogram.bins", 15, 1, "", "bins of each class"))
		},
	},
	{
		Name: "beta", Group: Baseline, Reference: "Kull, Silva Filho and Flach 2017",
		Line:  "beta calibration of each class against the rest",
		Needs: onLogits, Cost: Cost{0, .2, .12, 2.5},
		New: func(o *Options) layers.Stateful { return baselines.Beta(o.Minimize()) },
	},
	{
		Name: "ets", Group: Baseline, Reference: "Zhang, Kailkhura and Han 2020",
		Line:  "ensemble temperature scaling: two temperatures and the uniform distribution, mixed",
		Needs: onLogits, Cost: Moment,
		New: func(o *Options) layers.Stateful { return &baselines.EnsembleTemperature{} },
	},
	{
		Name: "spline", Group: Baseline, Reference: "Gupta et al. 2021",
		Line:  "splines: the derivative of the cumulated frequency of each class against the rest",
		Needs: onLogits, Cost: Moment,
		Weighing: "its quantiles are those of the weight, and its least squares are weighted",
		New: func(o *Options) layers.Stateful {
			return baselines.Spline(o.Int("spline.knots", 6, 3, "6", "knots of each class's spline"))
		},
	},
	{
		Name: "venn-abers", Group: Baseline, Reference: "Vovk, Petej and Fedorova 2015",
		Line:  "Venn–Abers predictors of each class against the rest",
		Needs: onLogits, Cost: Moment,
		Weighing: "rows enter isotonic regression by their weights, of mean 1, and the new row by 1; its validity is proved for rows of equal weight",
		New:      func(o *Options) layers.Stateful { return &baselines.VennAbers{} },
	},
	{
		Name: "local-ts", Group: Baseline, Reference: "Ding et al. 2021",
		Line:  "local temperature scaling: a temperature for each row, from its features",
		Needs: onBoth, Cost: Cost{0, 1.2, .03, 1.5},
		New: func(o *Options) layers.Stateful { return baselines.LocalTemperature(o.Minimize()) },
	},
	{
		Name: "ts-published", Group: Baseline, Reference: "Guo et al. 2017",
		Line:  "temperature scaling by the published optimizer, which stops before the optimum",
		Needs: onLogits, Cost: Cost{.4, .6, .8, 1.5},
		New: func(o *Options) layers.Stateful {
			return baselines.PublishedTemperature(o.fixedLBFGS())
		},
	},
	{
		Name: "dc-published", Group: Baseline, Reference: "Kull et al. 2019",
		Line:  "Dirichlet calibration by the published optimizer, which stops before the optimum",
		Needs: onLogits, Cost: Cost{.3, 2, 1.2, 1.5},
		New: func(o *Options) layers.Stateful {
			return baselines.PublishedDirichlet(o.fixedLBFGS())
		},
	},
}

// beyond are those that no paper has: maps on the original logits, which choose their priors by
// cross-validation, and variants of vq.
var beyond = []Method{
	{
		Name: "anchored-bilinear", Title: "Anchored bilinear", Group: Variant,
		Line:  "the paper's bilinear map on the original head at one temperature",
		Needs: onBoth, StopsEarly: true, Cost: Cost{.3, 0, .6, 1},
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.anchor(learnedCodes), o.bilinear(), o.Stage("calibrate", Published))
		},
	},
	{
		Name: "corrected", Title: "Corrected", Group: Variant,
		Line:  "one joint correction of the classifier's scores: a linear map of the features, and tables for soft codes on random codewords",
		Draws: true, Needs: onBoth, Cost: Cost{26, 0, 19, .5},
		New: func(o *Options) layers.Stateful { return o.joint(drawnCodes) },
	},

	{
		Name: "pool", Title: "Pool", Group: Recommended,
		Line:  "a log-linear pool of other methods, weighted by what they say of rows whose labels they have not seen",
		Draws: true, Needs: onBoth, Cost: Cost{28, 0, 19, .5},
		New: func(o *Options) layers.Stateful { return o.pool() },
	},
	{
		Name: "forest", Title: "Forest", Group: Variant,
		Line:  "extremely randomized trees of the features and the logits, pooled with temperature scaling by rows out of bag",
		Draws: true, Needs: onBoth, Cost: Cost{0, 6, 1.3, .5},
		New: func(o *Options) layers.Stateful {
			return &baselines.Forest{Trees: o.Int("forest.trees", 300, 1, "", "trees, or as many as 20 MB hold")}
		},
	},

	{
		Name: "vq-start", Group: Variant,
		Line:  "vq whose early stopping may return to the start, the quantized head alone",
		Needs: onFeatures, StopsEarly: true, Cost: costOfVQ,
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), o.bilinear(), fromStart(o.Stage("calibrate", Published)))
		},
	},
	{
		Name: "vq-centred", Group: Variant,
		Line:  "vq-start with steps whose size does not depend on the numbers of classes and slots",
		Needs: onFeatures, StopsEarly: true, Cost: costOfVQ,
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), layers.Centred{}, fromStart(o.Stage("calibrate", Published)))
		},
	},
	{
		Name: "vq-rank", Group: Variant,
		Line:  "vq with several receivers and senders for each codeword",
		Needs: onFeatures, StopsEarly: true, Cost: costOfVQ,
		New: func(o *Options) layers.Stateful {
			m := layers.Rank{Rank: o.Int("rank.rank", 2, 1, "1", "factors r of each codeword")}
			return layers.Train(o.Divide(), m, o.Stage("calibrate", Published))
		},
	},
	{
		Name: "vq-residual", Group: Variant,
		Line:  "vq on residual codes: each slot the sum of codewords of several levels",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{4.5, 0, .5, 2},
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.divide(residualCodes), o.bilinear(), o.Stage("calibrate", Published))
		},
	},
	variant("vq-diagonal", "vq with a diagonal of its own for each codeword", layers.Diagonal{}),
	variant("vq-tied", "vq whose receivers equal its senders", layers.Tied{}),
}

// variant is vq with another map.
func variant(name, line string, of layers.Map) Method {
	m := OnCodewords(name, line, of)
	m.Group, m.Cost = Variant, costOfVQ
	return m
}

// controls are methods that take something away from another one, to show where its gain
// comes from. They are at the end of Methods.
var controls = []Method{
	{
		Name: "new-head", Title: "New head", Group: Control,
		Line:  "control: a new last layer on the unquantized features with the logits, penalized",
		Needs: onBoth, Cost: Cost{0, 20, 7, 1.5},
		New: func(o *Options) layers.Stateful {
			strength := o.Float("head.strength", 10, Positive, "", "penalty λ of the new layer's weights")
			return baselines.LastLayer(o.Minimize(), strength)
		},
	},
	{
		Name: "vq-random", Group: Control,
		Line:  "control: vq on random codewords that never move",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{1.8, 0, .4, 2},
		New: func(o *Options) layers.Stateful {
			divide := o.Divide()
			divide.Codebook = divide.Codebook.Twin()
			return layers.Train(divide, o.bilinear(), o.Stage("calibrate", Published))
		},
	},
	{
		Name: "vq-one", Group: Control,
		Line:  "control: vq on a single codeword",
		Needs: onFeatures, StopsEarly: true, Cost: Cost{1.9, 0, 0, 0},
		New: func(o *Options) layers.Stateful {
			divide := o.Divide()
			divide.Codebook = o.one()
			return layers.Train(divide, o.bilinear(), o.Stage("calibrate", Published))
		},
	},
	{
		Name: "corrected-learned", Title: "Corrected learned", Group: Control,
		Line:  "control: corrected on codewords placed by k-means",
		Draws: true, Needs: onBoth, Cost: Cost{26, 0, 19, .5},
		New: func(o *Options) layers.Stateful { return o.joint("kmeans") },
	},
}

// pool pools methods of the catalog.
func (o *Options) pool() layers.Stateful {
	p := &anchored.Pool{}
	for _, name := range o.words("pool.members", []string{"corrected", "forest"}, "methods that are pooled") {
		m, err := o.member(name, p.Members)
		if err != nil {
			if o.err == nil {
				o.err = err
			}
			continue
		}
		p.Members = append(p.Members, anchored.Member{Name: name, Of: m.New(o), Cost: m.Cost.Of(1e4, 512, 10)})
	}
	return p
}

// member is the method of that name, an error where a pool with these members cannot have it.
func (o *Options) member(name string, before []anchored.Member) (Method, error) {
	m, err := data.Find("method", name, o.Catalog.List(), func(m Method) string { return m.Name })
	switch {
	case err != nil:
		return m, err
	case slices.ContainsFunc(before, func(m anchored.Member) bool { return m.Name == name }) || name == "pool":
		return m, data.Inputf("", "pool.members has %s, which is there already or is the pool; name each method once", name)
	case m.StopsEarly:
		return m, data.Inputf("", "pool.members has %s, which stops early by validation rows; a pool takes methods that are fitted to all rows", name)
	}
	return m, nil
}

// net reads the settings of the published similarity network, which Local Nets and the
// paper's kernel calibration share.
func (o *Options) net() (hidden int, dropout *float64, sigma float64) {
	return o.IntOr("net.hidden", "64 up to 10 classes, else 128", 1, "64; CIFAR-100 128; TissueMNIST 256", "width of the hidden layer"),
		o.FloatOr("net.dropout", "0.3 up to 10 classes, else 0.5", Share, "0.3; CIFAR-100 0.5", "dropout rate of the hidden layer"),
		o.Float("net.bandwidth", 10, Positive, "10", "bandwidth σ of the kernel")
}
