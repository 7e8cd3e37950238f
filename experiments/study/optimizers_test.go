package study

import (
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/source"
)

// TestOptimizersKnowTheOptimum: Newton's method and bisection end where L-BFGS does, no rule of steps ends below it, and the
// published optimizer of temperatures is said to stop short.
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
