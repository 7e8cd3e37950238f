package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"calibra/graph/cuda"
	"calibra/theory"
)

type theoryCmd struct {
	Studies []string `arg:"" optional:"" name:"study" help:"Studies to run, or all (the default). The word fast takes smaller designs and fewer replicates."`
	Seed    uint64   `default:"0" help:"Seed of designs and samples (${default}). The bands hold for any."`
	JSON    bool     `help:"Print the tables as JSON."`
	Out     string   `type:"path" placeholder:"DIR" help:"Directory for the tables as CSV and the figures as CSV, SVG and PNG."`
	deviceFlag
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
	if c.Device == cuda.CUDA {
		cuda.Tell("the claims are checked in float64, on the CPU")
	}
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
	var reports []*theory.Report
	var failures []string
	for _, study := range studies {
		r, err := study.Run(ctx, settings)
		if err != nil {
			return err
		}
		reports = append(reports, r)
		for _, quantity := range r.Failures() {
			failures = append(failures, r.Study+": "+quantity)
		}
		if c.Out != "" {
			if err := r.Save(c.Out); err != nil {
				return err
			}
		}
		if c.JSON {
			continue
		}
		if err := r.Text(os.Stdout); err != nil {
			return err
		}
		fmt.Println()
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
