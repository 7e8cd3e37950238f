//go:build modules

package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"calibra/experiments/method"
)

// TestByHand: of p = (.6, .8)/1.4 the score of the second class is .8/√(.36 + .64) = .8; a class that cannot be has 0.
func TestByHand(t *testing.T) {
	if got := mine.Row([]float64{math.Log(.6 / 1.4), math.Log(.8 / 1.4)}, 1); math.Abs(got-.8) > 1e-15 { // one rounding
		t.Errorf("the score is %v, not .8", got)
	}
	if got := mine.Row([]float64{0, math.Inf(-1)}, 1); got != 0 {
		t.Errorf("a class that cannot be has %v", got)
	}
}

// TestProper: over labels drawn from q no other prediction has a higher mean score than q.
func TestProper(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	draw := func() (logs []float64) {
		x, sum := []float64{rng.ExpFloat64(), rng.ExpFloat64(), rng.ExpFloat64()}, 0.
		for _, v := range x {
			sum += v
		}
		for _, v := range x {
			logs = append(logs, math.Log(v/sum))
		}
		return logs
	}
	mean := func(p, q []float64) (score float64) {
		for y, l := range q {
			score += math.Exp(l) * mine.Row(p, y)
		}
		return score
	}
	for range 1000 {
		if q, p := draw(), draw(); mean(p, q) > mean(q, q) {
			t.Fatalf("under %v a prediction of %v scores more", q, p)
		}
	}
}

// TestKnown: calibra takes the metric.
func TestKnown(t *testing.T) {
	if _, err := method.JoinCatalog(mine); err != nil {
		t.Error(err)
	}
}
