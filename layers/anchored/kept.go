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

// keptPrior is the standard deviation of log T ([layers.Temperature.Prior]). Of rows with hardly an error a free T
// would be far below 1, which the first wrong row then pays for.
const keptPrior = 0.2

// keep chooses T = 1, by which the rows lose before, unless temperature scaling loses less of rows that the folds hold
// out, by more than the standard error of the difference.
func keep(ctx context.Context, rows *data.Set, before []float64, folds []layers.Fold) (kept, error) {
	gains := make([]float64, rows.Len())
	for _, fold := range folds {
		part := rows.Rows(fold.Held)
		m := layers.Temperature{Prior: keptPrior}
		if err := m.Fit(ctx, rows.Rows(fold.Fit), nil, nil); err != nil {
			return kept{}, err
		}
		p := (kept{T: m.T()}).posterior(part)
		for i, row := range fold.Held {
			gains[row] = before[row] - part.CrossEntropy(i, p.RawRowView(i))
		}
	}
	mean, _ := meanError(before, rows.Weights)
	gain, standardError := meanError(gains, rows.Weights)
	if !(gain > standardError) {
		return kept{1, mean}, nil
	}
	m := layers.Temperature{Prior: keptPrior}
	err := m.Fit(ctx, rows, nil, nil)
	return kept{m.T(), mean - gain}, err
}

// posterior is that of rows (N×C).
func (k kept) posterior(x *data.Set) *mat.Dense {
	logits := mat.DenseCopyOf(data.LogProbs(x.Logits))
	logits.Scale(1/k.T, logits)
	return layers.LogSoftmax(logits)
}
