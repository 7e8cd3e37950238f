package theory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"

	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Question is put to an estimator: where its estimates go on samples of a population, and how fast. Its rows are those of
// study rate (errors against the sandwich, slopes in N and N_k), about the limit of this estimator, and its
// statistics. [NewStudy] makes a study of some.
type Question struct {
	Name       string // begins the keys of its rows; "" where a study has one question
	Population Population
	Channel    Channel // codes are misread by; nil: they are read as they are
	Wrong      float64 // probability that the code of a slot is misread
	Estimator  Estimator
	Statistics []Statistic

	Sizes      []int // N, increasing, at least two; nil: four over a factor of 30, large enough for first-order theory
	Shifts     int   // cyclic shifts of the codeword frequencies; 0: 4, or 1 where each shift would have a gauge of its own
	Replicates int   // samples per shift and N; 0: 40
}

// Population is how rows are drawn: their codes and log p̂ by the design, their label by the law of a map.
type Population struct {
	Design Design
	// Law is the map whose output is the law of the label, at its start plus N(0, Spread²); nil: that of the estimator.
	Law    layers.Map
	Spread float64 // 0: 0.5
	// Disturb changes the law, t.Label; nil: it is the map's.
	Disturb func(t *Truth, rng *rand.Rand)
}

// Estimator is a map that is fitted to samples: its mean negative log-likelihood or, of a [layers.Costed], its own loss.
type Estimator struct {
	Map    layers.Map
	Gauge  Gauge  // what its weights leave free; nil: the null space of the population Hessian at the limit
	Target Target // what is compared; nil: row k of every K-rowed weight is block k, all other weights are one more
}

// Statistic is a number of what samples gave, with what theory says of it.
type Statistic struct {
	Key, Quantity string
	Of            func(o *Outcome) Estimate
	Target        float64 // what theory says; NaN: nothing, and the number is reported without a band
	Within        float64 // what theory leaves open; chance comes on top
	Theory        string  // the same in words
}

// Limit is where an estimator goes under one law, and how its errors are then:
//
//	√N (θ̂ − θ*) → N(0, S) off the free directions,  S = H⁺ J H⁺.
type Limit struct {
	Theta      []float64     // θ*, the pseudo-true parameters
	Hessian    *mat.SymDense // H = ∇²L(θ*)
	Scores     *mat.SymDense // J = E ∇ℓ ∇ℓᵀ
	Covariance *mat.SymDense // S, the sandwich
	Free       [][]float64   // orthonormal directions that change no loss
}

// errNoModel is of functions that are given none.
var errNoModel = errors.New("theory: there is no model, or no gauge; make one by NewModel, and the other by Free")

// NewLimit is the limit at theta of a model under the weights of a population: theta must be where [Fit] ends there.
func NewLimit(model Model, gauge Gauge, theta, weights []float64) (Limit, error) {
	if model == nil || gauge == nil {
		return Limit{}, errNoModel
	}
	p, err := populationOf(weights, nil, theta, model, gauge)
	return p.limit(), err
}

func (p *population) limit() Limit {
	return Limit{p.theta, p.hessian, p.scores, p.covariance, p.directions}
}

// NewModel is the loss of a map on a table, differentiated by the map's own graph.
func NewModel(m layers.Map, t *Table) (Model, error) {
	if m == nil || t == nil {
		return nil, errors.New("theory: a model is of a map and a table; give both")
	}
	model := newLayered(m, t)
	return model, model.err
}

// Fit brings theta to the stationary point of the loss under the weights that a damped Newton descent finds from it:
// those of a population give θ*, those of a [Sample] θ̂. Where it finds none the error is an *[UnsettledError].
func Fit(model Model, gauge Gauge, theta, weights []float64) error {
	if model == nil || gauge == nil {
		return errNoModel
	}
	return minimize(model, gauge, theta, weights)
}

// Free are the directions at theta that change no gradient: the null space of the Hessian. A map is identified
// where there are none.
func Free(model Model, theta, weights []float64) (NullSpace, error) {
	if model == nil {
		return NullSpace{}, errNoModel
	}
	at := &probe{model: model, weights: weights}
	gauge, _ := at.nullSpace(theta)
	return gauge, at.err
}

