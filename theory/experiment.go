package theory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// experiment estimates one model from many samples of a few populations (the
// cyclic shifts of a design) at growing sizes.
type experiment struct {
	trials
	table       *Table
	model       Model
	gauge       Gauge
	target      Target
	populations []population
	salt        uint64 // names the experiment among those of its study
	disturbed   bool   // the model cannot represent the law
}

// outcome is what an experiment's replicates gave.
type outcome struct {
	*experiment
	all       []replicate // of each population, each size
	unsettled []string    // the replicates that reached no minimum near θ*, with their seeds
}

// replicate is what one sample gave: numbers are NaN where it reached no minimum near θ*.
type replicate struct {
	theta      []float64 // θ̂ at the representative; nil where there is none
	blockError []float64 // the target's distance from θ*
	thetaError float64   // ‖θ̂ − θ*‖ at the representative
	gradNorm   float64   // ‖∇L_N(θ*)‖
	residual   float64   // ‖∇L_N(θ̂)‖ of the model itself
	wald       float64
}

// at are the replicates of a population and a size.
func (o *outcome) at(s, size int) []replicate {
	return o.all[(s*len(o.sizes)+size)*o.count:][:o.count]
}

// values are a number of each of them.
func (o *outcome) values(s, size int, of func(replicate) float64) []float64 {
	values := make([]float64, o.count)
	for r, x := range o.at(s, size) {
		values[r] = of(x)
	}
	return values
}

// errors are those of a block.
func (o *outcome) errors(s, size, k int) []float64 {
	return o.values(s, size, func(x replicate) float64 { return x.blockError[k] })
}

// usablePart bounds pred_k/|M*_k| of the blocks that enter a statistic: beyond it
// the first-order theory is not expected to describe the estimator.
const usablePart = 0.35

// usable are the populations and blocks that the first-order theory is expected to describe at a size.
func (e *experiment) usable(size int) iter.Seq2[int, int] {
	return func(yield func(s, k int) bool) {
		for s := range e.populations {
			for k := range e.target.Blocks() {
				if e.relative(s, size, k) <= usablePart && !yield(s, k) {
					return
				}
			}
		}
	}
}

// relative is pred_k/|M*_k| at a size.
func (e *experiment) relative(s, size, k int) float64 {
	p := &e.populations[s]
	return p.predicted[k] / math.Sqrt(float64(e.sizes[size])) / e.target.Size(k, p.theta)
}

// aim makes target what is compared with θ*.
func (e *experiment) aim(target Target) {
	e.target, e.populations = target, slices.Clone(e.populations)
	for s := range e.populations {
		e.populations[s].predict(target)
	}
}

func (e *experiment) run(ctx context.Context) (*outcome, error) {
	e.aim(e.target)
	if err := e.checkSizes(); err != nil {
		return nil, err
	}
	e.laws = len(e.populations)
	e.law = func(x trial) []float64 { return e.populations[x.law].weights }
	e.rand = func(x trial) *rand.Rand {
		return newRand(e.Seed, e.salt, uint64(x.law), uint64(x.size), uint64(x.rep))
	}
	o := &outcome{experiment: e}
	var err error
	o.all, o.unsettled, err = runTrials(ctx, &e.trials, e.model, e.replicate)
	return o, err
}

// checkSizes refuses samples in which the theory is expected to describe no block.
func (e *experiment) checkSizes() error {
	last, least := len(e.sizes)-1, math.Inf(1)
	for s := range e.populations {
		for k := range e.target.Blocks() {
			least = math.Min(least, e.relative(s, last, k))
		}
	}
	if least <= usablePart {
		return nil
	}
	needed := float64(e.sizes[last]) * (least / usablePart) * (least / usablePart)
	return fmt.Errorf("theory: N = %d is too small: the predicted error of every block exceeds %g of its size; the best block needs N of %.1g", e.sizes[last], usablePart, needed)
}

// replicate fits one sample, from θ*, and says how far the fit is from θ*.
func (e *experiment) replicate(model Model, t trial) (x replicate, err error) {
	sample, at := e.draw(t), &e.populations[t.law]
	if p, ok := model.(interface{ precondition(*mat.SymDense) }); ok {
		p.precondition(at.hessian)
	}
	by := &probe{model: cheapest(model), weights: sample}
	_, grad := by.gradient(at.theta)
	x.gradNorm = floats.Norm(grad, 2)

	theta := slices.Clone(at.theta)
	if err := cmp.Or(by.err, minimize(model, e.gauge, theta, sample)); err != nil {
		e.leave(&x)
		if far := new(UnsettledError); errors.As(err, &far) {
			err = lost{fmt.Errorf("‖∇L‖ = %.1e, %.2g from θ*", far.Gradient, far.Distance)}
		}
		return x, err
	}
	by.model = model
	_, grad = by.gradient(theta)
	projectOff(grad, e.gauge.Directions(theta))
	e.gauge.Fix(theta, at.theta)
	x.theta, x.residual, x.wald = theta, floats.Norm(grad, 2), at.wald(theta, t.rows)
	x.thetaError, x.blockError = floats.Distance(theta, at.theta, 2), e.distances(t.law, theta)
	return x, by.err
}

// leave takes what a sample gave out of the errors.
func (e *experiment) leave(x *replicate) {
	x.theta, x.blockError = nil, e.distances(0, nil)
	x.thetaError, x.wald, x.residual = math.NaN(), math.NaN(), math.NaN()
}

// distances are those of the blocks at theta from θ* of a population; NaN where there is no theta.
func (e *experiment) distances(s int, theta []float64) []float64 {
	blocks := slices.Repeat([]float64{math.NaN()}, e.target.Blocks())
	if theta != nil {
		for k := range blocks {
			blocks[k] = e.target.Distance(k, theta, e.populations[s].theta)
		}
	}
	return blocks
}

// cheapest is the model's companion where it has one: the same loss by hand.
func cheapest(model Model) Model {
	if m := model.companion(); m != nil {
		return m
	}
	return model
}

// withTarget is the same outcome with the blocks of another target.
func (o *outcome) withTarget(target Target) *outcome {
	e := *o.experiment
	e.aim(target)
	other := &outcome{experiment: &e, all: slices.Clone(o.all), unsettled: o.unsettled}
	for i := range other.all {
		x := &other.all[i]
		x.blockError = e.distances(i/(len(e.sizes)*e.count), x.theta)
	}
	return other
}

// reach is the standard deviation at N = 1 of θ̂ in its least certain direction, the
// largest over the populations.
func (e *experiment) reach() float64 {
	var largest float64
	for _, p := range e.populations {
		largest = math.Max(largest, math.Sqrt(operatorNorm(p.covariance)))
	}
	return largest
}

// waldOutlier marks replicates that left the neighbourhood where the theory holds.
const waldOutlier = 2.5

// keepNeighbourhood takes the replicates that left the neighbourhood of θ* (Wald/df
// above waldOutlier) out of the errors, and returns how many left at the largest N,
// those that reached no minimum among them, and which.
func (o *outcome) keepNeighbourhood() (where []string) {
	for s, p := range o.populations {
		freedom := float64(p.freedom())
		for size, N := range o.sizes {
			for r, x := range o.at(s, size) {
				if x.wald <= waldOutlier*freedom {
					continue
				}
				if !math.IsNaN(x.wald) {
					which := o.name(trial{law: s, size: size, rep: r, rows: N})
					where = append(where, fmt.Sprintf("%s: Wald/df = %.2g", which, x.wald/freedom))
				}
				o.leave(&o.at(s, size)[r])
			}
		}
	}
	return append(where, o.unsettled...)
}
