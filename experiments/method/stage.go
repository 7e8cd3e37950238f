package method

import (
	"fmt"
	"maps"
	"slices"

	"calibra/optim"
)

// schedules are what optim.schedule chooses from, besides constant.
var (
	schedules = map[string]optim.Schedule{
		"cosine": optim.Cosine{}, "warm-up": optim.WarmUp{}, "warm-up-cosine": optim.WarmUp{Then: optim.Cosine{}},
		"one-cycle": optim.OneCycle{},
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

// Published is how the paper trains both stages of its calibrator, publishedNet the network behind Local Nets and its
// kernel calibration.
var (
	Published    = Training{Decay: 1e-3, Batch: 128, Paper: true}
	publishedNet = Training{Batch: 1024, Paper: true}
)

// paper is the value in the paper, where it trains the method so.
func (t Training) paper(value any) string {
	if t.Paper {
		return fmt.Sprint(value)
	}
	return ""
}

// Optim reads the settings optim.… of a method that trains in one stage: in minibatches by a rule, or over all rows.
func (o *Options) Optim(stage string, t Training) optim.Method {
	return o.trained(&RuleSettings{of: o, stage: stage, training: t, prefixes: []string{optimPrefix}})
}

// Stage reads the settings of one of several stages: optim.… sets all of them, and divide.…, for the stage "divide",
// this one alone.
func (o *Options) Stage(stage string, t Training) optim.Method {
	return o.trained(&RuleSettings{of: o, stage: stage, training: t, prefixes: []string{optimPrefix, stage + "."}})
}

// Minimize reads the settings optim.… of a method that minimizes a loss over all rows: by L-BFGS, or by the rule that
// the user names, which goes by that loss ([optim.Descent]).
func (o *Options) Minimize() optim.Method { return o.minimize(lbfgs) }

// minimize is Minimize of a method that goes another way by default.
func (o *Options) minimize(rule Rule) optim.Method {
	names := slices.Compact(append([]string{rule.Name}, named(o.Catalog.allRules())...))
	name := o.Choice("optim.rule", rule.Name, names, "", "optimizer; a rule of steps, such as adam, "+
		"has settings of its own: calibra methods NAME --set optim.rule=adam lists them")
	if name != rule.Name {
		rule = o.Catalog.rule(name)
	}
	s := &RuleSettings{of: o, stage: "minimize", training: Training{Batch: 128}, prefixes: []string{optimPrefix}}
	switch {
	case rule.Whole != nil:
		return s.wholly(rule)
	case rule.New != nil:
		return optim.Descent{Settings: s.steps(rule)}
	}
	return nil // the method's own way, which has no settings
}

// trained is the optimizer of a stage that every rule may train.
func (o *Options) trained(s *RuleSettings) optim.Method {
	rule := s.training.Rule
	if rule.New == nil {
		rule = s.rule(o.Catalog.allRules())
	}
	if rule.Whole != nil {
		o.whole = true
		return s.wholly(rule)
	}
	return s.steps(rule)
}

// divides is the optimizer of the stage that divides the space. The codewords move with each of its steps, so that what
// goes over all rows cannot train it: named for all stages, it leaves this one its default.
func (o *Options) divides() optim.Settings {
	s := &RuleSettings{of: o, stage: "divide", training: Published, prefixes: []string{optimPrefix, "divide."}}
	return s.steps(s.rule(slices.DeleteFunc(o.Catalog.allRules(), func(r Rule) bool { return r.New == nil })))
}

// rule is the rule that the last of the prefixes chooses under which the user names one. The stage may have those of
// own.
func (s *RuleSettings) rule(own []Rule) Rule {
	rule, among := adam, s.of.Catalog.allRules()
	for i, prefix := range s.prefixes {
		name := s.of.Choice(prefix+"rule", rule.Name, named(among), s.training.paper(adam.Name), "optimizer"+s.inStage(i))
		if rule = s.of.Catalog.rule(name); !slices.Contains(named(own), rule.Name) {
			rule, s.of.stepped = adam, true
		}
		among = own
	}
	return rule
}

// inStage is the words behind what a setting of the i-th prefix is.
func (s *RuleSettings) inStage(i int) string {
	if i == 0 {
		return ""
	}
	return " in stage " + s.stage
}

// wholly is the method over all rows of a rule.
func (s *RuleSettings) wholly(rule Rule) optim.Method {
	m := rule.Whole(s)
	if m == nil && s.of.err == nil {
		s.of.err = fmt.Errorf("the Whole of the rule %s gives no method", rule.Name)
	}
	return m
}

// steps are minibatches by a rule. Each setting is read under every prefix; the last that the user set wins.
func (s *RuleSettings) steps(rule Rule) optim.Settings {
	o, paper := s.of, s.training.paper
	out := optim.Settings{Rule: rule.New(s), Batch: s.training.Batch, Epochs: 100, Patience: 10, Executor: o.Executor}
	if out.Rule == nil && o.err == nil {
		o.err = fmt.Errorf("the New of the rule %s gives no rule", rule.Name)
	}
	if ridge, err := optim.Ridge(out.Rule); s.decay > 0 && ridge == 0 && err == nil {
		out.Rule = optim.Undeclared{Rule: out.Rule}
	}
	schedule, clip, average := "constant", 0.0, 0.0
	for i, prefix := range s.prefixes {
		where := s.inStage(i)
		out.Batch = o.Int(prefix+"batch", out.Batch, 1, paper(s.training.Batch), "rows of a step"+where)
		out.Epochs = o.Int(prefix+"epochs", out.Epochs, 1, paper(100), "epochs at most"+where)
		out.Patience = o.Int(prefix+"patience", out.Patience, 1, paper(10),
			"epochs without a better validation loss before it stops"+where)
		schedule = o.Choice(prefix+"schedule", schedule, scheduleNames, paper("constant"),
			"course of the learning rate"+where)
		clip = o.Float(prefix+"clip", clip, NonNegative, paper(0), "norm that gradients are clipped to"+where+"; 0: none")
		average = o.Float(prefix+"average", average, Share, paper(0),
			"decay of the mean of the weights that is validated and kept"+where+"; 0: none")
	}
	if by := schedules[schedule]; by != nil {
		out.Rule = optim.Chain{out.Rule, optim.Scheduled{By: by}}
	}
	if clip > 0 {
		out.Rule = optim.Chain{optim.Clip{Norm: clip}, out.Rule}
	}
	if average > 0 {
		out.Average = optim.EMA{Decay: average}
	}
	if n, found := o.Epochs[s.stage]; found {
		if out.Epochs = n; n == 0 {
			out.Epochs = optim.NoEpochs // it keeps its start
		}
	}
	if o.Observe != nil {
		out.Observe, out.Norms = o.Observe(s.stage), true
	}
	return out
}

// fromStart lets the start of a stage be the best by validation loss; no loss of L-BFGS ends above that of the start.
func fromStart(m optim.Method) optim.Method {
	if s, steps := m.(optim.Settings); steps {
		s.KeepStart = true
		return s
	}
	return m
}

// fixedLBFGS reads those of the optimizer behind published temperatures.
func (o *Options) fixedLBFGS() optim.FixedLBFGS {
	return optim.FixedLBFGS{
		Rate:       o.Float("optim.rate", 1e-3, Positive, "", "length of a step"),
		Iterations: o.Int("optim.iterations", 1000, 1, "", "steps at most"),
		Executor:   o.Executor,
	}
}
