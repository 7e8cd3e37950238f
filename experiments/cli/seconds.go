package cli

import (
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/graph/work"
)

// What parts of commands take on data of a size, in seconds on a core like that of testdata/paces.csv. What is done on
// all cores takes less on more of them.

// shared is what takes so many seconds on one core and is done on all.
func shared(seconds float64) float64 { return seconds / float64(work.Threads()) }

// fitting is for a fit, [place], [weigh] and the page.
func fitting(spec run.Spec, s source.Size) []float64 {
	return []float64{shared(spec.Expected(s)), placing(s, placedRows), weighing(s), drawing(s)}
}

// placing is for [place].
func placing(s source.Size, most int) float64 {
	if s.Features == 0 || s.Tested < diagnosis.FewestRows || s.Tested > most {
		return 0
	}
	return diagnosis.Expected(s.Tested, s.Features, s.Classes)
}

// evaluating is for an evaluation with corrections.
func evaluating(s source.Size) float64 {
	n, c := float64(s.Tested), float64(s.Classes)
	return shared(n*(2.7e-4+1e-5*c) + metrics.Expected(s.Tested, s.Classes))
}

// weighing is for [weigh] where the recommended method is no part of it.
func weighing(s source.Size) float64 {
	n, c := float64(s.Tested), float64(s.Classes)
	if s.Tested > localRows {
		return 2e-5 * n
	}
	return 2e-5*n + shared(4*n*n*(5e-9+5e-10*c))
}

// judging is for [weigh] beside the classifier, which nothing is measured locally for.
func judging(s source.Size) float64 {
	return float64(s.Tested) * (1e-5 + 2e-6*float64(s.Classes))
}

// drawing is for a page.
func drawing(s source.Size) float64 { return .1 + 3e-5*float64(s.Tested) }
