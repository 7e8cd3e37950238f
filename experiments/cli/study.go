package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/report"
	"calibra/experiments/study"
)

type studyCmd struct {
	Name      string            `arg:"" optional:"" help:"Study to run; without one, all are listed."`
	Data      []string          `placeholder:"DATA,…" help:"letter, satellite, digits (embedded), cubic, proximity, proximity100 (synthetic), npz features, a MedMNIST npz, a CIFAR archive, a labelled csv, or a directory of weather data or raw results."`
	Shifted   string            `type:"path" placeholder:"F.npz" help:"Features file whose test rows are the shifted ones of --data F.npz, for ood."`
	Shift     experiments.Shift `placeholder:"region|noise|thin|given" help:"What the study ood judges on: a region of a raw table that classifier and calibrator never saw, noise on its columns, the test rows where calibration rows are thin, or the shifted rows that the data bring (the first that the data offer, in the order given, region, noise, thin)."`
	Seeds     seeds             `default:"42-46" placeholder:"LIST" help:"Seeds, such as 42,43,50-52 (${default})."`
	Methods   []string          `placeholder:"NAME,…" help:"Only these of the study's methods (all)."`
	Split     data.Protocol     `default:"tables" placeholder:"paper|tables" help:"Where validation rows come from: 10 % of the test rows, as in the published tables (tables), or of the calibration rows, as in the paper's text (paper) (${default})."`
	Jobs      int               `help:"Cells to compute side by side (one a core)."`
	DryRun    bool              `help:"List the cells and the estimated time; compute nothing."`
	Out       string            `type:"path" placeholder:"DIR" help:"Directory for report.html, tables.md, tables.tex, results.csv and figures."`
	Cells     string            `type:"path" placeholder:"DIR" help:"Directory of computed cells, which studies may share (OUT/cells)."`
	KeepStale bool              `help:"Keep cells that another program computed, such as an earlier build, and name them."`

	settingFlags
	deviceFlag
}

func (studyCmd) Help() string {
	return `Example:

  calibra study main --data letter --out runs/main
  calibra study ess --data features.npz --seeds 42,43 --cells runs/main/cells --out runs/ess
  calibra study ood --data letter --shift noise --out runs/noise
  calibra study ablate-slots --data features.npz --out runs/slots --dry-run

A study that was interrupted goes on where it stopped when the same command is
given again; cells that were computed, by this study or by another that shares
--cells, are not computed again. A cell that another program computed, be it an
earlier build, is stale and is computed again; --keep-stale keeps it.`
}

func (c *studyCmd) Run(ctx context.Context, methods *experiments.Catalog) error {
	if c.Name == "" {
		for _, s := range study.Studies {
			fmt.Printf("%-16s %s\n", s.Name, s.Line)
		}
		return nil
	}
	s, err := study.ByName(c.Name)
	if err != nil {
		return err
	}
	if len(c.Data) == 0 {
		return data.Inputf("", "a study needs --data; name letter, satellite, digits, cubic, proximity, proximity100 or a file")
	}
	if c.Out == "" && !c.DryRun {
		return data.Inputf("", "a study needs --out; name the directory for its report")
	}
	if c.Cells == "" {
		c.Cells = filepath.Join(c.Out, "cells")
	}
	var origins []*experiments.Origin
	for _, arg := range c.Data {
		o, err := experiments.OpenOrigin(arg, c.Shifted)
		if err != nil {
			return err
		}
		origins = append(origins, o)
	}
	for _, name := range c.Methods {
		if _, err := methods.Find(name); err != nil {
			return err
		}
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	settings := study.Settings{Catalog: methods, Executor: executor, Methods: c.Methods, Seeds: c.Seeds, Split: c.Split, Shift: c.Shift}
	if settings.Set, err = c.values(methods, s.MethodNames(origins, settings)); err != nil {
		return err
	}
	cells, skipped, err := s.Cells(ctx, origins, settings)
	if err != nil {
		return err
	}
	for _, skip := range skipped {
		fmt.Fprintf(os.Stderr, "calibra: %s: left out of the grid: %s\n", skip.Data, skip.Why)
	}
	if len(cells) == 0 {
		return data.Inputf("", "the study %s has no cells for these data, methods and seeds", s.Name)
	}
	store, err := study.OpenStore(c.Cells)
	if err != nil {
		return err
	}
	store.KeepStale = c.KeepStale
	done, stale, err := store.Load(cells)
	if err != nil {
		return err
	}
	tellStale(stale, c.KeepStale)
	jobs := study.Jobs(c.Jobs)
	if c.DryRun {
		listCells(cells, done, jobs)
		return nil
	}
	undo, err := experiments.PrepareDir(c.Out, study.Group, study.Files...)
	if err != nil {
		return err
	}
	results, failures, err := study.Run(ctx, store, cells, jobs, study.Progress(os.Stderr, cells, done, jobs))
	if err != nil {
		undo()
		return err
	}
	var named []report.Fact
	for _, o := range origins {
		named = append(named, report.Fact{Name: "Data", Value: o.Name + ", " + o.Digest})
	}
	head, err := provenance(named...)
	if err != nil {
		return err
	}
	findings := &study.Findings{Head: head, Study: s, Settings: settings, Cells: cells, Results: results, Failures: failures, Skipped: skipped, Store: store}
	if err := findings.Write(ctx, c.Out); err != nil {
		undo()
		return err
	}
	fmt.Printf("wrote %s\n", filepath.Join(c.Out, "report.html"))
	for _, f := range failures {
		fmt.Fprintf(os.Stderr, "calibra: failed: %s: %s\n", f.Cell, strings.TrimSpace(f.Err.Error()))
	}
	if len(failures) > 0 {
		return fmt.Errorf("%d of %d cells failed; the same command tries them again", len(failures), len(cells))
	}
	return nil
}

// tellStale names the cells that another program computed.
func tellStale(stale []study.Cell, kept bool) {
	switch {
	case len(stale) == 0:
	case kept:
		fmt.Fprintf(os.Stderr, "calibra: kept %d stale cells, whose numbers another program computed and this one may not repeat:\n", len(stale))
		for _, c := range stale {
			fmt.Fprintf(os.Stderr, "  %s  %s\n", c.Key, c)
		}
	default:
		fmt.Fprintf(os.Stderr, "calibra: %d cells are stale, computed by another program, and are computed again; --keep-stale keeps them\n", len(stale))
	}
}

// listCells prints the grid and how long what is left of it should take.
func listCells(cells []study.Cell, done []*study.Result, jobs int) {
	seconds, left := 0.0, 0
	for i, c := range cells {
		state := fmt.Sprintf("about %.0f s", c.Cost)
		if done[i] != nil {
			state = "done"
		} else {
			seconds += c.Cost
			left++
		}
		fmt.Printf("%s  %s  %s\n", c.Key, c, state)
	}
	fmt.Printf("%d cells, %d to compute, about %s on %d at a time\n", len(cells), left,
		(time.Duration(seconds/float64(jobs)) * time.Second).Round(time.Second), jobs)
}
