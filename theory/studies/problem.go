package studies

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/layers"
	"calibra/theory"
)

func designOf(s theory.Settings) theory.Design { return choose(s, theory.Fast(), theory.Full()) }

// replicates are how many samples to draw of each law and size, unless the settings say so.
func replicates(s theory.Settings, quick, complete int) int {
	return cmp.Or(s.Replicates, choose(s, quick, complete))
}

// choose returns quick or complete by the effort, such as how many samples to draw.
func choose[T any](s theory.Settings, quick, complete T) T {
	if s.Effort == theory.Complete {
		return complete
	}
	return quick
}

// problem is a truth, balanced, with the trained layer that is to find it.
type problem struct {
	theory.Settings
	*theory.Truth
	model  theory.Model
	gauge  theory.Rescaling
	target theory.Products
}

// newProblem draws a problem of the design.
func newProblem(s theory.Settings, d theory.Design, rng *rand.Rand) *problem {
	p := problemOf(s, d.Truth(d.Multisets(), rng))
	p.gauge.Fix(p.Theta, nil)
	return p
}

// problemOf is the problem of a truth, as it is.
func problemOf(s theory.Settings, truth *theory.Truth) *problem {
	gauge := truth.Design.Gauge()
	return &problem{Settings: s, Truth: truth, model: truth.Table.Paper(truth.Design.Identity), gauge: gauge, target: theory.Products{Rescaling: gauge}}
}

// law is that of the cells under a shift of the design's frequencies.
func (p *problem) law(shift int) []float64 { return p.Table.Multinomial(p.Design.Frequencies(shift)) }

// population is the truth under the given probabilities of the cells.
func (p *problem) population(model theory.Model, law []float64) (theory.Limit, error) {
	return p.Limit(model, p.gauge, p.Theta, law)
}

// experiment is the estimation of the truth under laws of the cells. In every population θ* is the
// truth's own.
func (p *problem) experiment(ctx context.Context, laws ...[]float64) (e *theory.Experiment, err error) {
	e = &theory.Experiment{Trials: theory.Trials{Settings: p.Settings}, Truth: p.Truth, Model: p.model, Gauge: p.gauge, Target: p.target}
	e.Limits, err = theory.Each(ctx, len(laws), p.model, func(model theory.Model, i int) (theory.Limit, error) {
		return p.population(model, laws[i])
	})
	return e, err
}

// shifted are the laws of the cells under n even shifts of the frequencies.
func (p *problem) shifted(n int) [][]float64 { return data.Each(p.Design.Shifts(n), p.law) }

// fit is the minimum of the model's loss on a sample, from the truth.
func (p *problem) fit(model theory.Model, sample []float64) ([]float64, error) {
	theta := slices.Clone(p.Theta)
	return theta, theory.Fit(model, p.gauge, theta, sample)
}

// paper is the layer of the main job, with the prior and σ² fixed as the studies suppose.
var paper = layers.Bilinear{Prior: layers.UniformPrior{}}
