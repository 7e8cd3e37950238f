package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/study"
)

// What study truth fits where nobody names methods, the quick ones, and its rows and alarms.
var (
	truthMethods = []string{"ts", "vector", "sm", "ir", "histogram"}
	truthRows    = []int{2000, 500}
	truthAlarms  = 40
)

// truth is study truth, whose sources are its own.
func (c *studyCmd) truth(_ context.Context, _ *terminal, methods *experiments.Catalog) (*asked, error) {
	figures, err := c.export("study", c.Out)
	if err != nil {
		return nil, err
	}
	t, err := c.truthStudy(methods)
	if err != nil {
		return nil, err
	}
	plan, err := planOf(c, t.Cells())
	if err != nil {
		return nil, err
	}
	return &asked{plan: plan, report: func(_ context.Context, term *terminal) error {
		if failures := plan.Failures(); plan.Computed() == 0 && failures != nil {
			return failures[0]
		}
		f := t.Findings(plan)
		if f.Head, err = provenance(); err != nil {
			return err
		}
		if err := f.Write(c.Out, figures); err != nil {
			return err
		}
		return c.reportTruth(term, f, plan)
	}}, nil
}

// truthStudy is study truth as the flags have it. A flag that it has no use for is refused.
func (c *studyCmd) truthStudy(methods *experiments.Catalog) (*study.Truth, error) {
	for _, flag := range []struct{ name, value string }{{"--split", string(c.Split)}, {"--shift", string(c.Shift)}, {"--shifted", c.Shifted}} {
		if flag.value != "" {
			return nil, data.Inputf("", "study truth draws and divides its rows itself; leave out %s", flag.name)
		}
	}
	if c.Tensorboard != "" {
		return nil, data.Inputf("", "study truth writes nothing for TensorBoard; leave out --tensorboard")
	}
	for _, source := range c.Data {
		if !slices.Contains(study.TruthSources, source) {
			return nil, data.Inputf("", "study truth knows no source %q, as its posterior must be known; choose of %s", source, strings.Join(study.TruthSources, ", "))
		}
	}
	if err := c.places(); err != nil {
		return nil, err
	}
	t := &study.Truth{Catalog: methods, Sources: c.Data, Seeds: c.Seeds, Rows: c.Rows, Alarms: truthAlarms}
	if c.Alarms != nil {
		t.Alarms = *c.Alarms
	}
	if t.Rows == nil {
		t.Rows = truthRows
	}
	for k, rows := range t.Rows {
		if rows < 200 || slices.Contains(t.Rows[:k], rows) {
			return nil, data.Inputf("", "--rows is %v; give different numbers of 200 or more", t.Rows)
		}
	}
	var err error
	if t.Methods, t.Set, err = c.truthMethods(methods); err != nil {
		return nil, err
	}
	t.Executor, err = c.executor()
	return t, err
}

// truthMethods are the methods to fit, each once, with their settings.
func (c *studyCmd) truthMethods(methods *experiments.Catalog) (all []experiments.Method, set map[string]experiments.Values, err error) {
	names := c.Methods
	if names == nil {
		names = truthMethods
	}
	if all, err = found(methods, names); err != nil {
		return nil, nil, err
	}
	if set, err = c.values(methods, namesOf(all)); err != nil {
		return nil, nil, err
	}
	for _, values := range set {
		for key := range values {
			if strings.HasPrefix(key, "metrics.") {
				return nil, nil, data.Inputf("", "study truth measures by settings of its own; leave out %s", key)
			}
		}
	}
	return all, set, nil
}

// reportTruth prints what was found of each metric, and in one line which ranks best.
func (c *studyCmd) reportTruth(term *terminal, f *study.TruthFindings, p *study.Plan) error {
	list := &table{columns: []column{{head: "metric", left: true}, {head: "ρ squared ↑", key: "rho_squared"}, {head: "ρ absolute ↑", key: "rho_absolute", drop: 2},
		{head: "ρ KL ↑", key: "rho_kl", drop: 1}, {head: "ρ calibration ↑", key: "rho_calibration"}, {head: "ρ by region ↑", key: "rho_regional", drop: 3}, {head: "false alarms", key: "false_alarms"}, {head: "alarms ↑", key: "alarms"}}}
	all, computed := f.Metrics(), p.Computed()
	for _, m := range all {
		row := []cell{words(m.Title)}
		for _, rho := range m.Rho {
			row = append(row, decimals(rho, 2))
		}
		for _, alarms := range []int{m.FalseAlarms, m.Alarms} {
			row = append(row, decimals(float64(alarms)/float64(m.Draws), 3)) // of no draws NaN
		}
		list.add(row...)
	}
	if c.JSON {
		return term.json(map[string]any{"study": study.TruthName, "results": list.objects(), "cells": len(p.Tasks), "computed": computed, "out": c.Out})
	}
	term.tables(list, diagnosed(f.Diagnosis))
	found := ""
	ranked := slices.DeleteFunc(all, func(m study.MetricRank) bool { return math.IsNaN(m.Rho[0]) })
	if len(ranked) > 0 {
		best := slices.MaxFunc(ranked, func(a, b study.MetricRank) int { return cmp.Compare(a.Rho[0], b.Rho[0]) })
		found = fmt.Sprintf("%s ranks predictors most nearly as their true squared error does, ρ = %.2f; ", best.Title, best.Rho[0])
	}
	return term.closing(fmt.Sprintf("%s%d of %d cells are computed", found, computed, len(p.Tasks)), filepath.Join(relative(c.Out), "report.html"))
}

// diagnosed is the diagnoses of predictions whose error is known.
func diagnosed(rates []*study.DiagnosisRate) *table {
	list := &table{columns: []column{{head: "diagnosis", left: true}, {head: "runs"}, {head: "anything wrong", drop: 1}, {head: "named"}, {head: "found"}, {head: "gap missed"},
		{head: "global", drop: 2}, {head: "as many regions", drop: 3}, {head: "Jaccard", drop: 4}}}
	for _, r := range rates {
		row := []cell{words(strings.TrimPrefix(r.String(), "diagnose-"))}
		for _, n := range []int{r.Runs, r.Any, r.Named, r.Found, r.Missed, r.Global, r.Counted} {
			row = append(row, words(fmt.Sprint(n)))
		}
		list.add(append(row, decimals(r.Jaccard, 2))...)
	}
	return list
}
