package theory

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// RateSettings say how [Rate] studies a layer. The zero value is the default.
type RateSettings struct {
	Seed uint64

	// Gauge is what the layer's parameters leave free. nil: the null space of the
	// population Hessian at θ*, computed and reported.
	Gauge Gauge
	// Target is what is compared with θ*. nil: row k of every K-rowed weight is block
	// k, and all other weights are one further block.
	Target Target
	// Spread is the standard deviation of the N(0, Spread²) that is added to the
	// layer's start to make θ*. 0: 0.5.
	Spread float64

	Sizes      []int // N, increasing, at least two; nil: 1e5, 3e5, 1e6, 3e6
	Shifts     int   // cyclic shifts of the codeword frequencies; 0: 4
	Replicates int   // samples per shift and N; 0: 40
}

func (s RateSettings) withDefaults() RateSettings {
	if s.Spread == 0 {
		s.Spread = 0.5
	}
	if s.Sizes == nil {
		s.Sizes = rateSizes
	}
	if s.Shifts == 0 {
		s.Shifts = 4
	}
	if s.Replicates == 0 {
		s.Replicates = 40
	}
	return s
}

// Rate studies a researcher's own layer as study "rate" does the paper's: it draws
// θ*, lets the layer at θ* be the law of the labels, fits the layer to samples of
// growing size, and compares the errors with the sandwich. The loss and its
// derivatives are those of the layer's graph; the layer needs no more than its Map.
//
// A design whose population Hessian is not positive definite off a declared gauge, K
// below 2, or N too small for first-order theory is an error.
func Rate(ctx context.Context, m layers.Map, d Design, s RateSettings) (*Report, error) {
	s = s.withDefaults()
	if err := d.Check(); err != nil {
		return nil, err
	}
	if len(s.Sizes) < 2 {
		return nil, fmt.Errorf("theory: a rate needs at least two sample sizes, got %d", len(s.Sizes))
	}
	table := newTable(d, multisets(d.Codewords, d.Slots), newRand(s.Seed, 1))
	model, err := newLayered(m, table)
	if err != nil {
		return nil, err
	}
	truth := &Truth{Design: d, Table: table, Label: make([]float64, table.Rows()*d.Classes)}
	if truth.Theta, err = model.draw(s.Spread, newRand(s.Seed, 2)); err != nil {
		return nil, err
	}
	if err := model.LogProbs(truth.Label, truth.Theta); err != nil {
		return nil, err
	}
	for i, l := range truth.Label {
		truth.Label[i] = math.Exp(l)
	}

	r := &Report{Study: "rate", Claim: fmt.Sprintf("Theorems 1 and 2 for %T", m), Seed: s.Seed}
	weights := truth.Weights(table.Multinomial(d.Frequencies(0)))
	if s.Gauge == nil {
		hess := mat.NewSymDense(model.Dim(), nil)
		if err := model.Hessian(hess, truth.Theta, weights); err != nil {
			return nil, err
		}
		found, zeroAt, gapAt := findNullSpace(hess, truth.Theta, nullRatio)
		s.Gauge = found
		r.tell("nullity", "null directions of the population Hessian", exact(float64(len(found.Basis))), fmt.Sprintf("computed: |λ| ≤ %.1g, others ≥ %.1g of the largest", zeroAt, gapAt))
	}
	s.Gauge.Fix(truth.Theta, nil)
	if s.Target == nil {
		s.Target = model.rows()
	}
	e := &experiment{model: model, gauge: s.Gauge, target: s.Target, sizes: s.Sizes, replicates: s.Replicates, settings: Settings{Seed: s.Seed}}
	shifts := evenShifts(d, s.Shifts)
	e.populations = make([]population, len(shifts))
	err = forEach(ctx, len(shifts), model.fork, func(model Model, i int) error {
		cellProb := table.Multinomial(d.Frequencies(shifts[i]))
		weights := truth.Weights(cellProb)
		at, err := newAsymptotics(model, s.Gauge, truth.Theta, weights)
		occupancy := table.Occupancy(cellProb)
		for len(occupancy) < s.Target.Blocks() {
			occupancy = append(occupancy, 1) // what is shared occurs in every row
		}
		e.populations[i] = population{weights, occupancy, at}
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, e.report(ctx, r)
}

// draw returns the layer's start plus N(0, spread²).
func (m *layered) draw(spread float64, rng *rand.Rand) ([]float64, error) {
	start, err := m.layer.Init(m.sizes, rng)
	if err != nil {
		return nil, fmt.Errorf("theory: start the layer: %w", err)
	}
	theta := make([]float64, 0, m.Dim())
	for _, name := range m.learned {
		theta = append(theta, graph.Float64s(start.Tensor(name))...)
	}
	for i := range theta {
		theta[i] += spread * rng.NormFloat64()
	}
	return theta, nil
}

// rows is the default Target: what belongs to each codeword, then the rest. A layer
// without K-rowed weights has one block.
func (m *layered) rows() Rows {
	var shared []int
	perCodeword := make(Rows, m.sizes.Codewords)
	at := 0
	for _, name := range m.learned {
		shape := m.weights.Tensor(name).Shape()
		total := shape.TotalSize()
		for i := range total {
			if shape[0] == m.sizes.Codewords {
				k := i / (total / shape[0])
				perCodeword[k] = append(perCodeword[k], at+i)
			} else {
				shared = append(shared, at+i)
			}
		}
		at += total
	}
	switch {
	case len(perCodeword[0]) == 0:
		return Rows{shared}
	case len(shared) == 0:
		return perCodeword
	}
	return append(perCodeword, shared)
}
