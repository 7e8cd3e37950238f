package main

import (
	"math"

	"calibra/experiments"
)

// spherical is the spherical score p_y/‖p‖ of a row, a proper score of which more is better.
var spherical = experiments.Metric{
	Key: "spherical", Title: "Spherical", HigherIsBetter: true,
	Row: func(logProbs []float64, label int) float64 {
		sum := 0.
		for _, l := range logProbs {
			sum += math.Exp(2 * l)
		}
		return math.Exp(logProbs[label]) / math.Sqrt(sum)
	},
}
