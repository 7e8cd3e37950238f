//go:build modules

package main

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// TestBias: logits that say nothing become the shares of the classes.
func TestBias(t *testing.T) {
	cal := &data.Set{Logits: mat.NewDense(10, 3, nil), Labels: []int{0, 0, 0, 0, 0, 0, 1, 1, 1, 2}}
	m := &Bias{Steps: 20}
	if err := m.Fit(context.Background(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	p, err := m.Predict(cal)
	if err != nil {
		t.Fatal(err)
	}
	for class, share := range []float64{.6, .3, .1} {
		if got := math.Exp(p.LogProbs.At(0, class)); !(math.Abs(got-share) < 1e-12) { // one step solves it, to rounding
			t.Errorf("class %d has probability %v, not %v", class, got, share)
		}
	}
}

// TestMethod holds the fitted calibrator to the laws of all calibrators.
func TestMethod(t *testing.T) {
	build := func() layers.Stateful {
		c, _, err := mine.Build(method.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := layers.CheckCalibrator(build, rand.New(rand.NewPCG(1, 0))); err != nil {
		t.Error(err)
	}
}