// Outcome is what samples of a question gave.
type Outcome struct {
	Truth  *Truth
	Sizes  []int   // N
	Limits []Limit // of each shift of the law
	of     *outcome
}

// Estimates are θ̂ of the samples of a shift and a size; nil of a sample that had none near θ*.
func (o *Outcome) Estimates(shift, size int) (all [][]float64) {
	for _, one := range o.of.at(shift, size) {
		all = append(all, one.theta)
	}
	return all
}

// Mean is the mean over the samples of the largest size of a number of their estimates, averaged over the shifts.
func (o *Outcome) Mean(number func(shift int, theta []float64) float64) Estimate {
	sums := o.summed(len(o.Sizes)-1, number)
	floats.Scale(1/float64(len(o.Limits)), sums)
	return meanEstimate(valid(sums))
}

// Slope is the slope in N, log on log, of the root mean square of a number of the estimates, with its 95 % interval
// by the bootstrap.
func (o *Outcome) Slope(number func(shift int, theta []float64) float64) Estimate {
	table := make([][]float64, len(o.Sizes))
	for size := range table {
		table[size] = o.summed(size, func(shift int, theta []float64) float64 { return square(number(shift, theta)) })
		for r, sum := range table[size] {
			table[size][r] = math.Sqrt(sum)
		}
	}
	return o.of.slopes(newRand(o.of.Seed, o.of.salt, 2<<32), table)[0]
}

// summed is the sum over the shifts of a number, for each replicate; NaN where one of its fits was lost.
func (o *Outcome) summed(size int, number func(shift int, theta []float64) float64) []float64 {
	sums := make([]float64, o.of.count)
	for shift := range o.Limits {
		for r, theta := range o.Estimates(shift, size) {
			if theta == nil {
				sums[r] = math.NaN()
			} else {
				sums[r] += number(shift, theta)
			}
		}
	}
	return sums
}

// valid are the values that are numbers.
func valid(values []float64) (some []float64) {
	for _, v := range values {
		if !math.IsNaN(v) {
			some = append(some, v)
		}
	}
	return some
}

// exact reports whether the estimator can represent the law, which then is its limit under every shift.
func (q *Question) exact() bool {
	_, costed := q.Estimator.Map.(layers.Costed)
	return !costed && q.Population.Law == nil && q.Population.Disturb == nil && q.Channel == nil
}

func (q Question) withDefaults() Question {
	q.Population.Spread, q.Shifts, q.Replicates = cmp.Or(q.Population.Spread, 0.5), cmp.Or(q.Shifts, 4), cmp.Or(q.Replicates, 40)
	if !q.exact() && q.Estimator.Gauge == nil {
		q.Shifts = 1
	}
	return q
}

// Check reports the first impossible setting as one sentence; 0 is a default, which is possible.
func (q Question) Check() error {
	if q.Estimator.Map == nil {
		return errors.New("theory: a question needs an estimator; give Estimator a Map")
	}
	if !q.exact() && q.Estimator.Gauge == nil && q.Shifts > 1 {
		return fmt.Errorf("theory: a disturbed law is studied under one shift, since each has a θ* and a gauge of its own; leave %d shifts out, or give the Gauge", q.Shifts)
	}
	q = q.withDefaults()
	d := q.Population.Design
	switch {
	case q.Sizes != nil && len(q.Sizes) < 2:
		return fmt.Errorf("theory: a rate needs at least two sample sizes, got %d", len(q.Sizes))
	case q.Replicates < 2:
		return fmt.Errorf("theory: an error bar needs at least 2 replicates, got %d", q.Replicates)
	case q.Shifts < 1:
		return fmt.Errorf("theory: a rate needs at least 1 shift of the codeword frequencies, got %d", q.Shifts)
	case !(q.Population.Spread >= 0) || math.IsInf(q.Population.Spread, 1):
		return fmt.Errorf("theory: the spread of the truth must be a number of at least 0, got %g", q.Population.Spread)
	case !(q.Wrong >= 0 && q.Wrong <= 1):
		return fmt.Errorf("theory: a code is wrong with a probability from 0 to 1, not %g", q.Wrong)
	case (q.Channel == nil) != (q.Wrong == 0):
		return errors.New("theory: codes are misread by a Channel with the probability Wrong; give both or none")
	}
	for i, n := range q.Sizes {
		if n < 1 || i > 0 && n <= q.Sizes[i-1] {
			return fmt.Errorf("theory: sample sizes must be positive and increase, got %v", q.Sizes)
		}
	}
	for _, s := range q.Statistics {
		if s.Key == "" || s.Of == nil {
			return fmt.Errorf("theory: statistic %q needs a Key and Of, which computes it", s.Quantity)
		}
	}
	return cmp.Or(d.Check(), estimable(q.Estimator.Map))
}

