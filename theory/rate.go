package theory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/layers"
)

// RateSettings are how [Rate] studies a layer. The zero value is the default.
type RateSettings struct {
	Seed uint64

	// Gauge has the directions that change no prediction. nil: the null space of the
	// population Hessian at θ*, computed and reported.
	Gauge Gauge
	// Target names what is compared with θ*. nil: row k of every K-rowed weight is block
	// k, and all other weights are one further block.
	Target Target
	// Spread is the standard deviation of the N(0, Spread²) that is added to the
	// layer's start to make θ*. 0: 0.5.
	Spread float64
	// Disturbance makes the law one that the layer cannot represent: logits plus
	// Disturbance·N(0, 1) per cell and per atom, a twentieth of it uniform. 0: the layer at
	// θ* is the law. It is studied under one shift where the gauge is computed, since each
	// shift has a θ* of its own.
	Disturbance float64

	// Sizes are N, increasing, at least two. nil: four over a factor of 30, the least so large
	// that θ̂ has a standard deviation of at most 0.05 in its least certain direction, and at
	// least 1e5: N costs nothing.
	Sizes      []int
	Shifts     int // cyclic shifts of the codeword frequencies; 0: 4
	Replicates int // samples per shift and N; 0: 40
}

// question is the one that Rate puts to a layer.
func (s RateSettings) question(m layers.Map, d Design) Question {
	q := Question{
		Population: Population{Design: d, Spread: s.Spread}, Estimator: Estimator{m, s.Gauge, s.Target},
		Sizes: s.Sizes, Shifts: s.Shifts, Replicates: s.Replicates,
	}
	if s.Disturbance > 0 {
		q.Population.Disturb = func(t *Truth, rng *rand.Rand) { t.Misspecify(s.Disturbance, rng) }
	}
	return q
}

// Check reports the first impossible setting as one sentence; 0 is a default, which is possible.
func (s RateSettings) Check() error {
	if !(s.Disturbance >= 0) || math.IsInf(s.Disturbance, 1) {
		return fmt.Errorf("theory: the disturbance of the law must be a number of at least 0, got %g", s.Disturbance)
	}
	return s.question(layers.Bilinear{}, Fast()).Check()
}

// Rate studies a researcher's own layer as study "rate" does the paper's: it draws
// θ*, lets the layer at θ* be the law of the labels, fits the layer to samples of
// growing size, and compares the errors with the sandwich. The loss and its
// derivatives come from the layer's graph; the layer needs only its Map.
// Bands widen with few replicates.
//
// A map with a loss of its own (layers.Costed) is studied with it; one with inputs of its own is an error, as is a
// design whose population Hessian is not positive definite off a declared gauge, K below 2, or N too small for
// first-order theory.
func Rate(ctx context.Context, m layers.Map, d Design, s RateSettings) (*Report, error) {
	if err := cmp.Or(d.Check(), s.Check()); err != nil {
		return nil, err
	}
	r := &Report{Study: "rate", Claim: fmt.Sprintf("Theorems 1 and 2 for %T", m), Seed: s.Seed}
	q := s.question(m, d)
	if err := q.Check(); err != nil {
		return nil, err
	}
	if err := q.answer(ctx, Settings{Seed: s.Seed}, r); err != nil {
		return nil, err
	}
	return r, nil
}

// OwnRate is Rate as a study with the seed of its run.
func OwnRate(name string, m layers.Map, d Design, s RateSettings) Study {
	return NewStudy("rate", fmt.Sprintf("Theorems 1 and 2 for %s with C = %d, w = %d, K = %d", name, d.Classes, d.Slots, d.Codewords), s.question(m, d))
}
