package cli

import (
	"fmt"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers"
)

// ApplyFlags say what calibra apply and calibra-beam apply write besides the predictions.
type ApplyFlags struct {
	Intervals *float64 `placeholder:"0.9" help:"Write also lower and upper (N×C), intervals of this level by the delta method, for a bilinear map (method vq) or a mixture of maps (corrected, stacked), whose intervals take minutes and leave out the bias of its priors: fewer posteriors lie in them than the level says (66 to 80 of 100 in simulated fits, at 0.9). The features file must hold the calibration rows of the fit; those that calibra fit set aside for validation are left out again."`
	Sets      *float64 `placeholder:"0.9" help:"Write also prediction sets that hold the label with this probability: sets (N×C, 1 where a class is in) within each region of the latent space, sets_marginal over all rows, and sets_region (N). Their scores come from val_features, val_logits and val_labels of the features file, or else from its calibration rows."`
	TwoStage  bool     `help:"Let the intervals count the quantized head's error too: it was fitted to the same rows as the map. Takes --intervals; its matrices have (M+1)·C + 2KC + C rows for M features, K codewords and C classes, 7000 at most."`
}

// Check loads the model that arg names, a directory that calibra fit wrote or the file itself,
// and refuses what no features file can mend.
func (f *ApplyFlags) Check(arg string) error {
	path := modelFile(arg)
	model, _, err := experiments.LoadModel(path)
	if err != nil {
		return err
	}
	file, err := layers.ReadModel(path)
	if err != nil {
		return err
	}
	if file.Scores == data.Probabilities {
		return data.Inputf(path, "was fitted on probabilities, which only calibra apply takes; fit it on their logarithms")
	}
	return f.check(model)
}

// check refuses flags that make no sense, or not for this model.
func (f *ApplyFlags) check(model layers.Stateful) error {
	bounded, one := model.(layers.Bounded)
	_, both := model.(layers.BoundedInStages)
	outside := func(level *float64) bool { return level != nil && !(*level > 0 && *level < 1) }
	switch {
	case f.TwoStage && f.Intervals == nil:
		return usageError{fmt.Errorf("--two-stage widens intervals: give --intervals 0.9 too")}
	case f.Intervals != nil && !one:
		return usageError{fmt.Errorf("--intervals is known for the bilinear map (method vq) and for mixtures of maps (corrected, stacked) only")}
	case f.Intervals != nil && bounded.Unbounded() != nil:
		return usageError{fmt.Errorf("--intervals: %w", bounded.Unbounded())}
	case f.TwoStage && !both:
		return usageError{fmt.Errorf("--two-stage is not known for this model; give --intervals alone")}
	case outside(f.Intervals):
		return usageError{fmt.Errorf("--intervals has the level %g; it must lie between 0 and 1", *f.Intervals)}
	case outside(f.Sets):
		return usageError{fmt.Errorf("--sets has the level %g; it must lie between 0 and 1", *f.Sets)}
	}
	return nil
}
