package anchored

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// SpreadGrid is the spreads that cross-validation tries besides 0: powers of 2 in nats, a
// factor of 4 in the prior's variance. It begins with the first; beyond the largest a prior
// has no effect, below the smallest it leaves nothing to learn. The zero value is 1/8, 1/2, 16.
type SpreadGrid struct{ Smallest, First, Largest float64 }

func (g SpreadGrid) filled() SpreadGrid {
	return SpreadGrid{cmp.Or(g.Smallest, 1./8), cmp.Or(g.First, 1./2), cmp.Or(g.Largest, 16)}
}

// A map that is to be judged, not kept, is fitted to judgeGradient or until ten
// iterations lower its loss by less than judgeDecrease: a held-out loss needs no more
// digits than its standard error, so float32 has enough of them too.
const (
	judgeGradient = 2e-5
	judgeDecrease = 5e-5
)

// crossValidation fits maps to all rows but a part, for each part in turn, and judges
// them by the loss of the part.
type crossValidation struct {
	sizes   layers.Sizes
	aims    *data.Set // labels and weights of the rows that the folds divide
	folds   []*fold
	method  optim.Method // of fits to be judged
	seed    uint64       // of those that draw
	spreads SpreadGrid
	walked  int // folds that spreads are chosen on; 0: all
	rng     *rand.Rand
	done    map[layers.Map]*judgement // a map is judged once, whatever corrections build on it
}

// fold is the rows that a map is fitted to, and those held out.
type fold struct {
	fit, held *layers.Rows
	rows      []int     // numbers of those held out
	aims      *data.Set // of all rows that the folds divide
}

// judgement is the folds' result for a map.
type judgement struct {
	logProbs *tensor.Dense    // N×C, float32 as the fits are, of each row by the fold that held it out
	losses   []float64        // N, −log p of its label, or the cross-entropy of a soft one
	right    []float64        // N, 1 where that label was the most probable class, its share of a soft one
	mean     float64          // of the losses, by the rows' weights
	spreads  []float64        // that gave the least mean, the coarsest correction's first
	weights  []*graph.Weights // of the map in each fold
}

// newCrossValidation fits and judges labelled rows in folds of them.
func newCrossValidation(s layers.Sizes, rows *layers.Rows, aims *data.Set, folds []layers.Fold, by judging, rng *rand.Rand) *crossValidation {
	cv := &crossValidation{sizes: s, aims: aims, method: judgedBy(by.method, judgeDecrease), spreads: by.spreads.filled(), rng: rng, done: map[layers.Map]*judgement{}}
	if _, whole := cv.method.(optim.LBFGS); !whole { // which draws nothing
		cv.seed = rng.Uint64()
	}
	for _, f := range folds {
		cv.folds = append(cv.folds, &fold{fit: rows.Of(f.Fit), held: rows.Of(f.Held), rows: f.Held, aims: aims})
	}
	return cv
}

// lbfgs is L-BFGS in place of no method.
func lbfgs(m optim.Method) optim.Method { return cmp.Or[optim.Method](m, optim.LBFGS{}) }

// judgedBy is the method as it fits maps that are to be judged: L-BFGS ends sooner, any other as it ends.
func judgedBy(m optim.Method, decrease float64) optim.Method {
	m = lbfgs(m)
	if s, ok := m.(optim.LBFGS); ok {
		s.Gradient, s.Decrease = max(s.Gradient, judgeGradient), max(s.Decrease, decrease)
		return s
	}
	return m
}

// judge fits m in each fold, its spreads chosen one after the other by the held-out
// loss, the coarsest correction first and the finer not yet there.
func (cv *crossValidation) judge(ctx context.Context, m layers.Map) (*judgement, error) {
	if r, ok := m.(resting); ok {
		return cv.judge(ctx, r.before())
	}
	if cv.done[m] != nil {
		return cv.done[m], nil
	}
	var coarse *judgement
	h, hierarchical := m.(Hierarchical)
	if hierarchical {
		var err error
		if coarse, err = cv.judge(ctx, h.Coarser()); err != nil {
			return nil, err
		}
	}
	fits := make([]*posterior, len(cv.folds))
	for k, f := range cv.folds {
		p, err := newPosterior(m, cv.sizes, f.fit, cv.rng)
		if err != nil {
			return nil, err
		}
		if coarse != nil {
			p.from(coarse.weights[k])
			p.spread(h.Spread(), 0)
		}
		fits[k] = p
	}
	best, err := cv.along(ctx, m, fits, coarse)
	if err != nil {
		return nil, err
	}
	cv.done[m] = best
	return best, nil
}

