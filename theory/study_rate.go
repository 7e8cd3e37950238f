package theory

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// RateSettings are how [Rate] studies a layer. The zero value is the default.
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

func (s RateSettings) withDefaults() RateSettings {
	s.Spread, s.Shifts, s.Replicates = cmp.Or(s.Spread, 0.5), cmp.Or(s.Shifts, 4), cmp.Or(s.Replicates, 40)
	if s.Disturbance > 0 && s.Gauge == nil {
		s.Shifts = 1
	}
	return s
}

// Check reports the first impossible setting as one sentence; 0 is a default, which is possible.
func (s RateSettings) Check() error {
	if s.Disturbance > 0 && s.Gauge == nil && s.Shifts > 1 {
		return fmt.Errorf("theory: a disturbed law is studied under one shift, since each has a θ* and a gauge of its own; leave %d shifts out, or give the Gauge", s.Shifts)
	}
	s = s.withDefaults()
	switch {
	case s.Sizes != nil && len(s.Sizes) < 2:
		return fmt.Errorf("theory: a rate needs at least two sample sizes, got %d", len(s.Sizes))
	case s.Replicates < 2:
		return fmt.Errorf("theory: an error bar needs at least 2 replicates, got %d", s.Replicates)
	case s.Shifts < 1:
		return fmt.Errorf("theory: a rate needs at least 1 shift of the codeword frequencies, got %d", s.Shifts)
	case !(s.Spread >= 0) || math.IsInf(s.Spread, 1):
		return fmt.Errorf("theory: the spread of the truth must be a number of at least 0, got %g", s.Spread)
	case !(s.Disturbance >= 0) || math.IsInf(s.Disturbance, 1):
		return fmt.Errorf("theory: the disturbance of the law must be a number of at least 0, got %g", s.Disturbance)
	}
	for i, n := range s.Sizes {
		if n < 1 || i > 0 && n <= s.Sizes[i-1] {
			return fmt.Errorf("theory: sample sizes must be positive and increase, got %v", s.Sizes)
		}
	}
	return nil
}

// Rate studies a researcher's own layer as study "rate" does the paper's: it draws
// θ*, lets the layer at θ* be the law of the labels, fits the layer to samples of
// growing size, and compares the errors with the sandwich. The loss and its
// derivatives are those of the layer's graph; the layer needs no more than its Map.
// Bands widen with few replicates.
//
// A map with a loss or inputs of its own is an error: what fit makes of it is another estimator.
// A design whose population Hessian is not positive definite off a declared gauge, K
// below 2, or N too small for first-order theory is an error.
func Rate(ctx context.Context, m layers.Map, d Design, s RateSettings) (*Report, error) {
	if err := cmp.Or(d.Check(), s.Check(), studied(m)); err != nil {
		return nil, err
	}
	p, err := newLayerProblem(m, d, s.withDefaults())
	if err != nil {
		return nil, err
	}
	r := &Report{Study: "rate", Claim: fmt.Sprintf("Theorems 1 and 2 for %T", m), Seed: s.Seed}
	if p.Gauge == nil {
		if err := p.findGauge(r); err != nil {
			return nil, err
		}
	}
	e, err := p.experiment(ctx)
	if err != nil {
		return nil, err
	}
	r.record("reach", "deviation of θ̂ in its least certain direction at the smallest N", exact(e.reach()/math.Sqrt(float64(e.sizes[0]))),
		fmt.Sprintf("at most %g for first-order theory; else a larger N", certainRate))
	r.record("n", "smallest N", exact(float64(e.sizes[0])), fmt.Sprintf("largest %.3g", float64(e.sizes[len(e.sizes)-1])))
	return r, e.report(ctx, r)
}

// layerProblem is a layer at θ*, or near it, as the law of labels.
type layerProblem struct {
	RateSettings
	*Truth
	model *layered
	laws  [][]float64 // of the cells, one a population: shifts of the codeword frequencies
}