// estimable refuses a map whose fit draws at random or reads more of a row than log p̂ and its region.
func estimable(m layers.Map) error {
	switch m.(type) {
	case layers.Noisy:
		return fmt.Errorf("theory: %s has a loss with noise of its own (Noisy), which no sum over rows is; study the map without it", layers.NameOf(m))
	case layers.Informed:
		return fmt.Errorf("theory: %s has inputs of its own (Informed), and rows of a design have log p̂ and codes alone; study the map without them", layers.NameOf(m))
	}
	return nil
}

// asked is a question with its truth and the model of its estimator.
type asked struct {
	Question
	*Truth
	seed  uint64
	model *layered
	laws  [][]float64 // of the true cells, one a population: shifts of the codeword frequencies
	read  *reading    // nil: codes are read as they are
}

// ask draws the truth of a question, and the limit of its estimator under the first law.
func (q Question) ask(seed uint64) (a *asked, err error) {
	d := q.Population.Design
	table := support(d, evenShifts(d, q.Shifts), newRand(seed, 1))
	if q.Channel != nil {
		if table.drawn != nil {
			return nil, errors.New("theory: codes can be misread as those of any cell, and the design has too many to hold all; give fewer slots or codewords")
		}
		table.alike()
		read := table.misread(q.Channel, q.Wrong)
		a = &asked{read: &read}
	} else {
		a = new(asked)
	}
	a.Question, a.seed, a.model = q, seed, newLayered(q.Estimator.Map, table)
	if err := a.model.alone(); err != nil {
		return nil, err
	}
	a.Truth = &Truth{Design: d, Table: table}
	a.laws = a.shifted(q.Shifts)
	law := a.model
	if q.Population.Law != nil && !reflect.DeepEqual(q.Population.Law, q.Estimator.Map) {
		law = newLayered(q.Population.Law, table)
	}
	at := &probe{model: law}
	if a.Theta, err = law.draw(q.Population.Spread, newRand(seed, 2)); err != nil {
		return nil, err
	}
	if a.Label = at.posteriors(table, a.Theta); at.err != nil {
		return nil, at.err
	}
	if q.Population.Disturb != nil {
		q.Population.Disturb(a.Truth, newRand(seed, 3))
	}
	if law != a.model {
		if a.Theta, err = a.model.draw(q.Population.Spread, newRand(seed, 2)); err != nil {
			return nil, err
		}
	}
	if !q.exact() {
		a.Theta, err = a.model.settle(a.Theta, a.weights(0))
	}
	return a, err
}

// joint are the weights of rows with the cell that they are read in, under a shift; nil where it is the true one.
func (a *asked) joint(shift int) []float64 {
	if a.read == nil {
		return nil
	}
	return a.read.joint(a.Weights(a.laws[shift]))
}

// weights are those of rows as they are read.
func (a *asked) weights(shift int) []float64 {
	if joint := a.joint(shift); joint != nil {
		return seen(joint, len(a.Label))
	}
	return a.Weights(a.laws[shift])
}

// experiment is the estimation of θ* under all shifts.
func (a *asked) experiment(ctx context.Context) (e *experiment, err error) {
	a.Estimator.Gauge.Fix(a.Theta, nil)
	target := a.Estimator.Target
	if target == nil {
		target = a.model.rows()
	}
	e = &experiment{
		trials: trials{setup: newSetup(Settings{Seed: a.seed}), sizes: a.Sizes, count: a.Replicates}, table: a.Table,
		model: a.model, gauge: a.Estimator.Gauge, target: target, disturbed: !a.exact(),
	}
	e.populations, err = each(ctx, len(a.laws), a.model, func(model Model, i int) (population, error) {
		return a.population(model, i, target)
	})
	if err == nil && e.sizes == nil {
		e.sizes, err = certainSizes(e.reach())
	}
	return e, err
}

