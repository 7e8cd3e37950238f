package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/data"
	"calibra/optim"
)

// Tuned chooses how finely the latent space is divided, w slots and K codewords, by the
// loss on validation rows: one calibrator for each pair is fitted to the calibration rows,
// and the one with the least is kept ([Choose]). The paper's authors set both by hand for each data
// set, and no one value serves all: too few slots lose what the classifier knew, too many
// codewords leave none enough rows.
//
// Without validation rows a tenth of the calibration rows, stratified, chooses in their
// place, and the choice is fitted once more to all rows for as many epochs as it took.
type Tuned struct {
	// New makes the calibrator of w slots and K codewords. Epochs, by the name of a stage,
	// are how long it is to train, 0 where it keeps its start; nil: as long as its validation
	// rows require.
	New       func(slots, codewords int, epochs map[string]int) *Trained
	Slots     []int // nil: the divisors of M from 16 to 256
	Codewords []int // nil: 16, 64, 256

	Tried []Tried // of the last Fit, in the order of fitting

	*Trained // the choice; New(0, 0, nil) before Fit or Restore
}

var _ Stateful = (*Tuned)(nil)

// Fit fits one calibrator for each pair, from one seed drawn from rng, so that pairs differ
// in w and K alone. An interrupted fit keeps the best so far, if there is one.
func (t *Tuned) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	start := time.Now()
	t.Tried, t.Trained = nil, t.New(0, 0, nil)
	if cal.Features == nil || cal.Labels == nil {
		return errors.New("layers: choosing the slots needs features and labels of the calibration rows")
	}
	fit, judge := cal, val
	if val == nil {
		fit, judge = Probe(cal, rng)
	}
	seed := rng.Uint64()
	_, m := cal.Features.Dims()
	all := t.divisions(m)
	costs := tuningCosts(all, val == nil)
	choice, err := Choose(ctx, len(all), func(at int) (*Trained, float64, error) {
		c := t.New(all[at].Slots, all[at].Codewords, nil)
		if err := c.Fit(optim.Piece(ctx, fmt.Sprintf("w = %d, K = %d", all[at].Slots, all[at].Codewords), at, costs...), fit, judge, rand.New(rand.NewPCG(seed, 0))); err != nil {
			return c, 0, fmt.Errorf("with %v: %w", all[at], err)
		}
		loss, err := HeldOutLoss(c, judge)
		return c, loss, err
	})
	if t.Tried = Tries(all, choice); choice.Of != nil {
		t.Trained = choice.Of
	}
	if err != nil {
		return err
	}
	chosen := all[choice.At]
	if val == nil {
		t.Trained = t.New(chosen.Slots, chosen.Codewords, BestEpochs(t.Trained))
		if err := t.Trained.Fit(optim.Piece(ctx, "the best to all rows", len(all), costs...), cal, nil, rand.New(rand.NewPCG(seed, 0))); err != nil {
			return err
		}
	}
	result := optim.Result{Epochs: len(t.Tried), Best: slices.IndexFunc(t.Tried, func(d Tried) bool { return d.Chosen }) + 1, Validation: choice.Loss, Loss: math.NaN(), GradientNorm: math.NaN(), Status: optim.NoBetterValidation,
		Ended: fmt.Sprintf("%v have the least validation loss of %d pairs", chosen, len(t.Tried))}
	if choice.Failed != "" {
		result.Ended += "; " + choice.Failed
	}
	t.stages = append([]Stage{{"tune", result, time.Since(start)}}, t.stages...)
	return nil
}

// tuningCosts are what the fits of the divisions take: time grows with the square root of w and K. The last, where
// there is one more, is of the choice to all rows.
func tuningCosts(all []Division, more bool) []float64 {
	var costs []float64
	var sum float64
	for _, d := range all {
		costs = append(costs, math.Sqrt(float64(d.Slots*d.Codewords)))
		sum += costs[len(costs)-1]
	}
	if more {
		costs = append(costs, sum/float64(max(1, len(all))))
	}
	return costs
}

// divisions are those to choose among for M features.
func (t *Tuned) divisions(m int) (all []Division) {
	slots, codewords := t.Slots, t.Codewords
	if slots == nil {
		for w := min(16, m); w <= min(m, 256); w++ {
			if m%w == 0 {
				slots = append(slots, w)
			}
		}
	}
	if codewords == nil {
		codewords = []int{16, 64, 256}
	}
	for _, w := range slots {
		for _, k := range codewords {
			all = append(all, Division{w, k})
		}
	}
	return all
}

// Restore makes a calibrator of the sizes that the state names and restores it.
func (t *Tuned) Restore(s State) error {
	c := t.New(0, 0, nil)
	if err := c.Restore(s); err != nil {
		return err
	}
	t.Tried, t.Trained = nil, c
	return nil
}
