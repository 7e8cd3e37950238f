package cli

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/rowcheck"
	"calibra/experiments/run"
	"calibra/experiments/study"
	"calibra/experiments/verdict"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// shift weighs the methods with new priors, as calibra apply --new-priors estimate finds them from the test rows, where
// the classes of these are more or less frequent than those of the calibration rows. Where one of them is what to use,
// and gains more than any without, these runs and their verdict stand in the place of the others.
func (w *weighed) shift(ctx context.Context, run *run.Run) error {
	if !rowcheck.ClassesDiffer(run.Source.Cal, run.Source.Test) {
		return nil
	}
	with := &weighed{}
	var found *layers.ShiftEstimate
	for _, r := range w.runs {
		if r.Spec.Method != verdict.Classifier {
			shifted, priors, err := underNewPriors(ctx, r, run)
			if shifted == nil || err != nil {
				return err
			}
			if r = *shifted; found == nil || r.Spec.Method == simplest {
				found = priors
			}
		}
		with.runs = append(with.runs, r)
	}
	with.judge()
	if with.verdict.Say != verdict.Use || w.verdict.Say == verdict.Use && w.verdict.Difference <= with.verdict.Difference {
		return nil
	}
	names := run.Source.Cal.Names.Classes
	name := func(y int) string {
		if names == nil { // a number says nothing by itself
			return fmt.Sprintf("class %d", y)
		}
		return data.Line(names[y])
	}
	with.verdict.Shift(fmt.Sprintf("The classes are not as frequent as among the calibration rows: %s.", found.LabelShift.String(name)))
	*w = *with
	return nil
}

// remedy are the commands that fit a method and apply it, with new priors where the verdict is that the classes
// changed.
func remedy(v *verdict.Verdict, commands []string) []string {
	if n := len(commands); n > 0 && v.Cause == verdict.Shifted {
		commands[n-1] += " --new-priors " + estimate
	}
	return commands
}

// underNewPriors is a run whose predictions have new priors, nil where those do not differ by more than chance.
func underNewPriors(ctx context.Context, r study.Weighed, fit *run.Run) (*study.Weighed, *layers.ShiftEstimate, error) {
	cal, err := run.Predict(r.Model, r.Source.Cal)
	if err != nil {
		return nil, nil, err
	}
	if cal, err = data.NewPredictions(cal.LogProbs, r.Source.Cal); err != nil {
		return nil, nil, err
	}
	p := *r.Outcome.Predictions
	p.LogProbs = mat.DenseCopyOf(p.LogProbs)
	rng := rand.New(rand.NewPCG(0, shiftStream))
	found, err := layers.PredictedOf(cal.LogProbs, r.Source.Cal.Weights).Estimate(ctx, p.LogProbs, p.Weights, rng)
	if err != nil || !found.Shifted {
		return nil, nil, err
	}
	if err := found.Apply(fit.Spec.Data, p.LogProbs); err != nil {
		return nil, nil, err
	}
	floors, err := measured(ctx, &p, fit)
	if err != nil {
		return nil, nil, err
	}
	moved := *r.Run
	moved.Outcome = &run.Outcome{Predictions: &p, Shared: r.Outcome.Shared, Metrics: floors}
	return &study.Weighed{Run: &moved, Title: r.Title + " with new priors", Floors: floors, Unasked: r.Unasked}, found, nil
}
