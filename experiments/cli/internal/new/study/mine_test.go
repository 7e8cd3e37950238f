//go:build modules

package main

import (
	"math/rand/v2"
	"testing"

	"calibra/experiments/cli"
	"calibra/experiments/method"
	"calibra/layers"
	"calibra/theory"
)

// TestMap holds the map to the laws of all maps, the gradient of its loss among them.
func TestMap(t *testing.T) {
	if err := layers.CheckMap(Shares{Lambda: 0.01}, rand.New(rand.NewPCG(1, 0))); err != nil {
		t.Error(err)
	}
}

// TestBands: of two seeds every judged row lies in its band, and nothing is left free.
func TestBands(t *testing.T) {
	for seed := range uint64(2) {
		r, err := mine.Run(t.Context(), theory.Settings{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		if out := r.Failures(); out != nil {
			t.Errorf("seed %d: outside their bands: %q", seed, out)
		}
		if free := r.Rows[0]; free.Key != "nullity" || free.Value != 0 {
			t.Errorf("seed %d: %s is %g: %q", seed, free.Quantity, free.Value, free.Where)
		}
	}
}

// TestKnown: calibra takes the study.
func TestKnown(t *testing.T) {
	if _, err := method.JoinCatalog(cli.Study(mine)); err != nil {
		t.Error(err)
	}
}
