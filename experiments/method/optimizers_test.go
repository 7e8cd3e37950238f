package method

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers"
	"calibra/optim"
)

// noRule are the methods that take no rule, and why.
var noRule = map[string]string{
	"nc": counts, "ir": counts, "pc": counts, "histogram": counts, "spline": counts, "venn-abers": counts,
	"forest":       "splits at random; its two weights are found by Newton's method",
	"ets":          "mixes two temperatures that are bisected, by expectation and maximization",
	"dc-odir":      "chooses its penalties by dozens of fits, which Newton's method alone makes cheap",
	"vq-nc":        "its only stage moves codewords with each step: it takes a rule, and no L-BFGS",
	"ts-published": asPublished, "dc-published": asPublished,
}

const (
	counts      = "in closed form, or counts"
	asPublished = "keeps the optimizer that it was published with"
)

// TestEveryMethodTakesEveryRule: a method that is trained by gradients is fitted by every rule of the catalog, one from
// outside among them, and by L-BFGS, and predicts distributions; what takes none says so in one sentence.
func TestEveryMethodTakesEveryRule(t *testing.T) {
	outside := Rule{Name: "outside", New: func(s *RuleSettings) optim.Rule { return optim.SGD{Rate: s.Rate()} }}
	catalog := NewCatalog(outside)
	cal, val := smallProblem(90, 1), smallProblem(60, 2)
	for _, m := range All {
		for _, rule := range named(catalog.allRules()) {
			if testing.Short() && m.Cost.Of(1e4, 512, 10) >= 15 && rule != "outside" && rule != lbfgs.Name && noRule[m.Name] == "" {
				continue // many fits each
			}
			set := Values{"optim.rule": rule}
			if m.Divides() {
				set[SlotsKey], set[CodewordsKey] = "4", "8"
			}
			o := Options{Catalog: catalog, Values: set, Epochs: map[string]int{"divide": 2, "calibrate": 2, "train": 2}}
			if rule != lbfgs.Name {
				if _, keys, err := m.Build(o); err == nil && slices.ContainsFunc(keys, func(k Key) bool { return k.Name == "optim.epochs" }) {
					set["optim.epochs"] = "3"
				}
			} else {
				set["optim.iterations"] = "5"
			}
			c, _, err := m.Build(o)
			if refused := noRule[m.Name] != "" && (m.Name != "vq-nc" || rule == lbfgs.Name); refused {
				var input *data.InputError
				if !errors.As(err, &input) || !strings.Contains(err.Error(), m.Name) {
					t.Errorf("%s does not refuse the rule %s: %v", m.Name, rule, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v; a method that takes no rule stands with the reason in noRule of "+
					"optimizers_test.go", m.Name, rule, err)
				continue
			}
			if err := c.Fit(t.Context(), cal, val, rand.New(rand.NewPCG(3, 0))); err != nil {
				t.Errorf("%s, %s: %v", m.Name, rule, err)
				continue
			}
			p, err := c.Predict(val)
			if err == nil {
				err = distribution(p)
			}
			if err != nil {
				t.Errorf("%s, %s: %v", m.Name, rule, err)
			}
			if _, err := c.State(); err != nil {
				t.Errorf("%s, %s: %v", m.Name, rule, err)
			}
		}
	}
	for name := range noRule {
		if _, err := Find(name); err != nil {
			t.Error(err)
		}
	}
}

// TestOneOptimum: whichever way a convex loss is minimized, it ends at one loss, and none below that of L-BFGS to
// 1e-10. Rules of steps over all rows with a falling rate come within 1e-4 nats.
func TestOneOptimum(t *testing.T) {
	cal := smallProblem(200, 1)
	for _, c := range []struct{ method, set string }{{"ts", ""}, {"sm", ""}, {"sv", ""}, {"vector", "vector.strength=1"}, {"beta", ""}, {"ps", ""}, {"dc", ""}, {"local-ts", ""}} {
		loss := func(set string) float64 {
			m, err := Find(c.method)
			if err != nil {
				t.Fatal(err)
			}
			values, err := ParseValues(c.set + " " + set)
			if err != nil {
				t.Fatal(err)
			}
			model, _, err := m.Build(Options{Values: values})
			if err == nil {
				err = model.Fit(t.Context(), cal, nil, rand.New(rand.NewPCG(3, 0)))
			}
			if err != nil {
				t.Fatal(err)
			}
			return model.(layers.Staged).Stages()[0].Result.Loss
		}
		least := loss("optim.rule=lbfgs optim.gradient=1e-10")
		if own := loss(""); own < least-1e-12 || own > least+1e-9 {
			t.Errorf("%s: its own way ends at %v, L-BFGS at %v", c.method, own, least)
		}
		for _, rule := range []string{"adam optim.rate=0.05", "nadam optim.rate=0.05", "lion optim.rate=0.05", "sgd optim.momentum=0.9 optim.rate=0.5"} {
			if ends := loss("optim.rule=" + rule + " optim.schedule=cosine optim.batch=200 optim.epochs=1000 optim.patience=1000"); ends < least-1e-12 || ends > least+1e-4 {
				t.Errorf("%s: %s ends at %v, L-BFGS at %v", c.method, rule, ends, least)
			}
		}
	}
}
