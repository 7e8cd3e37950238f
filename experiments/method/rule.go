package method

import (
	"slices"

	"calibra/data"
	"calibra/optim"
)

// Rule is an optimizer that optim.rule names, with the settings that it has.
type Rule struct {
	Name string // "adam"
	// New makes the rule. It reads each of its settings from s, rate and weight decay among them:
	// what it does not read is no setting of a stage that it trains.
	New func(s *RuleSettings) optim.Rule
	// Whole makes, in place of a rule of steps, a method that minimizes a loss over all rows. It reads its settings as
	// New does.
	Whole func(s *RuleSettings) optim.Method
}

// RuleSettings are the settings of a rule in one stage of a method: each is read under every prefix, and the last that
// the user set wins.
type RuleSettings struct {
	of       *Options
	stage    string
	training Training
	prefixes []string
	decay    float64 // that was read
}

// Rate is the learning rate.
func (s *RuleSettings) Rate() float64 {
	return s.float("rate", 1e-3, Positive, s.training.paper(1e-3), "learning rate")
}

// Decay is λ. Give it to an [optim.Decay] in a chain: before your part it is a penalty on the loss, behind it decay
// that is decoupled from the gradient. Intervals know of decay by that part alone, and refuse a rule that reads λ and
// has none.
func (s *RuleSettings) Decay() float64 {
	decay := s.training.Decay
	s.decay = s.float("decay", decay, NonNegative, s.training.paper(decay), "weight decay")
	return s.decay
}

// Float reads a number that this rule alone has, optim.NAME.
func (s *RuleSettings) Float(name string, def float64, in Range, line string) float64 {
	return s.float(name, def, in, "", line)
}

func (s *RuleSettings) float(name string, def float64, in Range, paper, line string) float64 {
	for i, prefix := range s.prefixes {
		def = s.of.Float(prefix+name, def, in, paper, line+s.inStage(i))
	}
	return def
}

// Int reads a whole number of at least least that this rule alone has.
func (s *RuleSettings) Int(name string, def, least int, line string) int {
	for i, prefix := range s.prefixes {
		def = s.of.Int(prefix+name, def, least, "", line+s.inStage(i))
	}
	return def
}

// gradient reads where a minimization stops; 0 where the user does not say, as a cross-validation stops its fits
// earlier by default.
func (s *RuleSettings) gradient() float64 {
	g := s.Float("gradient", 1e-6, Positive, "largest entry of the gradient to stop at")
	for _, prefix := range s.prefixes {
		if _, given := s.of.Values[prefix+"gradient"]; given {
			return g
		}
	}
	return 0
}

// adam reads the settings of Adam and its kin.
func (s *RuleSettings) adam() optim.Adam {
	return optim.Adam{
		Rate: s.Rate(), WeightDecay: s.Decay(),
		Beta1:   s.Float("beta1", 0.9, inside, "decay of the mean of the gradient"),
		Beta2:   s.Float("beta2", 0.999, inside, "decay of the mean of the squared gradient"),
		Epsilon: s.Float("epsilon", 1e-8, Positive, "what is added to the root of the mean of the squared gradient"),
	}
}

// inside excludes 0, which package optim takes for its default.
var inside = Range{"number between 0 and 1", func(x float64) bool { return x > 0 && x < 1 }}

// The rules that stages have by default.
var (
	adam  = Rule{Name: "adam", New: func(s *RuleSettings) optim.Rule { return s.adam() }}
	lbfgs = Rule{Name: "lbfgs", Whole: func(s *RuleSettings) optim.Method {
		return optim.LBFGS{
			Gradient: s.gradient(), Iterations: s.Int("iterations", 2000, 1, "line searches at most"), Executor: s.of.Executor,
			Store: s.Int("store", 0, 0, "steps that L-BFGS remembers; 0: 20, or as many of 5 and more as take 128 MB"),
		}
	}}
	newton    = Rule{Name: "newton", Whole: func(s *RuleSettings) optim.Method { return s.newton() }}
	bisection = Rule{Name: "bisection"} // of temperature scaling, without settings
)

// newton reads the settings of Newton's method.
func (s *RuleSettings) newton() optim.Newton {
	return optim.Newton{Gradient: s.gradient(), Iterations: s.Int("iterations", 100, 1, "steps at most")}
}

// rules are those of this package that every stage may have.
var rules = []Rule{
	lbfgs,
	adam,
	{Name: "adamw", New: func(s *RuleSettings) optim.Rule {
		a := s.adam()
		return optim.AdamW{Rate: a.Rate, WeightDecay: a.WeightDecay, Beta1: a.Beta1, Beta2: a.Beta2, Epsilon: a.Epsilon}
	}},
	{Name: "nadam", New: func(s *RuleSettings) optim.Rule { return optim.Nadam(s.adam()) }},
	{Name: "lion", New: func(s *RuleSettings) optim.Rule {
		return optim.Lion{
			Rate: s.Rate(), WeightDecay: s.Decay(),
			Beta1: s.Float("beta1", 0.9, inside, "share of the mean of the gradient in a step"),
			Beta2: s.Float("beta2", 0.99, inside, "decay of the mean of the gradient"),
		}
	}},
	{Name: "sgd", New: func(s *RuleSettings) optim.Rule {
		return optim.SGD{Rate: s.Rate(), WeightDecay: s.Decay(), Momentum: s.Float("momentum", 0, Share, "heavy-ball momentum")}
	}},
	{Name: "sam", New: func(s *RuleSettings) optim.Rule {
		return optim.SAM{Of: s.adam(), Radius: s.Float("radius", 0.05, Positive,
			"distance ρ at which the gradient is taken, where the loss is largest")}
	}},
	{Name: "lookahead", New: func(s *RuleSettings) optim.Rule {
		return optim.Chain{s.adam(), optim.Lookahead{
			Steps: s.Int("ahead", 5, 1, "steps k of Adam between those of the slow weights"),
			Share: s.Float("share", 0.5, inside, "share α of the way that the slow weights follow"),
		}}
	}},
}

// allRules are the rules of the catalog, L-BFGS first.
func (c *Catalog) allRules() []Rule { return slices.Clone(c.orOwn().rules) }

// rule is the one of that name; Adam where it is unknown, which the setting that names it reports.
func (c *Catalog) rule(name string) Rule {
	if at := slices.Index(named(c.orOwn().rules), name); at >= 0 {
		return c.orOwn().rules[at]
	}
	return adam
}

func named(rules []Rule) []string { return data.Each(rules, func(r Rule) string { return r.Name }) }
