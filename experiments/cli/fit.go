package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"text/tabwriter"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers/anchored"
	"calibra/optim"
)

type fitCmd struct {
	In     string        `required:"" type:"path" placeholder:"F.npz" help:"Features file with cal_features, cal_logits, cal_labels and, to be judged on, test_*."`
	Method string        `default:"vq" placeholder:"NAME" help:"What to fit (${default}); calibra methods lists all."`
	Split  data.Protocol `placeholder:"paper|tables|none" help:"Where validation rows come from: 10 % of the calibration rows (paper), 10 % of the test rows (tables), or nowhere (none). Without it, paper for methods that stop early and none for the others."`
	Seed   uint64        `default:"0" help:"Seed of split, initial weights and batches (${default})."`
	Out    string        `required:"" type:"path" placeholder:"DIR" help:"Directory for config.json, metrics.json, model.safetensors and predictions.npz."`

	settingFlags
	deviceFlag
}

func (fitCmd) Help() string {
	return `Example:

  calibra fit --in features.npz --method vq --out runs/vq
  calibra fit --in features.npz --method ts --split none --out runs/ts
  calibra fit --in features.npz --method auto --out runs/auto
  calibra fit --in features.npz --method stacked --out runs/stacked

A file with val_* rows is validated on them under paper and tables. With --split none
all calibration rows are fitted; a method that stops early first finds its number of
epochs on nine tenths of them, validated on the last. Ctrl-C keeps what was learned
so far as model.safetensors.`
}

func (c *fitCmd) Run(ctx context.Context, methods *experiments.Catalog) error {
	settings, err := c.values(methods, []string{c.Method})
	if err != nil {
		return err
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	src, err := data.Open(c.In)
	if err != nil {
		return err
	}
	warnEmptyClasses(src)
	undo, err := experiments.PrepareDir(c.Out, experiments.RunGroup, experiments.RunFiles...)
	if err != nil {
		return err
	}
	spec := experiments.Spec{Catalog: methods, Executor: executor, Method: c.Method, Data: filepath.Base(c.In), Split: c.Split, Seed: c.Seed}
	if c.Split == "" {
		method, _ := methods.Find(c.Method)
		spec.Split = method.Split()
	}
	if err := spec.Use(settings[c.Method]); err != nil {
		return err
	}
	run, err := spec.Fit(ctx, src, progress)
	if errors.Is(err, context.Canceled) && run != nil {
		if _, statErr := os.Stat(filepath.Join(c.Out, "model.safetensors")); statErr == nil {
			return fmt.Errorf("%w; the model that was in %s before is kept", err, c.Out)
		}
		if writeErr := run.Write(c.Out); writeErr != nil {
			undo()
			return fmt.Errorf("%s was not fitted yet and nothing was written: %w", c.Method, ctx.Err())
		}
		return fmt.Errorf("%w; the model as far as it was learned is in %s", err, c.Out)
	}
	if err != nil {
		undo()
		return err
	}
	if err := run.Write(c.Out); err != nil {
		undo()
		return err
	}
	fmt.Fprint(os.Stderr, c.notice)
	for _, s := range run.Stages {
		fmt.Fprintf(os.Stderr, "%s: %s after %d epochs, weights of epoch %d kept, %.1f s\n", s.Name, s.Result.Ended, s.Result.Epochs, s.Result.Best, s.Time.Seconds())
	}
	switch m := run.Model.(type) {
	case *anchored.Auto:
		if len(m.Ranking) > 1 {
			printRanking(os.Stdout, m.Ranking, nil)
			fmt.Println()
		}
	case *anchored.Stack:
		printRanking(os.Stdout, m.Ranking, m.Shares())
		fmt.Printf("the mixture's held-out NLL is %.4f ± %.4f, at temperature %.3f\n\n", m.NLL, m.Error, m.T())
	}
	if run.Outcome == nil {
		fmt.Printf("wrote %s; %s has no labelled test rows to judge it on\n", c.Out, filepath.Base(c.In))
		return nil
	}
	printTable(os.Stdout, []*experiments.Run{run})
	fmt.Printf("\nwrote %s\n", c.Out)
	return nil
}

// printRanking shows what cross-validation says of the candidates: the one that auto
// keeps marked, or the share of each in a mixture.
func printRanking(out io.Writer, ranking []anchored.Ranked, shares []float64) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	last := ""
	if shares != nil {
		last = "share"
	}
	fmt.Fprintf(w, "candidate\theld-out NLL\t± s.e.\tabove the least\t± s.e.\taccuracy lost\t± s.e.\t%s\t\n", last)
	for i, r := range ranking {
		chosen := ""
		switch {
		case shares != nil:
			chosen = fmt.Sprintf("%.3f", shares[i])
		case r.Chosen:
			chosen = "chosen"
		}
		fmt.Fprintf(w, "%s\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%s\t\n", r.Name, r.NLL, r.Error, r.Excess, r.ExcessError, r.Lost, r.LostError, chosen)
	}
	w.Flush()
}

// progress observes a stage on stderr.
func progress(stage string) func(optim.Epoch) { return optim.Progress(os.Stderr, stage) }

// warnEmptyClasses says which classes no calibration row has.
func warnEmptyClasses(src *data.Source) {
	if src.Cal == nil || src.Cal.Labels == nil {
		return
	}
	if empty := src.EmptyClasses(); len(empty) > 0 {
		const most = 10
		names := fmt.Sprint(empty[:min(most, len(empty))])
		if len(empty) > most {
			names += fmt.Sprintf(" and %d more of %d classes", len(empty)-most, src.Classes)
		}
		fmt.Fprintf(os.Stderr, "calibra: warning: no calibration row is of class %s; their probabilities cannot be calibrated\n", names)
	}
}
