package main

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ClassMeans are codes whose codewords are means of slots: codeword k is the mean of a slot over
// the rows of a class, slot and class those of k, counted through all slots of one class after
// the other. Slots then have codes of classes that they are like. They never move; all but their
// start is that of layers.Fixed.
type ClassMeans struct{ layers.Fixed }

var _ layers.Supervised = ClassMeans{}

// Supervised is true: codes that use labels divide anew in each fold of a cross-validation.
func (ClassMeans) Supervised() bool { return true }

// Init places the codewords. Where there are more than slots and classes, or a class has no
// rows, the rest is drawn as that of the twin.
func (c ClassMeans) Init(ctx context.Context, w *graph.Weights, cal *data.Set, s layers.Sizes, rng *rand.Rand) error {
	if err := c.Fixed.Init(ctx, w, cal, s, rng); err != nil {
		return err
	}
	d := s.Features / s.Slots
	sums := mat.NewDense(s.Classes, s.Features, nil)
	row := make([]float64, s.Features)
	for i, y := range cal.Labels {
		floats.AddScaled(sums.RawRowView(y), cal.Weight(i), data.Row(cal.Features, i, row))
	}
	codewords := w.Float64s("codebook/codewords")
	for k := range s.Codewords {
		class, slot := k/s.Slots, k%s.Slots
		if class >= s.Classes || s.Counts[class] == 0 {
			continue
		}
		floats.ScaleTo(codewords[k*d:(k+1)*d], 1/s.Counts[class], sums.RawRowView(class)[slot*d:(slot+1)*d])
	}
	w.SetValues("codebook/codewords", codewords)
	return nil
}