func newLayerProblem(m layers.Map, d Design, s RateSettings) (p *layerProblem, err error) {
	table := support(d, evenShifts(d, s.Shifts), newRand(s.Seed, 1))
	p = &layerProblem{RateSettings: s, Truth: &Truth{Design: d, Table: table}, model: newLayered(m, table)}
	p.laws = p.shifted(s.Shifts)
	if p.Theta, err = p.model.draw(s.Spread, newRand(s.Seed, 2)); err != nil {
		return nil, err
	}
	at := &probe{model: p.model}
	if p.Label = at.posteriors(table, p.Theta); at.err != nil {
		return nil, at.err
	}
	if s.Disturbance > 0 {
		p.misspecify(s.Disturbance, newRand(s.Seed, 3))
		p.Theta, err = p.model.settle(p.Truth, p.Weights(p.laws[0]))
	}
	return p, err
}

// experiment is the estimation of θ* under all shifts.
func (p *layerProblem) experiment(ctx context.Context) (e *experiment, err error) {
	p.Gauge.Fix(p.Theta, nil)
	if p.Target == nil {
		p.Target = p.model.rows()
	}
	e = &experiment{
		trials: trials{setup: newSetup(Settings{Seed: p.Seed}), sizes: p.Sizes, count: p.Replicates}, table: p.Table,
		model: p.model, gauge: p.Gauge, target: p.Target, disturbed: p.Disturbance > 0,
	}
	e.populations, err = each(ctx, len(p.laws), p.model, p.population)
	if err == nil && e.sizes == nil {
		e.sizes, err = certainSizes(e.reach())
	}
	return e, err
}

// findGauge takes the null space of the population Hessian at θ* as the gauge, and reports it.
func (p *layerProblem) findGauge(r *Report) error {
	found, of, err := p.model.nullSpace(p.Theta, p.Weights(p.laws[0]))
	p.Gauge = found
	r.record("nullity", "null directions of the population Hessian", exact(float64(len(found.Basis))), fmt.Sprintf("computed: |λ| ≤ %.1g, others ≥ %.1g of the largest", of.zeroAt, of.gapAt))
	return err
}

// population is that of the i-th shift, with a θ* of its own where the layer at θ* is not the law.
func (p *layerProblem) population(model Model, i int) (of population, err error) {
	theta := p.Theta
	if p.Disturbance > 0 && i > 0 {
		if theta, err = model.(*layered).settle(p.Truth, p.Weights(p.laws[i])); err != nil {
			return of, err
		}
		p.Gauge.Fix(theta, p.Theta)
	}
	of, err = p.populationAt(theta, p.laws[i], model, p.Gauge)
	for len(of.occupancy) < p.Target.Blocks() {
		of.occupancy = append(of.occupancy, 1) // what is shared occurs in every row
	}
	return of, err
}

// certainSizes are four N over a factor of 30, large enough for first-order theory where θ̂·√N
// reaches so far from θ*.
func certainSizes(reach float64) (sizes []int, err error) {
	least := math.Max(1e5, square(reach/certainRate))
	if least > mostRows {
		return nil, fmt.Errorf("theory: N = %.1g would be needed for errors small enough for first-order theory: this θ* is almost not identified; take another seed, a larger Spread (1), more atoms or fewer codewords", least)
	}
	for _, factor := range []float64{1, 3, 10, 30} {
		sizes = append(sizes, int(factor*least))
	}
	return sizes, nil
}

// studied refuses a map whose fit minimizes another loss than the mean negative log-likelihood, or
// reads more of a row than log p̂ and its region: the study would be of another estimator.
func studied(m layers.Map) error {
	var has string
	switch m.(type) {
	case layers.Costed:
		has = "a loss of its own (Costed), such as a penalty"
	case layers.Noisy:
		has = "a loss with noise of its own (Noisy)"
	case layers.Informed:
		has = "inputs of its own (Informed)"
	default:
		return nil
	}
	return fmt.Errorf("theory: %T has %s, and Rate studies the mean negative log-likelihood alone; study the map without it", m, has)
}

