package main

import (
	"math"

	"calibra/experiments/method"
)

// mine is the mean spherical score of the rows,
//
//	p_y / ‖p‖₂ ,
//
// a proper score: its expectation over y ~ q is largest at p = q. More is better. Interval, noise floor and paired
// tests follow from Row; a metric that is no mean over rows has All in its place.
var mine = method.Metric{
	Key: "mine", Title: "Spherical", HigherIsBetter: true,
	Row: func(logProbs []float64, label int) float64 {
		sum := 0.
		for _, l := range logProbs {
			sum += math.Exp(2 * l)
		}
		return math.Exp(logProbs[label]) / math.Sqrt(sum)
	},
}
