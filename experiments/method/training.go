package method

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/layers/baselines"
	"calibra/optim"
)

// inside excludes 0, which package optim takes for its default.
var inside = Range{"number between 0 and 1", func(x float64) bool { return x > 0 && x < 1 }}

// schedules are what optim.schedule chooses from, besides constant.
var (
	schedules = map[string]optim.Schedule{
		"cosine": optim.Cosine{}, "warm-up": optim.WarmUp{}, "warm-up-cosine": optim.WarmUp{Then: optim.Cosine{}}, "one-cycle": optim.OneCycle{},
	}
	scheduleNames = append([]string{"constant"}, slices.Sorted(maps.Keys(schedules))...)
)

// Training is how a stage trains by default.
type Training struct {
	Decay float64 // weight decay, coupled
	Batch int     // rows of a step
	// Paper means that the paper, or the code behind its tables, trains the method so.
	Paper bool
	// Rule is the stage's own; the zero Rule lets the user choose one by optim.rule.
	Rule Rule
}

// Published is how the paper trains both stages of its calibrator, publishedNet the network behind Local Nets and its kernel
// calibration.
var (
	Published    = Training{Decay: 1e-3, Batch: 128, Paper: true}
	publishedNet = Training{Batch: 1024, Paper: true}
)

// Optim reads the settings optim.… of a method that trains in one stage: in minibatches by a rule, or by L-BFGS.
func (o *Options) Optim(stage string, t Training) optim.Method {
	return o.trained(stage, t, "optim.")
}

// Stage reads the settings of one of several stages: optim.… sets all of them, and
// divide.…, for the stage "divide", this one alone.
func (o *Options) Stage(stage string, t Training) optim.Method {
	return o.trained(stage, t, "optim.", stage+".")
}

// Minimize reads the settings optim.… of a method that minimizes a loss over all rows: by L-BFGS, or by the rule that the
// user names, which goes by that loss ([optim.Descent]).
func (o *Options) Minimize() optim.Method { return o.minimize(wholeRule) }

// How optim.rule names L-BFGS, and what a method alone has in place of a rule.
const (
	wholeRule     = "lbfgs"
	bisectionRule = "bisection"
	newtonRule    = "newton"
)

// ownRules are words of optim.rule that no rule may have.
var ownRules = []string{wholeRule, bisectionRule, newtonRule}

// minimize is Minimize of a method whose own way has another word, for which it gives nil and has no settings read.
func (o *Options) minimize(own string) optim.Method {
	names := slices.Compact([]string{own, wholeRule})
	switch name := o.Choice("optim.rule", own, append(names, o.Catalog.ruleNames(true)...), "", "optimizer; a rule of steps, such as adam, has settings of its own: calibra methods NAME --set optim.rule=adam lists them"); name {
	case wholeRule:
		return o.LBFGS()
	case own:
		return nil
	default:
		rule := o.Catalog.rule(name)
		if rule.Whole != nil {
			return o.wholly(rule, o.ruleSettings("", Training{}, "optim."))
		}
		return optim.Descent{Settings: o.training("minimize", Training{Batch: 128, Rule: rule}, "optim.")}
	}
}

// trained is the rule or L-BFGS that the last of the prefixes under which the user names one chooses.
func (o *Options) trained(stage string, t Training, prefixes ...string) optim.Method {
	if t.Rule.New != nil {
		return o.training(stage, t, prefixes...)
	}
	name := o.ruleOf(stage, t, prefixes, true)
	rule := o.Catalog.rule(name)
	switch {
	case name == wholeRule:
		o.whole = true
		return o.lbfgs(prefixes...)
	case rule.Whole != nil:
		o.whole = true
		return o.wholly(rule, o.ruleSettings(stage, t, prefixes...))
	}
	return o.training(stage, t, prefixes...)
}

// wholly is the method over all rows of a rule.
func (o *Options) wholly(rule Rule, known RuleSettings) optim.Method {
	m := rule.Whole(&known)
	if m == nil && o.err == nil {
		o.err = fmt.Errorf("the Whole of the rule %s gives no method", rule.Name)
	}
	return m
}

