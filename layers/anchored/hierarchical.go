package anchored

import (
	"context"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
)

// Hierarchical is a Map that corrects a coarser map under a prior. A correction is
// written σ·u with u standard normal, so that one penalty serves all maps and a
// spread σ of 0 is the coarser map itself, which may be hierarchical in turn:
//
//	mean NLL + 1/(2N) Σ u²
type Hierarchical interface {
	layers.Map
	// Spread is the standard deviation of the finest correction's prior.
	Spread() Spread
	// Coarser is the map that is corrected.
	Coarser() layers.Map
}

// Spread is a standard deviation of the prior, a state weight of one element.
type Spread struct {
	Name string   // of the state
	Of   []string // learned weights u that it multiplies
}

// spreadOf is the state name/spread, which multiplies these weights name/….
func spreadOf(name string, of ...string) Spread {
	s := Spread{Name: name + "/spread"}
	for _, weight := range of {
		s.Of = append(s.Of, name+"/"+weight)
	}
	return s
}

// spreadsOf lists the spreads of m, the coarsest correction's first.
func spreadsOf(m layers.Map) []Spread {
	h, ok := m.(Hierarchical)
	if !ok {
		return nil
	}
	return append(spreadsOf(h.Coarser()), h.Spread())
}

// posterior is a map on the labelled rows it is fitted to.
type posterior struct {
	m       layers.Map
	weights *graph.Weights
	rows    *layers.Rows
	keeps   bool             // its graphs, from one fit to the next
	loss    *graph.Objective // nil: not there
	says    *graph.Function  // of the rows that are held out; nil: not there
}

// keptLogits is of how many logits a posterior keeps its graphs, which describe all spreads alike: of few, as to
// compile them takes longer than a fit; of many classes they are larger than the rows, and there as long as a fit.
const keptLogits = 1 << 15

// effort is about what a row costs in a step of a fit of m: the numbers that it reads. Of a table with a row for each
// place of a codeword it reads those of its own codes. A map that cannot start is told by its fit.
func effort(m layers.Map, s layers.Sizes) float64 {
	read := rowEffort * float64(s.Classes)
	w, err := layers.StartMap(m, s, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return read
	}
	for _, name := range w.Learned() {
		size := float64(w.Tensor(name).Shape().TotalSize())
		if tableOf(w, name, s) {
			size *= float64(s.Slots*s.CodesOf()) / float64(s.Places())
		}
		read += size
	}
	return read
}

// tableOf tells a learned table with a row for each place of a codeword, of which a row reads those of its own codes.
func tableOf(w *graph.Weights, name string, s layers.Sizes) bool {
	n := s.Places()
	return n > 0 && slices.Contains(w.Learned(), name) && w.Tensor(name).Shape()[0] == n
}

// rowEffort is what a map does with each class of a row besides: its softmax and loss.
const rowEffort = 20

// newPosterior starts a map on rows.
func newPosterior(m layers.Map, s layers.Sizes, rows *layers.Rows, rng *rand.Rand) (*posterior, error) {
	w, err := m.Init(s, rng)
	if err != nil {
		return nil, err
	}
	return &posterior{m: m, weights: w.As(rows.Dtype()), rows: rows, keeps: rows.Len()*s.Classes <= keptLogits}, nil
}

// penalized is a map with the loss of its prior.
type penalized struct{ layers.Map }

var _ layers.Costed = penalized{}

// Loss describes mean NLL + 1/(2N) Σ u².
func (m penalized) Loss(b *graph.Builder, in layers.Batch, rows int) *gorgonia.Node {
	var corrections []string
	for _, spread := range spreadsOf(m.Map) {
		corrections = append(corrections, spread.Of...)
	}
	return layers.PenalizedNLL(b, m, in, 0.5/float64(rows), corrections...)
}

// from sets the weights that p shares with another map to those of w.
func (p *posterior) from(w *graph.Weights) {
	for _, name := range p.weights.Names() {
		if w.Has(name) {
			p.weights.SetValues(name, w.Float64s(name))
		}
	}
}

// spread sets σ. The corrections σ·u stay what they are, or become 0 with σ.
func (p *posterior) spread(s Spread, to float64) {
	ratio := 0.0
	if to > 0 {
		ratio = p.weights.Float64s(s.Name)[0] / to
	}
	for _, name := range s.Of {
		u := p.weights.Float64s(name)
		floats.Scale(ratio, u)
		p.weights.SetValues(name, u)
	}
	p.weights.SetValues(s.Name, []float64{to})
}

// fit minimizes mean NLL + 1/(2N) Σ u² over all rows at once. A map without weights is fitted
// already.
func (p *posterior) fit(ctx context.Context, m optim.Method, rng *rand.Rand) (optim.Result, error) {
	if len(p.weights.Learned()) == 0 {
		return optim.Result{Ended: "there is nothing to learn", Status: optim.StartKept}, nil
	}
	return optim.Minimize(ctx, p.problem(), m, rng)
}

// problem is that of the fit.
func (p *posterior) problem() optim.Problem {
	loss := p.loss
	if loss == nil {
		loss = layers.Objective(penalized{p.m}, p.weights, p.rows)
	}
	if p.keeps {
		p.loss = loss
	}
	return optim.Problem{Loss: loss, Rows: p.rows.Len()}
}
