package anchored

import (
	"context"
	"math/rand/v2"

	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gorgonia.org/gorgonia"
)

// Settled is a map with the weights of its own fit: only what is added to its scores is learned.
// Otherwise a correction that can distinguish every calibration row would make the temperature beside
// it ever surer, since it is never wrong on those rows.
//
// Weights: those of Of, all of them state.
type Settled struct{ Of Scored }

var _ Scored = Settled{}

// Init starts as Of does, with nothing to learn.
func (m Settled) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := m.Of.Init(s, rng)
	if err != nil {
		return nil, err
	}
	state := graph.NewWeights(w.Dtype())
	for _, name := range w.Names() {
		state.AddState(name, w.Float64s(name), w.Tensor(name).Shape()...)
	}
	return state, nil
}

// LogProbs describes the posterior of Of.
func (m Settled) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return m.Of.LogProbs(b, in)
}

// Scores describes the scores of Of.
func (m Settled) Scores(b *graph.Builder, in layers.Batch) *gorgonia.Node { return m.Of.Scores(b, in) }

// resting is a map that leaves another as it was fitted before.
type resting interface{ before() Scored }

func (m Settled) before() Scored { return m.Of }

// restsOn is the map that m leaves as it was fitted before, nil where there is none.
func restsOn(m layers.Map) Scored {
	if r, ok := m.(resting); ok {
		return r.before()
	}
	if h, ok := m.(Hierarchical); ok {
		return restsOn(h.Coarser())
	}
	return nil
}

// whole fits m to all rows, from weights near its own; what it leaves as it is, first.
func whole(ctx context.Context, m layers.Map, s layers.Sizes, rows *layers.Rows, from *graph.Weights, by optim.Method, rng *rand.Rand) (*graph.Weights, optim.Result, error) {
	p, err := newPosterior(m, s, rows, rng)
	if err != nil {
		return nil, optim.Result{}, err
	}
	p.from(from)
	if before := restsOn(m); before != nil {
		w, _, err := whole(ctx, before, s, rows, from, by, rng)
		if err != nil {
			return nil, optim.Result{}, err
		}
		p.from(w)
	}
	result, err := p.fit(ctx, by, rng)
	if err == nil && len(p.weights.Learned()) > 0 {
		result.Optimum, err = p.problem().Optimum(ctx, result)
	}
	return p.weights, result, err
}