// ruleSettings read a rule's settings under every prefix; the last that the user set wins.
func (o *Options) ruleSettings(stage string, t Training, prefixes ...string) RuleSettings {
	return RuleSettings{decay: t.Decay, paper: t.paper, float: func(name string, def float64, in Range, paper, line string) float64 {
		for i, prefix := range prefixes {
			def = o.Float(prefix+name, def, in, paper, line+inStage(stage, i))
		}
		return def
	}}
}

// ruleOf is the name of the stage's rule. The codewords of a stage move with each of its steps, so that what goes over all rows
// cannot train it: named for all stages, it leaves this one its default.
func (o *Options) ruleOf(stage string, t Training, prefixes []string, whole bool) string {
	name := rules[0].Name
	for i, prefix := range prefixes {
		names := o.Catalog.ruleNames(whole || i == 0)
		if whole || i == 0 {
			names = append([]string{wholeRule}, names...)
		}
		if name = o.Choice(prefix+"rule", name, names, t.paper(rules[0].Name), "optimizer"+inStage(stage, i)); !whole && (name == wholeRule || o.Catalog.rule(name).Whole != nil) {
			name, o.stepped = rules[0].Name, true
		}
	}
	return name
}

// inStage is the words behind what a setting of the i-th prefix is.
func inStage(stage string, i int) string {
	if i == 0 {
		return ""
	}
	return " in stage " + stage
}

// paper is the value in the paper, where it trains the method so.
func (t Training) paper(value any) string {
	if t.Paper {
		return fmt.Sprint(value)
	}
	return ""
}

// training reads each setting of minibatches under every prefix; the last that the user set wins.
func (o *Options) training(stage string, t Training, prefixes ...string) optim.Settings {
	paper, where := t.paper, func(i int) string { return inStage(stage, i) }
	s := optim.Settings{Batch: t.Batch, Epochs: 100, Patience: 10, Executor: o.Executor}
	schedule, clip, average := "constant", 0.0, 0.0
	known := o.ruleSettings(stage, t, prefixes...)
	rule := t.Rule
	if rule.New == nil {
		rule = o.Catalog.rule(o.ruleOf(stage, t, prefixes, false))
	}
	if s.Rule = rule.New(&known); s.Rule == nil && o.err == nil {
		o.err = fmt.Errorf("the New of the rule %s gives no rule", rule.Name)
	}
	for i, prefix := range prefixes {
		s.Batch = o.Int(prefix+"batch", s.Batch, 1, paper(t.Batch), "rows of a step"+where(i))
		s.Epochs = o.Int(prefix+"epochs", s.Epochs, 1, paper(100), "epochs at most"+where(i))
		s.Patience = o.Int(prefix+"patience", s.Patience, 1, paper(10), "epochs without a better validation loss before it stops"+where(i))
		schedule = o.Choice(prefix+"schedule", schedule, scheduleNames, paper("constant"), "course of the learning rate"+where(i))
		clip = o.Float(prefix+"clip", clip, NonNegative, paper(0), "norm that gradients are clipped to"+where(i)+"; 0: none")
		average = o.Float(prefix+"average", average, Share, paper(0), "decay of the mean of the weights that is validated and kept"+where(i)+"; 0: none")
	}
	if by := schedules[schedule]; by != nil {
		s.Rule = optim.Chain{s.Rule, optim.Scheduled{By: by}}
	}
	if clip > 0 {
		s.Rule = optim.Chain{optim.Clip{Norm: clip}, s.Rule}
	}
	if average > 0 {
		s.Average = optim.EMA{Decay: average}
	}
	s = lasting(s, o.Epochs, stage)
	if o.Observe != nil {
		s.Observe, s.Norms = o.Observe(stage), true
	}
	return s
}

// lasting trains the stage for as many epochs as were found for it, if it is among them; 0
// keeps its start.
func lasting(s optim.Settings, found map[string]int, stage string) optim.Settings {
	if n, ok := found[stage]; ok {
		s.Epochs = n
		if n == 0 {
			s.Epochs = optim.NoEpochs
		}
	}
	return s
}

