package layers

import (
	"context"
	"errors"
	"fmt"
	"math"

	"calibra/data"
)

// Choice is the result of [Choose].
type Choice[T any] struct {
	At     int       // place of the chosen candidate; -1: none
	Of     T         // what its trial made
	Loss   float64   // its loss
	Losses []float64 // of the candidates tried, in their order; NaN of those left out
	// Failed is empty, or states how many were left out for another reason than a [*SettingError].
	Failed string
}

// Choose tries candidates in turn and keeps the one with the least loss, the first one on
// ties. A trial fits a candidate and gives the fit with its loss on rows that the fit
// did not see: rows held out ([HeldOutLoss]), or the folds of a cross-validation ([Folds]).
// Rows, seed and whatever else trials share are made before them, so that only the candidates
// differ.
//
// A candidate whose trial fails, or whose loss is not finite, is left out, and Failed states it,
// unless the rows do not allow it (a [*SettingError]). If all are left out, the error is the
// first one's. A cancelled ctx ends the choice, with the best until then or, in the first trial, with
// what that made.
func Choose[T any](ctx context.Context, candidates int, try func(at int) (T, float64, error)) (Choice[T], error) {
	c := Choice[T]{At: -1, Loss: math.Inf(1)}
	var refused, failed []error
	for at := range candidates {
		made, loss, err := try(at)
		if err != nil && ctx.Err() != nil {
			if c.At < 0 {
				c.Of = made
			}
			return c, err
		}
		if err == nil && loss-loss != 0 {
			err = fmt.Errorf("layers: the held-out loss is %v", loss)
		}
		switch setting := new(SettingError); {
		case err == nil && loss < c.Loss:
			c.At, c.Of, c.Loss = at, made, loss
		case err != nil:
			loss = math.NaN()
			if refused = append(refused, err); !errors.As(err, &setting) {
				failed = append(failed, err)
			}
		}
		c.Losses = append(c.Losses, loss)
	}
	switch {
	case c.At < 0 && refused == nil:
		return c, &SettingError{"there is nothing to choose among"}
	case c.At < 0:
		return c, refused[0]
	case failed != nil:
		c.Failed = fmt.Sprintf("%d of %d candidates could not be fitted, the first as %v", len(failed), candidates, failed[0])
	}
	return c, nil
}

// leastLogProb is the least that a row's log p counts for, so that a probability of 0 costs a
// finite loss.
const leastLogProb = -12 * math.Ln10

// HeldOutLoss is the mean, by weight, of −log p of the labels of rows that a calibrator was not fitted to, no
// log p below ln 1e-12.
func HeldOutLoss(c Calibrator, held *data.Set) (float64, error) {
	if c == nil || held == nil {
		return 0, errors.New("layers: there is no calibrator, or no rows, to judge it by")
	}
	p, err := c.Predict(held)
	if err != nil {
		return 0, err
	}
	if err := checkLabels(held, p.LogProbs.RawMatrix().Cols); err != nil {
		return 0, err
	}
	return held.MeanNLL(p.LogProbs, leastLogProb), nil
}

// Division is how finely a latent space is divided: w and K.
type Division struct{ Slots, Codewords int }

// String names the division in an error.
func (d Division) String() string {
	return fmt.Sprintf("%d slots and %d codewords", d.Slots, d.Codewords)
}

// Tried is a division that was tried and its held-out loss.
type Tried struct {
	Division
	Loss   float64
	Chosen bool
}

// Tries are those divisions that a choice among all did not leave out.
func Tries[T any](all []Division, c Choice[T]) (tried []Tried) {
	for i, loss := range c.Losses {
		if !math.IsNaN(loss) {
			tried = append(tried, Tried{all[i], loss, i == c.At})
		}
	}
	return tried
}