// OwnRate is Rate as a study, whose seed is that of its run.
func OwnRate(name string, m layers.Map, d Design, s RateSettings) Study {
	return Study{"rate", fmt.Sprintf("Theorems 1 and 2 for %s with C = %d, w = %d, K = %d", name, d.Classes, d.Slots, d.Codewords), []part{func(ctx context.Context, run *setup, r *Report) error {
		s.Seed = run.Seed
		own, err := Rate(ctx, m, d, s)
		if err == nil {
			r.Rows, r.Figures = own.Rows, own.Figures
		}
		return err
	}}}
}

// certainRate is the standard deviation of θ̂ in its least certain direction at the smallest
// N that Rate chooses.
const certainRate = 0.05

// mostRows keeps counts exact in float64.
const mostRows = 1e14

// settle is the pseudo-true θ* under the weights, from the truth's θ.
func (m *layered) settle(truth *Truth, weights []float64) ([]float64, error) {
	theta := slices.Clone(truth.Theta)
	gauge, _, err := m.nullSpace(theta, weights)
	if err != nil {
		return nil, err
	}
	m.reference = nil // the Hessian of each step: the start may be far
	if err := minimize(m, gauge, theta, weights); err != nil {
		return nil, fmt.Errorf("theory: the disturbed law has no optimum near the layer's start; lower the disturbance: %w", err)
	}
	return theta, nil
}

// nullSpace is that of the Hessian at theta, of the directions that are null by nullRatio.
func (m *layered) nullSpace(theta, weights []float64) (gauge NullSpace, of nullity, err error) {
	at := &probe{model: m, weights: weights}
	values, vectors := spectrum(at.hessian(theta))
	of, gauge.Point = nullOf(values, nullRatio), slices.Clone(theta)
	for _, i := range of.null {
		gauge.Basis = append(gauge.Basis, mat.Col(nil, i, vectors))
	}
	return gauge, of, at.err
}

// draw returns the layer's start plus N(0, spread²).
func (m *layered) draw(spread float64, rng *rand.Rand) ([]float64, error) {
	if m.err != nil {
		return nil, m.err
	}
	start, err := m.layer.Init(m.sizes, rng)
	if err != nil {
		return nil, fmt.Errorf("theory: start the layer: %w", err)
	}
	theta := make([]float64, 0, m.Dim())
	for _, name := range m.learned {
		theta = append(theta, graph.Float64s(start.Tensor(name))...)
	}
	floats.AddScaled(theta, spread, normals(len(theta), rng))
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

// newRate is the experiment of study rate.
func newRate(ctx context.Context, s *setup) (*experiment, *problem, error) {
	p := s.problem(s.design(), newRand(s.Seed, 1))
	e, err := p.experiment(ctx, p.shifted(choose(s, 4, 12))...)
	e.sizes, e.count = []int{1e5, 3e5, 1e6, 3e6}, s.replicates(64, 64)
	return e, p, err
}

func runRate(ctx context.Context, s *setup, r *Report) error {
	e, truth, err := newRate(ctx, s)
	if err != nil {
		return err
	}
	// The graph's derivatives against those worked out by hand, at θ*.
	graph := &probe{model: e.model, weights: e.populations[0].weights}
	hand := &probe{model: newBilinear(truth.Table, truth.Design.Identity), weights: graph.weights}
	for _, of := range []struct {
		key, quantity string
		matrix        func(p *probe, theta []float64) *mat.SymDense
	}{
		{"hessian-by-hand", "‖∇²L − by hand‖ at θ*", (*probe).hessian},
		{"scores-by-hand", "‖J − by hand‖ at θ*", (*probe).scores},
	} {
		gap := of.matrix(graph, truth.Theta)
		subtract(gap, of.matrix(hand, truth.Theta))
		r.rounding(of.key, of.quantity, operatorNorm(gap), 1e-8, "0: the graph's derivatives are the formula's")
	}
	if err := cmp.Or(graph.err, hand.err); err != nil {
		return err
	}
	return e.report(ctx, r)
}