// LBFGS reads the settings optim.… of a method that is minimized over all rows at once.
func (o *Options) LBFGS() optim.LBFGS { return o.lbfgs("optim.") }

// lbfgs reads them under every prefix; the last that the user set wins.
func (o *Options) lbfgs(prefixes ...string) optim.LBFGS {
	s, chosen := optim.LBFGS{Gradient: 1e-6, Iterations: 2000, Executor: o.Executor}, false
	for _, prefix := range prefixes {
		s.Gradient = o.Float(prefix+"gradient", s.Gradient, Positive, "", "largest entry of the gradient to stop at")
		s.Iterations = o.Int(prefix+"iterations", s.Iterations, 1, "", "line searches at most")
		s.Store = o.Int(prefix+"store", s.Store, 0, "", "steps that L-BFGS remembers; 0: 20, or as many of 5 and more as take 128 MB")
		_, named := o.Values[prefix+"gradient"]
		chosen = chosen || named
	}
	if !chosen {
		s.Gradient = 0 // a cross-validation stops its fits earlier by default
	}
	return s
}

// fixedLBFGS reads those of the optimizer behind published temperatures.
func (o *Options) fixedLBFGS() optim.FixedLBFGS {
	return optim.FixedLBFGS{
		Rate:       o.Float("optim.rate", 1e-3, Positive, "", "length of a step"),
		Iterations: o.Int("optim.iterations", 1000, 1, "", "steps at most"),
		Executor:   o.Executor,
	}
}

// defaultSlots is the w that M features are cut into by default: the largest
// divisor of M up to 64, the paper's w.
func defaultSlots(features int) int {
	slots := 64
	for features%slots != 0 {
		slots--
	}
	return slots
}

// The settings that files of a run name apart, and studies vary.
const (
	SlotsKey     = "codebook.slots"
	CodewordsKey = "codebook.codewords"
	StartKey     = "codebook.start"
)

// slots reads w; the default is the largest divisor of M up to 64.
func (o *Options) slots() int {
	if o.Features > 0 {
		return o.Int(SlotsKey, defaultSlots(o.Features), 1, "64", "slots w that the features are cut into; must divide their number M")
	}
	return o.IntOr(SlotsKey, "largest divisor of M up to 64", 1, "64", "slots w that the features are cut into; must divide their number M")
}

// codeKinds are the codes that codebook.kind may name, the paper's first.
var codeKinds = []string{learnedCodes, drawnCodes, "kmeans", "one"}

// The codes that methods have by default: the paper's, or codewords drawn from the slots and never
// moved, where learning them was found to add nothing.
const (
	learnedCodes = "ema"
	drawnCodes   = "random"
)

// defaultCodewords is K, and so the fewest calibration rows of a method that divides.
const defaultCodewords = 64

// codebook reads the settings codebook.… of every method that divides, whose codes are of that
// kind by default.
func (o *Options) codebook(kind string) layers.Codes {
	return o.centred(o.codes(o.Int(CodewordsKey, defaultCodewords, 1, "64", "codewords K that all slots share"), kind, 0))
}

// centred reads what is taken from features before c sees them.
func (o *Options) centred(c layers.Codes) layers.Codes {
	if o.Choice("codebook.centre", "common", []string{"common", "column"}, "common", centres) == "column" {
		return layers.ByColumn{Codes: c}
	}
	return c
}

const centres = "what is taken from features before slots are compared: one mean of all slots, which changes no distance, or the mean of each column"

// codes reads the kind of K codewords and how far they are softened, with the defaults of a method.
func (o *Options) codes(k int, kind string, softness float64) layers.Codes {
	var c layers.Codes
	switch o.Choice("codebook.kind", kind, codeKinds, "ema", "codes: moving averages; slots drawn at random; k-means; a single codeword") {
	case "random":
		c = layers.Fixed{Codewords: k}
	case "kmeans":
		c = layers.KMeans{Codewords: k}
	case "one":
		c = o.averages(1)
	default:
		c = o.averages(k)
	}
	softness = o.Float("codebook.softness", softness, NonNegative, "0", "how softly a slot is assigned: the temperature, in units of the mean distance from the nearest codeword to the second; 0: to one codeword; otherwise codebook.nearest applies")
	switch _, given := o.Values[nearestKey]; {
	case softness > 0:
		c = layers.Soft{Of: c, Softness: softness, Nearest: o.Int(nearestKey, 8, 1, "", "codewords that a slot is shared out among")}
	case given:
		o.err = cmp.Or(o.err, errNotSoft)
	}
	if o.Choice("codebook.twin", "none", []string{"none", "random"}, "none", "random: a control, the same codes on random codewords that never move") == "random" {
		c = c.Twin()
	}
	return c
}

