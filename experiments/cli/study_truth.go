package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/study"
)

// truthMethods are what study truth fits where nobody names methods: the quick ones.
var truthMethods = []string{"ts", "vector", "sm", "ir", "histogram"}

// truth runs study truth, whose sources are its own.
func (c *studyCmd) truth(ctx context.Context, term *terminal, methods *experiments.Catalog) error {
	switch {
	case c.Out == "":
		return data.Inputf("", "a study needs --out; name the directory for its report")
	case c.Alarms < 0:
		return data.Inputf("", "--alarms is %d; it must be 0 or more", c.Alarms)
	}
	for _, source := range c.Data {
		if !slices.Contains(study.TruthSources, source) {
			return data.Inputf("", "study truth knows no source %q, as its posterior must be known; choose of %s", source, strings.Join(study.TruthSources, ", "))
		}
	}
	t := &study.Truth{Sources: c.Data, Seeds: c.Seeds, Rows: c.Rows, Alarms: c.Alarms, Dir: c.Cells}
	for k, rows := range t.Rows {
		if rows < 200 || k > 0 && rows <= t.Rows[k-1] {
			return data.Inputf("", "--rows is %v; give ascending numbers of 200 or more", t.Rows)
		}
	}
	if t.Dir == "" {
		t.Dir = filepath.Join(c.Out, "cells")
	}
	names := c.Methods
	if names == nil {
		names = truthMethods
	}
	for _, name := range names {
		m, err := methods.Find(name)
		if err != nil {
			return err
		}
		t.Methods = append(t.Methods, m)
	}
	if c.DryRun {
		for _, cell := range t.Cells() {
			if err := term.printf("%s\n", cell); err != nil {
				return err
			}
		}
		return nil
	}
	undo, err := experiments.PrepareDir(c.Out, study.Group, study.TruthFiles...)
	if err != nil {
		return err
	}
	bar := term.progress()
	f, err := t.Run(ctx, func(done, total int) {
		bar.at(float64(done), float64(total), fmt.Sprintf("%d of %d cells", done, total))
	})
	bar.clear()
	if err != nil {
		undo()
		return err
	}
	if f.Head, err = provenance(); err != nil {
		return err
	}
	if err := f.Write(c.Out); err != nil {
		return err
	}
	return term.printf("wrote %s\n", filepath.Join(c.Out, "report.html"))
}
