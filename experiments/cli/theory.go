package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/report"
	"calibra/theory"
)

type theoryCmd struct {
	Studies []string `arg:"" optional:"" name:"study" help:"Studies to run, or all (the default). The word fast takes smaller designs and fewer replicates."`
	Seed    uint64   `default:"0" help:"Seed of designs and samples (${default}). The bands hold for any."`
	JSON    bool     `help:"Print the tables as JSON."`
	Out     string   `type:"path" placeholder:"DIR" help:"Directory for report.html, the tables as CSV, Markdown and LaTeX, and the figures as CSV, SVG, PNG and PDF; they replace those of an earlier run."`
}

func (theoryCmd) Help() string {
	var names []string
	for _, s := range theory.Studies() {
		names = append(names, s.Name)
	}
	return `Example:

  calibra theory fast
  calibra theory rate misspecified --seed 7 --out figures

Studies: ` + strings.Join(names, ", ") + `. A quantity outside its band makes the exit code 1.`
}

func (c *theoryCmd) Run(ctx context.Context) error {
	settings := theory.Settings{Seed: c.Seed}
	var names []string
	for _, name := range c.Studies {
		switch name {
		case "fast":
			settings.Effort = theory.Quick
		case "all":
		default:
			names = append(names, name)
		}
	}
	studies := theory.Studies()
	if names != nil {
		if slices.Contains(c.Studies, "all") {
			return usageError{fmt.Errorf("all studies are asked for, and %s by name: give one or the other", strings.Join(names, ", "))}
		}
		var err error
		if studies, err = theory.Find(names...); err != nil {
			return usageError{err}
		}
	}
	if c.Out != "" {
		undo, err := experiments.PrepareDir(c.Out, theory.Group, report.Files...)
		if err != nil {
			return err
		}
		defer undo() // which leaves a directory that holds something
	}
	reports, err := c.run(ctx, studies, settings)
	if c.Out != "" && len(reports) > 0 { // those that are whole, also after Ctrl-C
		if err := c.write(reports); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	var failures []string
	for _, r := range reports {
		for _, quantity := range r.Failures() {
			failures = append(failures, r.Study+": "+quantity)
		}
	}
	if c.JSON {
		out := json.NewEncoder(os.Stdout)
		out.SetEscapeHTML(false)
		out.SetIndent("", "  ")
		if err := out.Encode(reports); err != nil {
			return err
		}
	}
	if failures != nil {
		return fmt.Errorf("outside the band: %s", strings.Join(failures, "; "))
	}
	return nil
}

// run carries the studies out and prints each as it ends, unless as JSON in the end.
func (c *theoryCmd) run(ctx context.Context, studies []theory.Study, settings theory.Settings) (reports []*theory.Report, err error) {
	for _, study := range studies {
		r, err := study.Run(ctx, settings)
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
		if c.JSON {
			continue
		}
		if err := r.Text(os.Stdout); err != nil {
			return reports, err
		}
		fmt.Println()
	}
	return reports, nil
}

// write puts the tables, the points of the figures and the report into --out.
func (c *theoryCmd) write(reports []*theory.Report) error {
	out := data.NewFolder(c.Out, theory.Group)
	defer out.Discard()
	for _, r := range reports {
		if err := r.Add(out); err != nil {
			return err
		}
	}
	d, err := report.Theory(reports)
	if err != nil {
		return err
	}
	d.Folder = "." // beside the points of each figure
	if d.Head, err = provenance(report.Fact{Name: "Data", Value: "synthetic"}); err != nil {
		return err
	}
	for _, r := range reports {
		d.Files = append(d.Files, r.Study+".csv")
	}
	d.Files = append(d.Files, "tables.tex", "tables.md")
	if err := d.Add(out); err != nil {
		return err
	}
	return out.Commit()
}