// nearestKey is the setting that soft codes alone have.
const nearestKey = "codebook.nearest"

var errNotSoft = data.Inputf("", "%s is of soft codes alone, and these are not; set codebook.softness above 0 too, or leave it out", nearestKey)

// one reads the settings of a codebook, of which it leaves a single codeword.
func (o *Options) one() layers.Codes {
	o.codebook(learnedCodes)
	return o.centred(o.averages(1))
}

// averages reads how K codewords move.
func (o *Options) averages(k int) layers.Codebook {
	c := layers.Codebook{
		Codewords: k, Decay: o.Float("codebook.decay", 0.99, inside, "0.99", "decay γ of the codebook's moving averages"),
	}
	if o.Choice(StartKey, "warm", []string{"warm", "zero"}, "zero", "what the averages start from: the initial codewords or zero") == "zero" {
		c.Start = layers.ZeroStart{}
	}
	return c
}

// Divide is the paper's stage 1.
func (o *Options) Divide() *layers.Divide {
	return &layers.Divide{Slots: o.slots(), Codebook: o.codebook(learnedCodes), Optim: o.training("divide", Published, "optim.", "divide.")}
}

// fromStart lets the start of a stage be the best by validation loss; no loss of L-BFGS ends above that of the start.
func fromStart(m optim.Method) optim.Method {
	if s, steps := m.(optim.Settings); steps {
		s.KeepStart = true
		return s
	}
	return m
}

// temperaturePrior is the standard deviation of a prior of log T, 0 where there is none.
func (o *Options) temperaturePrior() float64 {
	if s := o.FloatOr("temperature.prior", "none", Positive, "none", "standard deviation s of a prior log T ~ N(0, s²), which draws T toward 1; try .2 where the classifier hardly errs"); s != nil {
		return *s
	}
	return 0
}

// anchor is the original head on a divided space, whose codes are of that kind by default.
func (o *Options) anchor(kind string) *anchored.Anchor {
	return &anchored.Anchor{Slots: o.slots(), Codebook: o.codebook(kind), Passes: o.Int("codebook.passes", 10, 1, "", "passes of the codebook over the calibration rows")}
}

// joint is the joint correction, whose codes are of that kind by default.
func (o *Options) joint(kind string) *anchored.Joint {
	slots := o.IntsOr("joint.slots", "largest divisors of M up to 64 and up to 32", "", "slots w to choose from, each with its number of codewords")
	codewords := o.IntsOr("joint.codewords", "64 and 256", "", "codewords K to choose from, as many numbers as joint.slots has")
	if len(slots) != len(codewords) && o.err == nil {
		o.err = data.Inputf("", "joint.slots has %d numbers and joint.codewords %d; give as many of both", len(slots), len(codewords))
	}
	of := func(k int) layers.Codes { return layers.Scaled{Of: o.codes(k, kind, 1)} }
	of(64)
	s := anchored.JointSettings{
		Base: func(d layers.Division) layers.Base {
			return &anchored.Anchor{Slots: d.Slots, Codebook: of(d.Codewords)}
		},
		Folds: o.Int("search.folds", 4, 2, "", searchFolds), Rows: o.searchRows(), Method: o.Minimize(),
		Spreads: o.spreads(1./32, 1./2, 256),
	}
	for i, w := range slots[:min(len(slots), len(codewords))] {
		s.Divisions = append(s.Divisions, layers.Division{Slots: w, Codewords: codewords[i]})
	}
	return anchored.NewJoint(s)
}

