package layers

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Hierarchical is a Map that corrects a global map under a prior. A correction is
// written σ·u with u standard normal, so that one penalty serves all maps and a
// spread σ of 0 is the global map itself:
//
//	mean NLL + 1/(2N) Σ u²
type Hierarchical interface {
	Map
	// Spreads lists the prior's standard deviations, the coarsest correction's first.
	Spreads() []Spread
}

// Spread is a standard deviation of the prior, a state weight of one element.
type Spread struct {
	Name string   // of the state
	Of   []string // learned weights u that it multiplies
}

// spreadGrid is what a spread may be besides 0. The factor of 2 is a factor of 4 in
// the prior's variance; beyond 16 nats a prior says nothing.
var spreadGrid = []float64{1. / 8, 1. / 4, 1. / 2, 1, 2, 4, 8, 16}

// chooseGradient is the gradient to which a map is fitted that is to be judged, not
// kept: a held-out loss needs no more digits than its standard error.
const chooseGradient = 5e-6

// posterior is a map on the rows it is fitted to.
type posterior struct {
	m       Map
	weights *graph.Weights // float64
	rows    int
	loss    *graph.Objective // mean NLL + 1/(2N) Σ u²
}

// newPosterior starts a map on rows of a view.
func newPosterior(m Map, s Sizes, v *View, labels []int, rng *rand.Rand) (*posterior, error) {
	w, err := m.Init(s, rng)
	if err != nil {
		return nil, err
	}
	p := &posterior{m: m, weights: w, rows: len(labels)}
	tab, y := v.tables(tensor.Float64, s), graph.Labels(labels)
	p.loss = graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		loss := meanNLL(b, m.LogProbs(b, tab.batch(b)), y)
		for _, spread := range spreadsOf(m) {
			for _, name := range spread.Of {
				u := b.Weight(name)
				if b.Err() != nil {
					return nil
				}
				square := b.Apply(op.Sum(u.Dims()), b.Times(u, u))
				loss = b.Plus(loss, b.Apply(op.Scale(0, 0.5/float64(p.rows)), square))
			}
		}
		return loss
	})
	return p, nil
}

func spreadsOf(m Map) []Spread {
	if h, ok := m.(Hierarchical); ok {
		return h.Spreads()
	}
	return nil
}

// spread sets σ. The corrections σ·u stay what they are, or become 0 with σ.
func (p *posterior) spread(s Spread, to float64) {
	state := p.weights.Tensor(s.Name).Float64s()
	ratio := 0.0
	if to > 0 {
		ratio = state[0] / to
	}
	for _, name := range s.Of {
		u := p.weights.Tensor(name).Float64s()
		for i := range u {
			u[i] *= ratio
		}
	}
	state[0] = to
}

// fit minimizes over all rows at once. A map without weights is fitted already.
func (p *posterior) fit(ctx context.Context, s optim.LBFGSSettings) (optim.Result, error) {
	if len(p.weights.Learned()) == 0 {
		return optim.Result{Ended: "there is nothing to learn", Converged: true}, nil
	}
	return optim.LBFGS(ctx, optim.Problem{Loss: p.loss, Rows: p.rows}, s)
}

// fold is a map fitted to all rows but some, with those.
type fold struct {
	*posterior
	held   []int // row numbers
	labels []int // of all rows
	scores *graph.Function
}

// crossValidation is a map judged on rows that it was not fitted to.
type crossValidation struct {
	losses  []float64 // N, −log p of the label of each row by the fold that held it out
	spreads []float64 // that gave the least mean, one each of the map's
	mean    float64
}

// crossValidate fits the map without each part of the rows in turn, its spreads
// chosen one after the other by the held-out loss, the coarsest correction first and
// the finer at 0. A path of growing spreads ends where the loss grows again, or when
// the first two gained nothing.
func crossValidate(ctx context.Context, m Map, s Sizes, v *View, labels []int, parts [][]int, settings optim.LBFGSSettings, rng *rand.Rand) (*crossValidation, error) {
	folds := make([]*fold, len(parts))
	for k, held := range parts {
		var rest []int
		for other, rows := range parts {
			if other != k {
				rest = append(rest, rows...)
			}
		}
		p, err := newPosterior(m, s, v.rows(rest), pick(labels, rest), rng)
		if err != nil {
			return nil, err
		}
		for _, spread := range spreadsOf(m) {
			p.spread(spread, 0)
		}
		tab := v.rows(held).tables(tensor.Float64, s)
		folds[k] = &fold{p, held, labels, graph.NewFunction(p.weights, func(b *graph.Builder) gorgonia.Nodes {
			return gorgonia.Nodes{m.LogProbs(b, tab.batch(b))}
		})}
	}
	settings.Gradient = max(settings.Gradient, chooseGradient)
	best := &crossValidation{}
	kept := make([]*graph.Weights, len(folds))
	try := func() (better bool, err error) {
		cv := &crossValidation{losses: make([]float64, len(labels))}
		for _, f := range folds {
			if _, err := f.fit(ctx, settings); err != nil {
				return false, err
			}
			if err := f.judge(cv.losses); err != nil {
				return false, err
			}
		}
		for _, l := range cv.losses {
			cv.mean += l / float64(len(labels))
		}
		for _, spread := range spreadsOf(m) {
			cv.spreads = append(cv.spreads, folds[0].weights.Float64s(spread.Name)[0])
		}
		if best.losses != nil && cv.mean >= best.mean {
			return false, nil
		}
		best = cv
		for k, f := range folds {
			kept[k] = f.weights.Clone()
		}
		return true, nil
	}
	if _, err := try(); err != nil {
		return nil, err
	}
	for _, spread := range spreadsOf(m) {
		moved, worse := false, 0
		for _, to := range spreadGrid {
			for _, f := range folds {
				f.spread(spread, to)
			}
			better, err := try()
			if err != nil {
				return nil, err
			}
			if worse++; better {
				moved, worse = true, 0
			}
			if moved && worse > 0 || worse == 2 {
				break
			}
		}
		for k, f := range folds {
			f.weights.Set(kept[k])
		}
	}
	return best, nil
}

// judge writes the loss of each held row.
func (f *fold) judge(losses []float64) error {
	return f.scores.Each(len(f.held), evaluationBatch, func(lo int, out []gorgonia.Value) error {
		logProbs := graph.Float64s(out[0])
		n := min(evaluationBatch, len(f.held)-lo)
		c := len(logProbs) / n
		for i, row := range f.held[lo : lo+n] {
			losses[row] = -logProbs[i*c+f.labels[row]]
			if l := losses[row]; l-l != 0 {
				return fmt.Errorf("layers: the held-out loss of calibration row %d is not finite", row)
			}
		}
		return nil
	})
}

func pick(x []int, index []int) []int {
	out := make([]int, len(index))
	for to, from := range index {
		out[to] = x[from]
	}
	return out
}

// parts cuts the rows into folds, stratified.
func parts(labels []int, folds int, rng *rand.Rand) [][]int {
	fractions := make([]float64, folds)
	for k := range fractions {
		fractions[k] = 1 / float64(folds)
	}
	return data.Stratify(labels, fractions, rng)
}