// findGauge takes the null space of the population Hessian at θ* as the gauge, and reports it.
func (a *asked) findGauge(r *Report) error {
	at := &probe{model: a.model, weights: a.weights(0)}
	found, of := at.nullSpace(a.Theta)
	a.Estimator.Gauge = found
	r.record("nullity", "null directions of the population Hessian", exact(float64(len(found.Basis))), fmt.Sprintf("computed: |λ| ≤ %.1g, others ≥ %.1g of the largest", of.zeroAt, of.gapAt))
	row := &r.Rows[len(r.Rows)-1]
	for _, v := range found.Basis {
		row.Where = append(row.Where, layers.DirectionOf(a.model.weights, v))
	}
	return at.err
}

// population is that of the i-th shift, with a θ* of its own where the estimator cannot represent the law.
func (a *asked) population(model Model, i int, target Target) (of population, err error) {
	theta := a.Theta
	if !a.exact() && i > 0 {
		if theta, err = model.(*layered).settle(a.Theta, a.weights(i)); err != nil {
			return of, err
		}
		a.Estimator.Gauge.Fix(theta, a.Theta)
	}
	if joint := a.joint(i); joint != nil {
		weights := seen(joint, len(a.Label))
		of, err = populationOf(weights, a.Table.Occupancy(a.Table.ofCells(weights)), theta, model, a.Estimator.Gauge)
		of.joint = joint
	} else {
		of, err = a.populationAt(theta, a.laws[i], model, a.Estimator.Gauge)
	}
	for len(of.occupancy) < target.Blocks() {
		of.occupancy = append(of.occupancy, 1) // what is shared occurs in every row
	}
	return of, err
}

// answer adds the rows of a question.
func (q Question) answer(ctx context.Context, seed uint64, r *Report) error {
	if err := q.Check(); err != nil {
		return err
	}
	a, err := q.withDefaults().ask(seed)
	if err != nil {
		return err
	}
	if a.Estimator.Gauge == nil {
		if err := a.findGauge(r); err != nil {
			return err
		}
	}
	e, err := a.experiment(ctx)
	if err != nil {
		return err
	}
	r.record("reach", "deviation of θ̂ in its least certain direction at the smallest N", exact(e.reach()/math.Sqrt(float64(e.sizes[0]))),
		fmt.Sprintf("at most %g for first-order theory; else a larger N", certainRate))
	r.record("n", "smallest N", exact(float64(e.sizes[0])), fmt.Sprintf("largest %.3g", float64(e.sizes[len(e.sizes)-1])))
	of, err := e.report(ctx, r)
	if err != nil {
		return err
	}
	o := &Outcome{Truth: a.Truth, Sizes: e.sizes, of: of}
	for i := range e.populations {
		o.Limits = append(o.Limits, e.populations[i].limit())
	}
	for _, s := range q.Statistics {
		if estimate := s.Of(o); math.IsNaN(s.Target) {
			r.record(s.Key, s.Quantity, estimate, s.Theory)
		} else {
			r.near(s.Key, s.Quantity, estimate, s.Target, s.Within, s.Theory)
		}
	}
	return nil
}

// NewStudy is a study of one's own: the rows and figures of its questions, one after another. Its seed is that of the run.
func NewStudy(name, claim string, questions ...Question) Study {
	s := Study{Name: name, Claim: claim}
	for _, q := range questions {
		s.parts = append(s.parts, func(ctx context.Context, with *setup, r *Report) error {
			own := &Report{Study: r.Study, Seed: r.Seed}
			err := q.answer(ctx, with.Seed, own)
			r.join(q.Name, own)
			return err
		})
	}
	return s
}

// join adds the rows and figures of another report, whose names begin with name where it is not "".
func (r *Report) join(name string, other *Report) {
	for _, row := range other.Rows {
		if name != "" {
			row.Key, row.Quantity = name+"-"+row.Key, name+": "+row.Quantity
		}
		r.Rows = append(r.Rows, row)
	}
	for _, f := range other.Figures {
		if name != "" {
			f.Name, f.Title = name+"-"+f.Name, f.Title+", "+name
		}
		r.Figures = append(r.Figures, f)
	}
}
