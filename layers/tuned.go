package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/optim"
)

// Tuned chooses how finely the latent space is divided, w slots and K codewords, by the
// loss on validation rows: one calibrator for each pair is fitted to the calibration rows,
// and the one with the least is kept. The paper's authors set both by hand for each data
// set, and no one value serves all: too few slots lose what the classifier knew, too many
// codewords leave none enough rows.
//
// Without validation rows a tenth of the calibration rows, stratified, chooses in their
// place, and the choice is fitted once more to all rows for as many epochs as it took.
type Tuned struct {
	// New makes the calibrator of w slots and K codewords. Epochs, by the name of a stage,
	// are how long it is to train, 0 where it keeps its start; nil: as long as its validation
	// rows ask for.
	New       func(slots, codewords int, epochs map[string]int) *Trained
	Slots     []int // that divide M, others are left out; nil: the divisors of M from 16 to 256
	Codewords []int // nil: 16, 64, 256; more than rows are left out

	Tried []Tried // of the last Fit, in the order of fitting

	*Trained // the choice; New(0, 0, nil) before Fit or Restore
}

// Tried is a pair and its mean loss on the validation rows.
type Tried struct {
	Slots, Codewords int
	Loss             float64
	Chosen           bool
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
	best, chosen := math.Inf(1), -1
	for _, pair := range t.pairs(fit) {
		c := t.New(pair.Slots, pair.Codewords, nil)
		if err := c.Fit(ctx, fit, judge, rand.New(rand.NewPCG(seed, 0))); err != nil {
			if ctx.Err() != nil && chosen < 0 {
				t.Trained = c // what there is, as its own Fit keeps it
			}
			return fmt.Errorf("with %d slots and %d codewords: %w", pair.Slots, pair.Codewords, err)
		}
		loss, err := c.MeanNLL(judge)
		if err != nil {
			return err
		}
		pair.Loss = loss
		t.Tried = append(t.Tried, pair)
		if loss < best {
			best, chosen, t.Trained = loss, len(t.Tried)-1, c
		}
	}
	if chosen < 0 {
		_, m := cal.Features.Dims()
		return &SettingError{fmt.Sprintf("none of the slots %v divides %d features, or none of the codewords %v is at most the %d rows", t.Slots, m, t.Codewords, fit.Len())}
	}
	t.Tried[chosen].Chosen = true
	if val == nil {
		t.Trained = t.New(t.Tried[chosen].Slots, t.Tried[chosen].Codewords, BestEpochs(t.Trained))
		if err := t.Trained.Fit(ctx, cal, nil, rand.New(rand.NewPCG(seed, 0))); err != nil {
			return err
		}
	}
	result := optim.Result{Epochs: len(t.Tried), Best: chosen + 1, Validation: best, Loss: math.NaN(), GradientNorm: math.NaN(), Converged: true,
		Ended: fmt.Sprintf("%d slots and %d codewords have the least validation loss of %d pairs", t.Tried[chosen].Slots, t.Tried[chosen].Codewords, len(t.Tried))}
	t.stages = append([]Stage{{"tune", result, time.Since(start)}}, t.stages...)
	return nil
}

// pairs are those that the rows allow.
func (t *Tuned) pairs(cal *data.Set) []Tried {
	_, m := cal.Features.Dims()
	slots, codewords := t.Slots, t.Codewords
	if slots == nil {
		for w := min(16, m); w <= min(m, 256); w++ {
			slots = append(slots, w)
		}
	}
	if codewords == nil {
		codewords = []int{16, 64, 256}
	}
	var pairs []Tried
	for _, w := range slots {
		for _, k := range codewords {
			if w > 0 && m%w == 0 && k <= cal.Len() {
				pairs = append(pairs, Tried{Slots: w, Codewords: k})
			}
		}
	}
	return pairs
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

// Predict gives the posterior of the choice.
func (t *Tuned) Predict(x *data.Set) (*data.Predictions, error) {
	if t.Trained == nil {
		return nil, ErrUnfitted
	}
	return t.Trained.Predict(x)
}

// State is that of the choice.
func (t *Tuned) State() (State, error) {
	if t.Trained == nil {
		return State{}, ErrUnfitted
	}
	return t.Trained.State()
}
