package theory

import (
	"calibra/data"
	"context"
	"math/rand/v2"
	"slices"
)

func designOf(s Settings) Design { return choose(s, Fast(), Full()) }

// choose returns quick or complete by the effort, such as how many samples to draw.
func choose[T any](s Settings, quick, complete T) T {
	if s.Effort == Complete {
		return complete
	}
	return quick
}

// problem is a truth, balanced, with the trained layer that is to find it.
type problem struct {
	Settings
	*Truth
	model  Model
	gauge  Rescaling
	target Products
}

// newProblem draws a problem of the design.
func newProblem(s Settings, d Design, rng *rand.Rand) *problem {
	p := problemOf(s, d.Truth(d.Multisets(), rng))
	p.gauge.Fix(p.Theta, nil)
	return p
}

// problemOf is the problem of a truth, as it is.
func problemOf(s Settings, truth *Truth) *problem {
	gauge := Rescaling{truth.Design.Classes, truth.Design.Codewords}
	return &problem{Settings: s, Truth: truth, model: truth.Table.Paper(truth.Design.Identity), gauge: gauge, target: Products{gauge}}
}

// law is that of the cells under a shift of the design's frequencies.
func (t *Truth) law(shift int) []float64 { return t.Table.Multinomial(t.Design.Frequencies(shift)) }

// population is the truth under the given probabilities of the cells.
func (p *problem) population(model Model, law []float64) (Limit, error) {
	return p.limit(model, p.gauge, p.Theta, law)
}

// experiment is the estimation of the truth under laws of the cells. In every population θ* is the
// truth's own.
func (p *problem) experiment(ctx context.Context, laws ...[]float64) (e *Experiment, err error) {
	e = &Experiment{Trials: Trials{Settings: p.Settings}, Truth: p.Truth, Model: p.model, Gauge: p.gauge, Target: p.target}
	e.Limits, err = each(ctx, len(laws), p.model, func(model Model, i int) (Limit, error) {
		return p.population(model, laws[i])
	})
	return e, err
}

// shifted are the laws of the cells under n even shifts of the frequencies.
func (t *Truth) shifted(n int) [][]float64 { return data.Each(t.Design.Shifts(n), t.law) }

// fit is the minimum of the model's loss on a sample, from the truth.
func (p *problem) fit(model Model, sample []float64) ([]float64, error) {
	theta := slices.Clone(p.Theta)
	return theta, Fit(model, p.gauge, theta, sample)
}