// along looks for the finest spread of m from coarse, the judgement of 0: upwards as
// long as the loss falls or, if it rises at once, downwards. A map without a spread is
// judged as it is.
func (cv *crossValidation) along(ctx context.Context, m layers.Map, fits []*posterior, coarse *judgement) (*judgement, error) {
	if coarse == nil {
		return cv.fit(ctx, fits)
	}
	w := &spreadWalk{cv: cv, spread: m.(Hierarchical).Spread(), coarse: coarse, best: *coarse}
	w.best.spreads, w.best.weights = append(slices.Clone(coarse.spreads), 0), nil
	for _, p := range fits {
		w.best.weights = append(w.best.weights, p.weights.Clone())
	}
	var rest []*posterior
	w.fits, rest = fits[:cmp.Or(cv.walked, len(fits))], fits[cmp.Or(cv.walked, len(fits)):]
	w.best.mean = cv.mean(w.best.losses, len(w.fits))
	first, err := w.try(ctx, cv.spreads.First)
	if err != nil {
		return nil, err
	}
	up, err := w.walk(ctx, 2, first)
	if err == nil && !up {
		_, err = w.walk(ctx, 1./2, first)
	}
	best := &w.best
	if to := best.spreads[len(best.spreads)-1]; err == nil && to > 0 && len(rest) > 0 {
		for _, p := range rest {
			p.spread(w.spread, to)
		}
		err = cv.add(ctx, best, rest, len(w.fits))
	}
	best.mean = cv.mean(best.losses, len(fits))
	return best, err
}

// spreadWalk is a walk along a spread, by some of the folds.
type spreadWalk struct {
	cv     *crossValidation
	spread Spread
	fits   []*posterior
	coarse *judgement
	best   judgement // so far
	tries  int
}

// try judges a spread.
func (w *spreadWalk) try(ctx context.Context, to float64) (mean float64, err error) {
	for _, p := range w.fits {
		p.spread(w.spread, to)
	}
	from := walkedShare(w.tries)
	w.tries++
	j, err := w.cv.fit(work.Span(ctx, "", from, walkedShare(w.tries)), w.fits)
	if err != nil {
		return 0, err
	}
	if j.mean < w.best.mean {
		j.spreads = append(slices.Clone(w.coarse.spreads), to)
		w.best = *j
	}
	return j.mean, nil
}

// walk goes on from the first spread by a factor, as long as the loss falls, and reports whether it did.
func (w *spreadWalk) walk(ctx context.Context, factor, mean float64) (moved bool, err error) {
	of := w.cv.spreads
	for to := of.First * factor; of.Smallest <= to && to <= of.Largest; to *= factor {
		next, err := w.try(ctx, to)
		if err != nil || next >= mean {
			return moved, err
		}
		mean, moved = next, true
	}
	return moved, nil
}

// walkedShare is which share of a walk should be behind it after so many tries: how many there will be it does not
// know, and most often they are four.
func walkedShare(tries int) float64 { return 1 - math.Pow(0.6, float64(tries)) }

// mean is the mean of what the rows held out by the first folds lose.
func (cv *crossValidation) mean(losses []float64, folds int) float64 {
	if folds == len(cv.folds) {
		return stat.Mean(losses, cv.aims.Weights)
	}
	var sum, rows float64
	for _, f := range cv.folds[:folds] {
		for _, row := range f.rows {
			sum += cv.aims.Weight(row) * losses[row]
			rows += cv.aims.Weight(row)
		}
	}
	return sum / rows
}

// fit goes on with the fits of the first folds and judges them.
func (cv *crossValidation) fit(ctx context.Context, fits []*posterior) (*judgement, error) {
	j := &judgement{logProbs: tensor.New(tensor.Of(tensor.Float32), tensor.WithShape(cv.aims.Len(), cv.sizes.Classes)), losses: make([]float64, cv.aims.Len()), right: make([]float64, cv.aims.Len()), weights: make([]*graph.Weights, len(cv.folds))}
	if err := cv.add(ctx, j, fits, 0); err != nil {
		return nil, err
	}
	j.mean = cv.mean(j.losses, len(fits))
	return j, nil
}

// add goes on with the fits of folds from the first on and adds their results to j.
func (cv *crossValidation) add(ctx context.Context, j *judgement, fits []*posterior, first int) error {
	return work.Parts{What: "fold", N: len(fits)}.Do(ctx, func(ctx context.Context, k int) error {
		p := fits[k]
		if _, err := p.fit(ctx, cv.method, rand.New(rand.NewPCG(cv.seed, uint64(first+k)))); err != nil {
			return err
		}
		j.weights[first+k] = p.weights.Clone()
		return cv.folds[first+k].judge(p, j)
	})
}

// judge writes the output of p for each held row.
func (f *fold) judge(p *posterior, j *judgement) error {
	says := p.says
	if says == nil {
		says = f.held.Function(p.weights, layers.LogProbsOf(p.m))
	}
	if p.keeps {
		p.says = says
	}
	return says.Each(len(f.rows), layers.EvaluationBatch, func(lo int, out []gorgonia.Value) error {
		single, double, c := out[0].(*tensor.Dense).Float32s(), graph.Float64s(out[0]), j.logProbs.Shape()[1]
		for i := range len(single) / c {
			row, logProbs := f.rows[lo+i], double[i*c:(i+1)*c]
			copy(j.logProbs.Float32s()[row*c:], single[i*c:(i+1)*c])
			layers.Remask(j.logProbs.Float32s()[row*c:][:c])
			j.losses[row], j.right[row] = f.aims.CrossEntropy(row, logProbs), f.aims.Share(row, floats.MaxIdx(logProbs))
			if l := j.losses[row]; l-l != 0 {
				return fmt.Errorf("layers: the held-out loss of calibration row %d is not finite", row)
			}
		}
		return nil
	})
}
