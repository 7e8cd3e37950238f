package method

import (
	"math"
	"slices"

	"calibra/optim"
)

// Rule is an optimizer that optim.rule names, with the settings that it has.
type Rule struct {
	Name string // "adam"
	// New makes the rule. It reads each of its settings from s, rate and weight decay among them:
	// what it does not read is no setting of a stage that it trains.
	New func(s *RuleSettings) optim.Rule
	// Whole makes, in place of a rule of steps, a method that minimizes a loss over all rows. It reads its settings as New does.
	Whole func(s *RuleSettings) optim.Method
}

// RuleSettings are the settings of a rule.
type RuleSettings struct {
	decay float64 // the default of the stage
	paper func(any) string
	float func(name string, def float64, in Range, paper, line string) float64
}

func (s *RuleSettings) Rate() float64 {
	return s.float("rate", 1e-3, Positive, s.paper(1e-3), "learning rate")
}

func (s *RuleSettings) Decay() float64 {
	return s.float("decay", s.decay, NonNegative, s.paper(s.decay), "weight decay")
}

// Float reads a number that this rule alone has, optim.NAME.
func (s *RuleSettings) Float(name string, def float64, in Range, line string) float64 {
	return s.float(name, def, in, "", line)
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

// whole is of numbers that count.
var whole = Range{"whole number ≥ 1", func(x float64) bool { return x >= 1 && x == math.Trunc(x) }}

// rules are those of this package, the default first.
var rules = []Rule{
	{Name: "adam", New: func(s *RuleSettings) optim.Rule { return s.adam() }},
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
		return optim.SAM{Of: s.adam(), Radius: s.Float("radius", 0.05, Positive, "distance ρ at which the gradient is taken, where the loss is largest")}
	}},
	{Name: "lookahead", New: func(s *RuleSettings) optim.Rule {
		return optim.Chain{s.adam(), optim.Lookahead{
			Steps: int(s.Float("ahead", 5, whole, "steps k of Adam between those of the slow weights")),
			Share: s.Float("share", 0.5, inside, "share α of the way that the slow weights follow"),
		}}
	}},
}

// rule is the one of that name; the first where it is unknown, which the setting that
// names it reports.
func (c *Catalog) rule(name string) Rule {
	known := c.orOwn().rules
	return known[max(0, slices.IndexFunc(known, func(r Rule) bool { return r.Name == name }))]
}
