package cli

import (
	"cmp"
	"errors"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/graph/work"
)

// said is a method's predictions for the test rows.
type said struct {
	name string
	*data.Predictions
}

// portraits are what several methods' predictions for the same rows look like.
func portraits(all []said) ([]report.Shown, error) {
	shown, failed := make([]report.Shown, len(all)), make([]error, len(all))
	work.Each(len(all), 1, func(k int) {
		s := all[k]
		by := metrics.Settings{Rows: s.Counting(), Soft: s.Soft, Groups: s.Groups.Of}
		shown[k].Name = s.name
		var one, other error
		shown[k].Portrait, one = diagnosis.NewPortrait(s.LogProbs, s.Labels, by, rand.New(rand.NewPCG(0, 7)))
		by.Groups = nil
		_, shown[k].Classes, other = metrics.Reliability(s.LogProbs, s.Labels, by)
		failed[k] = cmp.Or(one, other)
	})
	return shown, errors.Join(failed...)
}
