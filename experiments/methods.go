package experiments

import (
	"slices"
	"strings"

	"calibra/data"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/layers/baselines"
	"calibra/optim"
)

// Options are what a method can be told; a method ignores what is not its own.
type Options struct {
	Slots     int    // w; 0: 64
	Codewords int    // K; 0: 64
	EMA       string // "warm" (the default) or "zero", as published
	// Observe gives an observer for each stage of a fit that runs in epochs; nil
	// for none.
	Observe func(stage string) func(optim.Epoch)
	// Epochs fixes how long a stage trains; a stage not named trains as long as its
	// validation loss asks for, 100 epochs at most.
	Epochs map[string]int
}

func (o Options) optim(stage string) optim.Settings {
	s := optim.Settings{Epochs: o.Epochs[stage]}
	if o.Observe != nil {
		s.Observe = o.Observe(stage)
	}
	return s
}

func (o Options) divide() *layers.Divide {
	book := layers.Codebook{Codewords: o.Codewords}
	if o.EMA == "zero" {
		book.Start = layers.ZeroStart{}
	}
	return &layers.Divide{Slots: o.Slots, Codebook: book, Optim: o.optim("divide")}
}

func (o Options) anchor() *anchored.Anchor {
	return &anchored.Anchor{Slots: o.Slots, Codebook: o.divide().Codebook}
}

// corrected fits m, its prior cross-validated.
func corrected(name string, m layers.Map) func(Options) layers.Stateful {
	return func(o Options) layers.Stateful {
		return &anchored.Auto{Base: o.anchor(), Candidates: []anchored.Candidate{{Name: name, Map: m}}}
	}
}

// Method is one way to calibrate, by the name that commands and tables use.
type Method struct {
	Name string // "vq"
	Line string // what it is, in one line
	New  func(Options) layers.Stateful
	// Needs are the arrays of every part that it reads, besides labels.
	Needs []string
	// Divides tells whether it cuts the features into slots, and so minds Slots,
	// Codewords and EMA.
	Divides bool
	// StopsEarly tells whether it needs validation rows to know when to stop.
	StopsEarly bool
}

