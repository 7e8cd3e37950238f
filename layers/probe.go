package layers

import (
	"math/rand/v2"

	"calibra/data"
)

// Staged is a calibrator that is fitted in stages, or a [Base] whose own are shown before its map's.
type Staged interface {
	// Stages tells how the last Fit went.
	Stages() []Stage
}

// Probe divides calibration rows where nobody brought validation rows: a first fit is to nine
// tenths of them, stratified, and the last judges it. The fit that is kept is then to all rows,
// for as many epochs as [BestEpochs] of the first says.
func Probe(cal *data.Set, rng *rand.Rand) (fit, judge *data.Set) {
	parts := data.Stratify(cal.Labels, []float64{0.9, 0.1}, rng)
	return cal.Rows(parts[0]), cal.Rows(parts[1])
}

// BestEpochs is how long each stage of a fitted calibrator trained until it was best, 0 where
// that was its start.
func BestEpochs(c Calibrator) map[string]int {
	epochs := map[string]int{}
	if s, ok := c.(Staged); ok {
		for _, stage := range s.Stages() {
			epochs[stage.Name] = stage.Result.Best
		}
	}
	return epochs
}