// spreads are the priors that the anchored maps try.
func (o *Options) spreads(smallest, first, largest float64) anchored.SpreadGrid {
	return anchored.SpreadGrid{
		Smallest: o.Float("search.smallest", smallest, Positive, "", "smallest standard deviation of a correction's prior to try, in nats"),
		First:    o.Float("search.first", first, Positive, "", "the standard deviation to try first; each next one is twice or half as large"),
		Largest:  o.Float("search.largest", largest, Positive, "", "the largest to try"),
	}
}

// bilinear is the paper's map, of the classes that p̂ ranks first where the user chooses so.
func (o *Options) bilinear() layers.Map {
	var m layers.Bilinear
	if o.Choice("bilinear.scale", "unit", []string{"unit", "learned"}, "unit", "slot scales σ²: 1, or learned") == "learned" {
		m.Scale = layers.LearnedScale{}
	}
	switch o.Choice("bilinear.prior", "learned", []string{"learned", "counts", "uniform"}, "learned", "prior π of the classes: learned, their shares, or uniform") {
	case "counts":
		m.Prior = layers.CountPrior{}
	case "uniform":
		m.Prior = layers.UniformPrior{}
	}
	return m
}

// Measuring are the settings of metrics among v.
func Measuring(v Values) (metrics.Settings, error) {
	o := Options{Values: v}
	m := o.measuring()
	return m, o.err
}

// measuring reads what the metrics are measured with, which is no matter of the method.
func (o *Options) measuring() metrics.Settings {
	s := metrics.Settings{
		Bins:      o.Int("metrics.bins", 15, 1, "15", "bins of the probabilities"),
		Bandwidth: o.Float("metrics.bandwidth", 10, Positive, "10", "bandwidth γ of the local metrics' kernel, in the embedding's units"),
		SmallBin:  o.Int("metrics.small_bin", 20, 0, "20; ConvNeXt and ViT 10", "local bins of so many rows or fewer are skipped"),
	}
	if s.SmallBin == 0 {
		s.SmallBin = metrics.NoSmallBin
	}
	return s
}

// net reads the settings of the published similarity network, which Local Nets and the
// paper's kernel calibration share.
func (o *Options) net() (hidden int, dropout *float64, sigma float64) {
	return o.IntOr("net.hidden", "64 up to 10 classes, else 128", 1, "64; CIFAR-100 128; TissueMNIST 256", "width of the hidden layer"),
		o.FloatOr("net.dropout", "0.3 up to 10 classes, else 0.5", Share, "0.3; CIFAR-100 0.5", "dropout rate of the hidden layer"),
		o.Float("net.bandwidth", 10, Positive, "10", "bandwidth σ of the kernel")
}

// neighbours reads ProCal's K.
func (o *Options) neighbours() int {
	return o.Int("procal.neighbours", 50, 1, "", "calibration rows that a row's proximity is taken from")
}

// odirGrid are the strengths that ODIR chooses from.
func (o *Options) odir() *baselines.DirichletODIR {
	return &baselines.DirichletODIR{
		Grid:  o.Floats("odir.strengths", []float64{10, 1, 1e-1, 1e-2, 1e-3}, NonNegative, "", "penalties λ and μ to choose from"),
		Folds: o.Int("odir.folds", 3, 2, "", "folds of the cross-validation that chooses them"),
		Optim: o.newton(),
	}
}

// newtonOr is Newton's method, or the rule that the user names.
func (o *Options) newtonOr() optim.Method {
	if m := o.minimize(newtonRule); m != nil {
		return m
	}
	return o.newton()
}

// newton reads the settings optim.… of a method that is minimized by Newton's.
func (o *Options) newton() optim.Newton {
	s := optim.Newton{
		Gradient:   o.Float("optim.gradient", 1e-6, Positive, "", "largest entry of the gradient to stop at"),
		Iterations: o.Int("optim.iterations", 100, 1, "", "steps at most"),
	}
	if _, chosen := o.Values["optim.gradient"]; !chosen {
		s.Gradient = 0 // a cross-validation stops its fits earlier by default
	}
	return s
}
