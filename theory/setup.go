package theory

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/layers"
)

// setup is what studies are run with: the settings of the run, how large it is, and the parts
// that a study is made of.
type setup struct {
	Settings
	small Design // of the studies that need no large one
	most  struct{ replicates, problems int }

	sample  func(law []float64, n int, rng *rand.Rand) []float64 // what rows are drawn by
	trained func(t *Table, identity float64) Model               // the layer that is put to the test
	layer   func(m layers.Map, t *Table) Model                   // any other layer
	free    func(t *Table, identity float64) Model               // a map of one cell's own
	disturb func(t *Truth, rng *rand.Rand)                       // makes the law one that the layer cannot represent
}

func newSetup(settings Settings) *setup {
	s := &setup{
		Settings: settings, small: Fast(), sample: Sample, trained: trained,
		layer:   func(m layers.Map, t *Table) Model { return newLayered(m, t) },
		free:    func(t *Table, identity float64) Model { return newFree(t, identity) },
		disturb: func(t *Truth, rng *rand.Rand) { t.misspecify(disturbance, rng) },
	}
	s.most.replicates, s.most.problems = math.MaxInt, math.MaxInt
	return s
}

func (s *setup) design() Design {
	if s.Effort == Complete {
		return Full()
	}
	return s.small
}

// choose returns quick or complete by the effort.
func choose[T any](s *setup, quick, complete T) T {
	if s.Effort == Complete {
		return complete
	}
	return quick
}

// replicates returns how many samples to draw by the effort.
func (s *setup) replicates(quick, complete int) int {
	return min(s.most.replicates, choose(s, quick, complete))
}

// problem is a truth, balanced, with the trained layer that is to find it.
type problem struct {
	*setup
	*Truth
	model  Model
	gauge  Rescaling
	target Products
}

// problem draws a problem of the design.
func (s *setup) problem(d Design, rng *rand.Rand) *problem {
	p := s.of(newTruth(d, multisets(d.Codewords, d.Slots), rng))
	p.gauge.Fix(p.Theta, nil)
	return p
}

// of is the problem of a truth, as it is.
func (s *setup) of(truth *Truth) *problem {
	gauge := Rescaling{truth.Design.Classes, truth.Design.Codewords}
	return &problem{setup: s, Truth: truth, model: s.trained(truth.Table, truth.Design.Identity), gauge: gauge, target: Products{gauge}}
}

// law is that of the cells under a shift of the design's frequencies.
func (t *Truth) law(shift int) []float64 { return t.Table.Multinomial(t.Design.Frequencies(shift)) }

// population is the truth under the given probabilities of the cells.
func (p *problem) population(model Model, law []float64) (population, error) {
	return p.populationAt(p.Theta, law, model, p.gauge)
}

// experiment is the estimation of the truth under laws of the cells. In every population θ* is the
// truth's own.
func (p *problem) experiment(ctx context.Context, laws ...[]float64) (e *experiment, err error) {
	e = &experiment{trials: trials{setup: p.setup}, table: p.Table, model: p.model, gauge: p.gauge, target: p.target}
	e.populations, err = each(ctx, len(laws), p.model, func(model Model, i int) (population, error) {
		return p.population(model, laws[i])
	})
	return e, err
}

// shifted are the laws of the cells under n even shifts of the frequencies.
func (t *Truth) shifted(n int) (laws [][]float64) {
	for _, shift := range evenShifts(t.Design, n) {
		laws = append(laws, t.law(shift))
	}
	return laws
}

// fit is the minimum of the model's loss on a sample, from the truth.
func (p *problem) fit(model Model, sample []float64) ([]float64, error) {
	theta := slices.Clone(p.Theta)
	return theta, minimize(model, p.gauge, theta, sample)
}
