package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	"calibra/data"
	"calibra/experiments"
)

type quickstartCmd struct {
	Seed uint64 `default:"0" help:"Seed of everything (${default})."`
	Out  string `default:"runs/quickstart" type:"path" placeholder:"DIR" help:"Directory for the run of the paper's calibrator (${default})."`
}

func (quickstartCmd) Help() string {
	return `Trains a small network on the embedded UCI Letter Recognition data (20,000 rows,
26 classes) until it is accurate and overconfident, then calibrates it.

Example:

  calibra quickstart
  calibra quickstart --seed 1 --out runs/letter`
}

func (c *quickstartCmd) Run(ctx context.Context) error {
	undo, err := experiments.PrepareDir(c.Out, experiments.RunGroup, append(experiments.RunFiles, "results.csv")...)
	if err != nil {
		return err
	}
	fail := func(err error) error {
		undo()
		if ctx.Err() != nil { // err tells of weights that are kept, in memory
			return fmt.Errorf("the quickstart was not finished and nothing was written: %w", ctx.Err())
		}
		return err
	}
	problem, err := experiments.EncodeTable(ctx, data.Letter(), experiments.MLPs[0], c.Seed, progress("train the encoder"))
	if err != nil {
		return fail(err)
	}
	src := problem.Source
	var runs []*experiments.Run
	for _, method := range []string{"nc", "ts", "vq-nc", "vq"} {
		spec := experiments.Spec{Method: method, Data: "letter", Split: data.PaperText, Seed: c.Seed}
		if m, _ := experiments.MethodByName(method); m.Divides {
			spec.Slots, spec.Codewords = 32, 64
		}
		run, err := spec.Fit(ctx, src, progress)
		if err != nil {
			return fail(err)
		}
		runs = append(runs, run)
	}
	out := data.NewFolder(c.Out, experiments.RunGroup)
	defer out.Discard()
	for _, add := range []func() error{
		func() error { return runs[len(runs)-1].Add(out) },
		func() error {
			return out.WriteFile("results.csv", func(w io.Writer) error { return writeTable(w, runs) })
		},
		out.Commit,
	} {
		if err := add(); err != nil {
			out.Discard()
			return fail(err)
		}
	}
	fmt.Printf("UCI letter: %d calibration rows, %d test rows, %d classes; local metrics in the shared embedding\n\n",
		src.Cal.Len(), src.Test.Len(), src.Classes)
	printTable(os.Stdout, runs)
	fmt.Printf("\nwrote the run of vq to %s; look closer with\n  calibra evaluate --in %s/predictions.npz\n", c.Out, c.Out)
	return nil
}
