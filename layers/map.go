package layers

import (
	"math/rand/v2"

	"calibra/graph"

	"gorgonia.org/gorgonia"
)

// Map is a calibration map as a graph. It is what a researcher edits: one file,
// one Map. A Map is a description; its weights live beside it.
type Map interface {
	// Init draws the starting weights, in float64, named by paths such as
	// "bilinear/receiver". A Map that needs regions returns an error if s has none.
	Init(s Sizes, rng *rand.Rand) (*graph.Weights, error)
	// LogProbs describes the calibrated log-probabilities (B×C) of a batch.
	LogProbs(b *graph.Builder, in Batch) *gorgonia.Node
}