// Methods lists all methods, the paper's first.
var Methods = []Method{
	{"vq", "the paper's calibrator: quantized head, then a bilinear Dirichlet map for each region", func(o Options) layers.Stateful {
		return layers.Train(o.divide(), layers.Bilinear{}, o.optim("calibrate"))
	}, []string{"features"}, true, true},
	{"vq-nc", "the quantized head alone, not calibrated", func(o Options) layers.Stateful {
		return layers.Train(o.divide(), layers.Identity{}, optim.Settings{})
	}, []string{"features"}, true, true},
	{"vq-dc", "the quantized head with one global Dirichlet map", func(o Options) layers.Stateful {
		return layers.Train(o.divide(), layers.Dirichlet{}, o.optim("calibrate"))
	}, []string{"features"}, true, true},
	{"nc", "not calibrated: the classifier as it is", func(Options) layers.Stateful {
		return layers.Train(&layers.Original{}, layers.Identity{}, optim.Settings{})
	}, []string{"logits"}, false, false},
	{"ts", "temperature scaling: one number for all logits", func(Options) layers.Stateful {
		return &layers.Temperature{}
	}, []string{"logits"}, false, false},

	{"ir", "isotonic regression of each class against the rest", func(Options) layers.Stateful {
		return &baselines.Isotonic{}
	}, []string{"logits"}, false, false},
	{"ps", "Platt scaling: a logistic regression on the probabilities for each class", func(Options) layers.Stateful {
		return &baselines.Platt{}
	}, []string{"logits"}, false, false},
	{"dc", "Dirichlet calibration by maximum likelihood", func(Options) layers.Stateful {
		return &baselines.Dirichlet{}
	}, []string{"logits"}, false, false},
	{"dc-odir", "Dirichlet calibration, off-diagonal and intercept penalized, strengths cross-validated", func(Options) layers.Stateful {
		return &baselines.DirichletODIR{}
	}, []string{"logits"}, false, false},
	{"sm", "structured matrix scaling", func(Options) layers.Stateful {
		return &baselines.Structured{}
	}, []string{"logits"}, false, false},
	{"kc", "kernel calibration as the paper runs it: Local Nets' similarity, trained alone", func(o Options) layers.Stateful {
		return &baselines.Kernel{Optim: o.optim("train")}
	}, []string{"features", "logits"}, false, true},
	{"kc-original", "kernel calibration as its authors have it (KCal)", func(o Options) layers.Stateful {
		return &baselines.KCal{Optim: o.optim("train")}
	}, []string{"features", "logits"}, false, true},
	{"ln", "Local Nets: a new head that agrees with its neighbourhood", func(o Options) layers.Stateful {
		return &baselines.LocalNets{Optim: o.optim("train")}
	}, []string{"features", "logits"}, false, true},
	{"pc", "ProCal: density ratio over confidence and proximity", func(Options) layers.Stateful {
		return &baselines.ProCal{}
	}, []string{"features", "logits"}, false, false},
	{"pc-bins", "ProCal by bin-mean-shift: an isotonic map of the confidence for each range of proximity", func(Options) layers.Stateful {
		return &baselines.ProCalBins{}
	}, []string{"features", "logits"}, false, false},
	{"vector", "vector scaling: a scale and an offset for each class", func(Options) layers.Stateful {
		return &baselines.Vector{}
	}, []string{"logits"}, false, false},
	{"histogram", "histogram binning of each class against the rest", func(Options) layers.Stateful {
		return &baselines.Histogram{}
	}, []string{"logits"}, false, false},
	{"beta", "beta calibration of each class against the rest", func(Options) layers.Stateful {
		return &baselines.Beta{}
	}, []string{"logits"}, false, false},
	{"local-ts", "local temperature scaling: a temperature for each row, from its features", func(Options) layers.Stateful {
		return &baselines.LocalTemperature{}
	}, []string{"features", "logits"}, false, false},
	{"ts-published", "temperature scaling by the published optimizer, which stops short", func(Options) layers.Stateful {
		return &baselines.PublishedTemperature{}
	}, []string{"logits"}, false, false},
	{"dc-published", "Dirichlet calibration by the published optimizer, which stops short", func(Options) layers.Stateful {
		return &baselines.PublishedDirichlet{}
	}, []string{"logits"}, false, false},

	{"order-preserving", "one increasing function of every logit", corrected("order-preserving", anchored.OrderPreserving{}), anchorNeeds, true, false},
	{"anchored", "the original logits at one temperature, corrected by codewords", corrected("anchored", anchored.Corrected{}), anchorNeeds, true, false},
	{"anchored-dirichlet", "a shrunk global Dirichlet map of the original logits, corrected by codewords", corrected("anchored-dirichlet", anchored.Corrected{On: anchored.ShrunkDirichlet{}}), anchorNeeds, true, false},
	{"anchored-head", "the same, codewords near each other corrected alike", corrected("anchored-head", anchored.Corrected{On: anchored.SlotHead{On: anchored.ShrunkDirichlet{}}}), anchorNeeds, true, false},
	{"anchored-bilinear", "the paper's bilinear map on the original head at one temperature", func(o Options) layers.Stateful {
		return layers.Train(o.anchor(), layers.Bilinear{}, o.optim("calibrate"))
	}, anchorNeeds, true, true},
	{"local-temperature", "a temperature for each region, from its codewords", corrected("local-temperature", anchored.LocalTemperature{}), anchorNeeds, true, false},
	{"gated", "one temperature, mixed with the anchored map by the support of the region", corrected("gated", anchored.Gated{}), anchorNeeds, true, false},
	{"auto", "the best of the anchored maps by cross-validation, the simplest within one standard error", func(o Options) layers.Stateful {
		return &anchored.Auto{Base: o.anchor(), Candidates: anchored.Maps()}
	}, anchorNeeds, true, false},
	{"stacked", "the anchored maps mixed, each by what it adds to the others in cross-validation", func(o Options) layers.Stateful {
		return &anchored.Stack{Base: o.anchor(), Candidates: anchored.Maps()}
	}, anchorNeeds, true, false},
}

// anchorNeeds are the arrays that methods on a anchored.Anchor read.
var anchorNeeds = []string{"logits", "features"}

// Beyond names the methods that no paper has published. They choose their priors by
// cross-validation, which takes longer than a fit, so "all" methods leave them out.
var Beyond = []string{"auto", "stacked", "order-preserving", "anchored", "anchored-dirichlet", "anchored-head", "anchored-bilinear", "local-temperature", "gated"}

// MethodByName finds a method; an unknown name is a *data.InputError that lists
// the known ones.
func MethodByName(name string) (Method, error) {
	i := slices.IndexFunc(Methods, func(m Method) bool { return m.Name == name })
	if i < 0 {
		var names []string
		for _, m := range Methods {
			names = append(names, m.Name)
		}
		return Method{}, data.Inputf("", "there is no method %q; choose one of %s", name, strings.Join(names, ", "))
	}
	return Methods[i], nil
}

// LoadModel reads a model file and restores the calibrator in it.
func LoadModel(path string) (layers.Stateful, Method, error) {
	file, err := layers.ReadModel(path)
	if err != nil {
		return nil, Method{}, err
	}
	method, err := MethodByName(file.Method)
	if err != nil {
		return nil, Method{}, data.Inputf(path, "%w", err)
	}
	c := method.New(Options{})
	if err := file.Restore(c); err != nil {
		return nil, Method{}, data.Inputf(path, "%w", err)
	}
	return c, method, nil
}
