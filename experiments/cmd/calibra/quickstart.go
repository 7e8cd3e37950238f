package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers/encoders"
	"calibra/optim"
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
	undo, err := experiments.PrepareDir(c.Out)
	if err != nil {
		return err
	}
	src, err := c.encode(ctx)
	if err != nil {
		undo()
		return err
	}
	var runs []*experiments.Run
	for _, method := range []string{"nc", "ts", "vq-nc", "vq"} {
		spec := experiments.Spec{Method: method, Data: "letter", Split: data.PaperText, Seed: c.Seed}
		if m, _ := experiments.MethodByName(method); m.Divides {
			spec.Slots, spec.Codewords = 32, 64
		}
		run, err := spec.Fit(ctx, src, progress)
		if err != nil {
			undo()
			return err
		}
		runs = append(runs, run)
	}
	if err := runs[len(runs)-1].Write(c.Out); err != nil {
		return err
	}
	fmt.Printf("UCI letter: %d calibration rows, %d test rows, %d classes; local metrics in the shared embedding\n\n",
		src.Cal.Len(), src.Test.Len(), src.Classes)
	printTable(os.Stdout, runs)
	fmt.Printf("\nwrote the run of vq to %s; look closer with\n  calibra evaluate --in %s/predictions.npz\n", c.Out, c.Out)
	return nil
}

// encode trains the encoder on 40 % of the letters and gives its features and
// logits of 30 % for calibration and 30 % to test on.
func (c *quickstartCmd) encode(ctx context.Context) (*data.Source, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 1))
	letter := data.Letter()
	parts := letter.Split([]float64{0.4, 0.3, 0.3}, rng)
	encoder := encoders.MLP{Optim: optim.Settings{Epochs: 100, Observe: progress("train the encoder")}}
	if err := encoder.Fit(ctx, parts[0], nil, rng); err != nil {
		return nil, err
	}
	src := &data.Source{Path: "letter", Classes: len(letter.Classes)}
	for i, dst := range []**data.Set{&src.Cal, &src.Test} {
		var err error
		if *dst, err = encoder.Encode(parts[i+1]); err != nil {
			return nil, err
		}
	}
	return src, nil
}
