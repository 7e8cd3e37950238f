package cli

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/rowcheck"
	"calibra/experiments/run"
	"calibra/experiments/study"
	"calibra/experiments/verdict"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// shiftStream is the stream of random numbers of the test against no shift.
const shiftStream = 17

// estimate in place of a file of priors asks for those under which the rows are likeliest.
const estimate = "estimate"

// shift is the label shift that the flags name, without its new priors where they are to be estimated; nil where none
// is.
func (c *applyCmd) shift(m saved) (*layers.LabelShift, error) {
	if c.NewPriors == "" {
		return nil, nil
	}
	profile := m.file.Profile
	if profile == nil || profile.ByLabel == nil || profile.Predicted == nil {
		return nil, data.Inputf(c.Model, "does not say how often it predicts each class of the rows that it was fitted to, "+
			"which --new-priors needs; fit it again")
	}
	s := &layers.LabelShift{Old: profile.Predicted.Priors()}
	if c.NewPriors == estimate {
		return s, nil
	}
	var err error
	names := m.file.Names.Classes
	if s.New, err = data.ReadPriors(c.NewPriors, len(s.Old), names); err != nil {
		return nil, err
	}
	shares := profile.ByLabel.Priors()
	for y, p := range s.New {
		if p > 0 && (y >= len(shares) || shares[y] == 0) {
			return nil, data.Inputf(c.NewPriors, "gives the class %s the prior %.3g, and none of the model's calibration rows was of that class; give it 0, or fit to rows that have it", data.ClassName(names, y), p)
		}
	}
	return s, nil
}

// held compares the rows with those of the fit. Where the classes alone are more or less frequent, nothing of the
// logits is odd.
func (c *applyCmd) held(t *terminal, m saved, shift *layers.LabelShift, x *data.Set) *layers.Comparison {
	sample := layers.NewSample(x.Len())
	sample.Add(x)
	profile := m.file.Profile
	if shift == nil {
		return profile.Compare(sample)
	}
	test := profile.ByLabel.Test(x, shift.New)
	switch {
	case test == nil:
		t.note("whether the shift is in the labels cannot be tested: it takes logits of at most 114 classes, and ten rows for each cell of the test")
	case !test.Elsewhere():
		return profile.CompareShifted(sample)
	case shift.New == nil:
		t.warn("label_shift", "warning: %s: the shift is not, or not only, in the labels: whatever the new priors, %.0f %% of the rows would have other predictions (p %.2g). The probabilities may be wrong; label some of these rows and fit to them.", c.In, 100*test.Apart, test.PValue)
	default:
		t.warn("priors", "warning: %s: these priors do not explain the rows: under them %.0f %% of the rows would have other predictions (p %.2g). The priors are others, or the shift is not in the labels alone; --new-priors estimate tells them apart.", c.In, 100*test.Apart, test.PValue)
	}
	return profile.Compare(sample)
}

// reweigh gives the predictions the new priors of the shift, which it estimates where they are not known, and says what
// they are. The predictions stay as they are where the estimate does not differ from the old priors by more than
// chance.
func (c *applyCmd) reweigh(ctx context.Context, t *terminal, m saved, shift *layers.LabelShift, p *data.Predictions) ([]data.Array, error) {
	if shift == nil {
		return nil, nil
	}
	name := func(y int) string { return data.Line(data.ClassName(p.ClassNames, y)) }
	var arrays []data.Array
	said, stays := "", false
	if shift.New == nil {
		found, err := m.file.Profile.Predicted.Estimate(ctx, p.LogProbs, p.Weights, rand.New(rand.NewPCG(0, shiftStream)))
		if err != nil {
			return nil, err
		}
		shift, said, stays = &found.LabelShift, found.String(name), !found.Shifted
		arrays = []data.Array{
			{Name: "new_priors_lower", Value: found.Lower}, {Name: "new_priors_upper", Value: found.Upper},
			{Name: "new_priors_p", Value: []float64{found.PValue}},
		}
	} else {
		said = "new priors: " + shift.String(name)
	}
	c.say(t, "new_priors", said)
	if !stays {
		before := mat.DenseCopyOf(p.LogProbs)
		if err := shift.Apply(c.In, p.LogProbs); err != nil {
			return nil, err
		}
		gain, err := gained(p, before)
		if err != nil {
			return nil, err
		}
		c.say(t, "new_priors_gain", gain)
	}
	if data.IsTable(c.Out) {
		return nil, nil // it has room for rows alone
	}
	return append([]data.Array{{Name: "new_priors", Value: shift.New}}, arrays...), nil
}

// gained says what new priors do to the NLL of rows, "" where these have no labels.
func gained(p *data.Predictions, before *mat.Dense) (string, error) {
	if p.Labels == nil {
		return "", nil
	}
	x := &data.Set{Labels: p.Labels, Soft: p.Soft, Weights: p.Weights}
	law, err := metrics.NewLaw(p.LogProbs, before, p.Labels, metrics.Settings{Rows: p.Weights, Soft: p.Soft})
	if err != nil {
		return "", err
	}
	compared, err := metrics.Ties{Law: law}.Compare(metrics.NLL, losses(x, p.LogProbs), losses(x, before))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("the change of the NLL of these rows by their labels: %s", verdict.NewDifference(*compared, compared.PValue)), nil
}

// losses are of each row the cross-entropy times N w_i/Σ w.
func losses(x *data.Set, logProbs *mat.Dense) []float64 {
	out, row := make([]float64, x.Len()), make([]float64, logProbs.RawMatrix().Cols)
	for i := range out {
		for k, l := range logProbs.RawRowView(i) {
			row[k] = math.Max(l, metrics.LeastLogProb)
		}
		out[i] = x.CrossEntropy(i, row) * x.Weight(i) * float64(x.Len()) / x.Total()
	}
	return out
}

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
