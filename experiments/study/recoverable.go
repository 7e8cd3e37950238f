package study

import (
	"context"
	"fmt"
	"slices"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// recoverable is the NLL that is left on the table.
var recoverable = quantity{metric: metrics.NLL, title: "recoverable NLL", value: func(r *Result) float64 { return r.gain().Value }}

// leastRecoverable is the one-sided 95 % bound of that, over the rows of one seed.
var leastRecoverable = quantity{metric: metrics.NLL, title: "at least", unranked: true, value: func(r *Result) float64 { return r.gain().Low }}

// gain is what is recoverable, NaN where that was not measured.
func (r *Result) gain() metrics.Gain {
	if r.Recoverable == nil {
		return metrics.Gain{Value: nan, Low: nan}
	}
	return *r.Recoverable
}

// leftOnTheTable is the NLL that corrections of the classifier, cross-fitted on the test
// rows, show to be recoverable from each method's predictions.
func leftOnTheTable(_ context.Context, f *Findings) (*report.Section, error) {
	if !slices.ContainsFunc(f.Results, func(r *Result) bool { return r != nil && r.Recoverable != nil }) {
		return nil, nil
	}
	return &report.Section{
		Title: "Nats left on the table",
		Note: "The classifier's probabilities are corrected by what they and the features tell on the other folds of the test rows. " +
			"How far the NLL of a method lies above that of this correction is on average a lower bound of its divergence from the truth; it is negative where the method is the better one. " +
			"One correction serves all methods, so they rank as by NLL. “At least” is the mean of the seeds' one-sided 95 % bounds over the rows.",
		Tables: []*report.Table{f.table(fmt.Sprintf("Recoverable NLL in nats a row, seeds: %d.", len(f.Settings.Seeds)), []quantity{recoverable, leastRecoverable})},
	}, nil
}
