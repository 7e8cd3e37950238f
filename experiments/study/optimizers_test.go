package study

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/source"
	"calibra/optim"
)

// TestOptimizersFromOutside: a rule of another module is a row of each method, with the budget of the others, as is a
// method over all rows.
func TestOptimizersFromOutside(t *testing.T) {
	set := Settings{Seeds: []uint64{1}, Split: data.PaperTables, Methods: []string{"ts", "vector"}, Catalog: method.NewCatalog(
		method.Rule{Name: "still", New: func(*method.RuleSettings) optim.Rule { return optim.SGD{Rate: 1e-3} }},
		method.Rule{Name: "rated", New: func(s *method.RuleSettings) optim.Rule { return optim.Adam{Rate: s.Rate()} }},
		method.Rule{Name: "whole", Whole: func(*method.RuleSettings) optim.Method { return optim.LBFGS{Gradient: 1e-10} }},
	)}
	o, err := source.Registry(nil).Open("digits", source.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	cells, _, err := optimizersStudy.Cells(t.Context(), []*source.Origin{o}, set)
	if err != nil {
		t.Fatal(err)
	}
	var sets []string
	cells = slices.DeleteFunc(cells, func(c Cell) bool {
		sets = append(sets, c.Spec.Method+" "+c.Spec.Set)
		return c.Spec.Method != "vector" || !slices.Contains([]string{"lbfgs", "rated", "whole"}, byRule.Of(c.Spec))
	})
	for _, m := range set.Methods {
		for _, want := range []string{"optim.rule=whole", "optim.rate=1e-2 optim.rule=rated optim.schedule=cosine", "optim.patience=200 optim.rule=still"} {
			if !slices.ContainsFunc(sets, func(s string) bool { return strings.HasPrefix(s, m) && strings.Contains(s, want) }) {
				t.Errorf("%s has no row with %s in %q", m, want, sets)
			}
		}
	}
	swept, err := Sweep{Catalog: set.Catalog, Methods: []string{"vector"}, Swept: []Swept{{"optim.rule", []string{"adam", "lbfgs"}}}}.Study()
	if err != nil {
		t.Fatal(err)
	}
	if grid := swept.grid(o, set); len(grid) != 2 {
		t.Errorf("a sweep of two rules has the rows %v", grid)
	}
	results, failures, err := runAll(t.Context(), store(t, t.TempDir()), cells, 2)
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	f := &Findings{Study: &optimizersStudy, Settings: set, Cells: cells, Results: results}
	text := strings.Join(optimizerStatements(f)[0].Lines, "\n")
	if !strings.Contains(text, "the optimum is reached by lbfgs, whole") || !strings.Contains(text, "rated") {
		t.Error(text)
	}
}

// TestOptimizersKnowTheOptimum: Newton's method and bisection end where L-BFGS does, no rule of steps ends below it,
// and the published optimizer of temperatures is said to stop short.
func TestOptimizersKnowTheOptimum(t *testing.T) {
	set := Settings{Seeds: []uint64{1}, Split: data.PaperTables, Methods: []string{"ts", "sm", "ts-published"}}
	o, err := source.Registry(nil).Open("digits", source.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	cells, _, err := optimizersStudy.Cells(t.Context(), []*source.Origin{o}, set)
	if err != nil {
		t.Fatal(err)
	}
	st, err := OpenStore(filepath.Join(t.TempDir(), "cells"))
	if err != nil {
		t.Fatal(err)
	}
	p := NewPlan(st, cells)
	if err := p.Run(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	f := optimizersStudy.Findings(set, p)
	above, _ := f.aboveOptimum()
	for _, r := range f.Results {
		if r == nil {
			t.Fatal(p.Failures())
		}
		rule, by := byRule.Of(r.Spec), above.value(r)
		switch {
		case by < -1e-12: // rounding of a mean of a thousand losses
			t.Errorf("%s by %s ends %v below the optimum", r.Spec.Method, rule, -by)
		case (rule == "newton" || rule == "bisection") && by > 1e-12:
			t.Errorf("%s by %s ends %v above L-BFGS", r.Spec.Method, rule, by)
		}
	}
	all := optimizerStatements(f)
	if len(all) != 1 || len(all[0].Lines) != 2 {
		t.Fatal(all)
	}
	text := strings.Join(all[0].Lines, "\n")
	for _, want := range []string{"ts: the optimum is reached by lbfgs, bisection", "short of it stop published", "sm: the optimum is reached by lbfgs, newton"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}
