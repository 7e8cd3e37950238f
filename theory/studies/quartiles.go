package studies

import (
	"slices"

	"calibra/theory"

	"gonum.org/v1/gonum/stat"
)

// quartiles is the median with the quartiles as its interval.
func quartiles(values []float64) theory.Estimate {
	sorted := slices.Sorted(slices.Values(values))
	at := func(p float64) float64 { return stat.Quantile(p, stat.LinInterp, sorted, nil) }
	return theory.Estimate{Value: at(0.5), Low: at(0.25), High: at(0.75)}
}

func median(values []float64) float64 { return quartiles(values).Value }
