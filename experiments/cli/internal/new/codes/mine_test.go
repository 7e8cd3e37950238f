//go:build modules

package main

import (
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// TestSpread: of rows at five places, the first five codewords are these places.
func TestSpread(t *testing.T) {
	cal := &data.Set{Features: mat.NewDense(50, 2, nil), Labels: make([]int, 50)}
	for i := range 50 {
		cal.Features.(*mat.Dense).SetRow(i, []float64{float64(i % 5), float64(i % 5 * (i % 5))})
		cal.Labels[i] = i % 2
	}
	codes := Spread{layers.Fixed{Codewords: 5}}
	s, err := codes.Over(cal, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := layers.StartCodes(codes, cal, s, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[2]float64]bool{}
	for c := w.Float64s("codebook/codewords"); len(c) > 0; c = c[2:] {
		seen[[2]float64{c[0], c[1]}] = true
	}
	if len(seen) != 5 {
		t.Errorf("the codewords are at %d places: %v", len(seen), seen)
	}
}

// TestMethod holds the fitted calibrator to the laws of all calibrators.
func TestMethod(t *testing.T) {
	build := func() layers.Stateful {
		c, _, err := mine.Build(method.Options{Values: method.Values{"codebook.slots": "4", "codebook.codewords": "8", "optim.epochs": "3"}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if err := layers.CheckCalibrator(build, rand.New(rand.NewPCG(2, 0))); err != nil {
		t.Error(err)
	}
}
