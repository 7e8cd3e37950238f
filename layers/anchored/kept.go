package anchored

import (
	"context"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// kept is a classifier that a mixture keeps: softmax(logits/T).
type kept struct {
	T   float64 `json:"temperature"` // 1: as it is
	nll float64 // mean loss of the held-out rows
}

// keptPrior is the standard deviation of log T ([layers.Temperature.Prior]). Of rows with hardly an error a free T would be
// far below 1, which the first wrong row then pays for.
const keptPrior = 0.2

// keep chooses T = 1, by which the held-out rows lose before on average, unless temperature scaling loses less by more than
// the standard error of the difference.
func (c *contest) keep(ctx context.Context, before float64) (kept, error) {
	rows := *c.aims
	rows.Logits = c.logits
	gains := make([]float64, rows.Len())
	for _, fold := range c.divided {
		part := rows.Rows(fold.Held)
		m := layers.Temperature{Prior: keptPrior}
		if err := m.Fit(ctx, rows.Rows(fold.Fit), nil, nil); err != nil {
			return kept{}, err
		}
		p := (kept{T: m.T()}).posterior(part)
		for i, row := range fold.Held {
			gains[row] = c.before[row] - part.CrossEntropy(i, p.RawRowView(i))
		}
	}
	gain, standardError := meanError(gains, rows.Weights)
	if !(gain > standardError) {
		return kept{1, before}, nil
	}
	m := layers.Temperature{Prior: keptPrior}
	err := m.Fit(ctx, &rows, nil, nil)
	return kept{m.T(), before - gain}, err
}

// posterior is that of rows (N×C).
func (k kept) posterior(x *data.Set) *mat.Dense {
	logits := mat.DenseCopyOf(data.LogProbs(x.Logits))
	logits.Scale(1/k.T, logits)
	return layers.LogSoftmax(logits)
}
