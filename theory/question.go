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
	"strings"

	"calibra/data"
	"calibra/layers"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Question asks of an estimator where its estimates go on samples of a population, and how fast. Its rows are the rows
// of study rate (errors against the sandwich, slopes in N and N_k) for the limit of this estimator, and its statistics.
// [NewStudy] makes a study of several questions.
type Question struct {
	Name       string // begins the keys of its rows; "" where a study has one question alone
	Population Population
	Sampler    Sampler   // draws the rows; zero: each is drawn alone
	Channel    Channel   // codes are misread by; nil: they are read as they are
	Wrong      []float64 // probabilities that the code of a slot is misread, each a population of its own
	Estimator  Estimator
	Rows       []string // the rows of study rate that are reported, by their keys ([Question.Check] lists them); nil: all
	Statistics []Statistic
	// Figures are drawn from the outcome; figures of one name from several questions share axes. nil: those of study
	// rate.
	Figures func(o *Outcome) []Figure

	Sizes      []int  // N, increasing, at least two; nil: four over a factor of 30, large enough for first-order theory
	Shifts     int    // cyclic shifts of the codeword frequencies; 0: 4, or 1 where each shift would have a gauge of its own
	Replicates int    // samples per population and N; 0: 40
	Stream     uint64 // names the random numbers of its samples among those of the questions of a seed
}

// Population is how rows are drawn: their codes and log p̂ by the design, their label by the law of a map.
type Population struct {
	Design Design
	// Truth draws the design's cells, their log p̂, and the law of the label at weights of the estimator; nil: the law
	// is the output of the estimator's map at its start plus N(0, Spread²).
	Truth  func(seed uint64) (*Truth, error)
	Spread float64 // 0: 0.5
	// Disturb changes the law, t.Label, whose probabilities still sum to 1 at each (cell, atom); nil: it is the map's.
	Disturb func(t *Truth, rng *rand.Rand)
}

// Sampler draws samples whose rows are not each drawn alone: dependent rows, as of a Markov chain or of clusters, rows
// without replacement, rows of another law that are reweighted, rows whose codes are learned on them.
type Sampler struct {
	// Draw gives the share W_N of each (cell, atom, label) among n rows that it draws, reweighted if it likes: the
	// shares sum to about 1. law is the probability of each, in the same order, and t says what they are.
	Draw func(t *Truth, law []float64, n int, rng *rand.Rand) []float64
	// Scores is J = lim N Cov ∇L_N(θ*) of such samples at a limit; nil: that of rows drawn alone, l.Scores.
	Scores func(model Model, l Limit) *mat.SymDense
}

// Estimator is a map that is fitted to samples: its mean negative log-likelihood or, of a [layers.Costed], its own
// loss.
type Estimator struct {
	Map    layers.Map
	Gauge  Gauge  // what its weights leave free; nil: the null space of the population Hessian at the limit
	Target Target // what is compared; nil: row k of every K-rowed weight is block k, all other weights are one more
}

// Statistic is a number of what samples gave, with what theory says of it.
type Statistic struct {
	Key, Quantity string // Key is its own among the question's rows
	// Of computes it; Estimate{Value: x} is a number without error. If it cannot, it calls o.Fail with the reason and
	// returns anything: the study ends with the first failure. A method of o that fails calls o.Fail itself and returns
	// zero.
	Of     func(o *Outcome) Estimate
	Target float64 // what theory says; NaN: nothing, and the number is reported without a band
	Within float64 // what theory leaves open; chance comes on top
	Theory string  // the same in words
	// Expect gives Target and Within where they follow from the outcome; nil: they are as given.
	Expect func(o *Outcome) (target, within float64)
}

// errNoModel is of functions that are given none.
var errNoModel = errors.New("theory: there is no model, or no gauge; make one by NewModel, and the other by Free")

// NewModel is the loss of a map on a table, differentiated by the map's own graph. The paper's map has its loss by hand
// ahead of it.
func NewModel(m layers.Map, t *Table) (Model, error) {
	if m == nil || t == nil {
		return nil, errors.New("theory: a model is of a map and a table; give both")
	}
	model := modelOf(m, t)
	return model, model.err
}

// Free are the directions at theta that change no gradient: the null space of the Hessian. A map is identified
// where there are none.
func Free(model Model, theta, weights []float64) (NullSpace, error) {
	if model == nil {
		return NullSpace{}, errNoModel
	}
	return (&Loss{Model: model, Weights: weights}).nullSpace(theta)
}

// Fail ends the question with an error, unless it has one already.
func (o *Outcome) Fail(err error) { o.err = cmp.Or(o.err, err) }

// fits returns an error unless there are as many parameters and weights as the model has.
func (o *Outcome) fits(theta, weights []float64) error {
	if n, all := o.Model.Dim(), len(o.Truth.Label); len(theta) != n || len(weights) != all {
		return fmt.Errorf("theory: the model has %d parameters and %d weights of the population; got %d and %d", n, all, len(theta), len(weights))
	}
	return nil
}

// Limit is the limit of the estimator under other weights: the minimum that a descent from a near point finds. If it
// finds none, the question fails.
func (o *Outcome) Limit(from, weights []float64) Limit {
	if err := o.fits(from, weights); err != nil {
		o.Fail(err)
		return Limit{}
	}
	theta := slices.Clone(from)
	if err := Fit(o.Model, o.Gauge, theta, weights); err != nil {
		o.Fail(err)
	}
	o.Gauge.Fix(theta, from)
	limit, err := NewLimit(o.Model, o.Gauge, theta, weights)
	o.Fail(err)
	return limit
}

// Gradient is ∇L at theta under some weights.
func (o *Outcome) Gradient(theta, weights []float64) []float64 {
	at := &Loss{Model: o.Model, Weights: weights, Err: o.fits(theta, weights)}
	_, grad := at.Gradient(theta)
	o.Fail(at.Err)
	return grad
}

// Usable are the limits and blocks that first-order theory is expected to describe at the largest N.
func (o *Outcome) Usable() iter.Seq2[int, int] { return o.usable(len(o.Sizes) - 1) }

// RMS is the root mean square of a number of the estimates at the largest N.
func (o *Outcome) RMS(limit int, number func(theta []float64) float64) Estimate {
	return RMS(o.values(limit, len(o.Sizes)-1, func(one Replicate) float64 {
		if one.Theta == nil {
			return math.NaN()
		}
		return number(one.Theta)
	}))
}

// Estimates are θ̂ of the samples about a limit, of a size; nil of a sample that had none near θ*.
func (o *Outcome) Estimates(limit, size int) (all [][]float64) {
	if limit < 0 || limit >= len(o.Limits) || size < 0 || size >= len(o.Sizes) {
		o.Fail(fmt.Errorf("theory: there are %d limits and %d sizes, counted from 0; got %d and %d", len(o.Limits), len(o.Sizes), limit, size))
		return nil
	}
	return data.Each(o.At(limit, size), func(one Replicate) []float64 { return one.Theta })
}

// Mean is the mean over the samples of the largest size of a number of their estimates, averaged over the limits.
func (o *Outcome) Mean(number func(limit int, theta []float64) float64) Estimate {
	sums := o.summed(len(o.Sizes)-1, number)
	floats.Scale(1/float64(len(o.Limits)), sums)
	return MeanOf(numeric.Valid(sums))
}

// Slope is the slope in N, log on log, of the root mean square of a number of the estimates, with its 95 % interval
// by the bootstrap.
func (o *Outcome) Slope(number func(limit int, theta []float64) float64) Estimate {
	squared := func(limit int, theta []float64) float64 { return numeric.Square(number(limit, theta)) }
	table := data.Each(data.UpTo(len(o.Sizes)), func(size int) []float64 {
		return data.Each(o.summed(size, squared), math.Sqrt)
	})
	return o.Slopes(newRand(o.Seed, o.Stream, 2<<32), table)[0]
}

// summed is the sum over the limits of a number, for each replicate; NaN where one of its fits was lost.
func (o *Outcome) summed(size int, number func(limit int, theta []float64) float64) []float64 {
	sums := make([]float64, o.Count)
	for limit := range o.Limits {
		for r, theta := range o.Estimates(limit, size) {
			if theta == nil {
				sums[r] = math.NaN()
			} else {
				sums[r] += number(limit, theta)
			}
		}
	}
	return sums
}

// exact reports whether the estimator can represent the law, which then is its limit under every shift.
func (q *Question) exact() bool {
	_, costed := q.Estimator.Map.(layers.Costed)
	return !costed && q.Population.Truth == nil && q.Population.Disturb == nil && q.Channel == nil
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
	if !q.exact() && q.Estimator.Gauge == nil && (q.Shifts > 1 || len(q.Wrong) > 1) {
		return fmt.Errorf("theory: a disturbed law is studied under one shift and one probability Wrong, since each has a θ* and a gauge of its own; leave %d of them out, or give the Gauge", max(1, q.Shifts)*max(1, len(q.Wrong))-1)
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
	case q.Sampler.Draw == nil && q.Sampler.Scores != nil:
		return errors.New("theory: a Sampler without Draw draws each row alone, and J is then known; leave its Scores out")
	case q.Sampler.Draw != nil && q.Channel != nil:
		return errors.New("theory: a Sampler gives rows as they are read; let its Draw misread them, and leave the Channel out")
	case (q.Channel == nil) != (len(q.Wrong) == 0):
		return errors.New("theory: codes are misread by a Channel with the probability Wrong; give both or none")
	}
	for _, p := range q.Wrong {
		if !(p > 0 && p <= 1) {
			return fmt.Errorf("theory: a code is wrong with a probability above 0 and up to 1, not %g", p)
		}
	}
	for i, n := range q.Sizes {
		if n < 1 || i > 0 && n <= q.Sizes[i-1] {
			return fmt.Errorf("theory: sample sizes must be positive and increase, got %v", q.Sizes)
		}
	}
	for _, key := range q.Rows {
		if !slices.Contains(rateKeys, key) {
			return fmt.Errorf("theory: the Rows of a question are some of %s, not %q", strings.Join(rateKeys, ", "), key)
		}
	}
	own := map[string]bool{}
	for _, s := range q.Statistics {
		switch {
		case s.Key == "" || s.Of == nil:
			return fmt.Errorf("theory: statistic %q needs a Key and Of, which computes it", s.Quantity)
		case own[s.Key]:
			return fmt.Errorf("theory: two statistics have the key %q; give each its own", s.Key)
		case slices.Contains(rateKeys, s.Key):
			return fmt.Errorf("theory: the key %q is of a row that every question has, as it has %s; give the statistic another", s.Key, strings.Join(rateKeys, ", "))
		}
		own[s.Key] = true
	}
	if err := d.Check(); err != nil {
		return err
	}
	return cmp.Or(q.Channel.check(d.Codewords), estimable(q.Estimator.Map))
}

// checkAll refuses questions of which one cannot be asked, or whose rows would have one key.
func checkAll(questions []Question) error {
	names := map[string]bool{}
	for _, q := range questions {
		switch {
		case q.Name == "" && len(questions) > 1:
			return fmt.Errorf("theory: of %d questions each needs a Name, with which the keys of its rows begin", len(questions))
		case names[q.Name]:
			return fmt.Errorf("theory: two questions have the Name %q; give each its own", q.Name)
		}
		names[q.Name] = true
		if err := q.Check(); err != nil {
			return err
		}
	}
	return nil
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
	with  Settings
	model *layered    // of the estimator
	laws  [][]float64 // of the true cells: shifts of the codeword frequencies
	reads []Reading   // of each probability Wrong; nil: codes are read as they are
	first []float64   // the limit under the first law
}

// ask draws the truth of a question, and the limit of its estimator under the first law.
func (q Question) ask(with Settings) (a *asked, err error) {
	a = &asked{Question: q, with: with}
	if err := a.draw(); err != nil {
		return nil, err
	}
	a.laws = data.Each(a.Design.Shifts(q.Shifts), func(shift int) []float64 {
		return a.Table.Multinomial(a.Design.Frequencies(shift))
	})
	a.reads = data.Each(q.Wrong, func(wrong float64) Reading { return a.Table.Misread(q.Channel, wrong) })
	if a.first = a.Theta; !q.exact() {
		a.first, err = settle(a.model, a.Estimator.Gauge, a.Theta, a.weights(0, 0))
	}
	return a, err
}

// draw draws the table, the law of the label and the start.
func (a *asked) draw() (err error) {
	p, seed := a.Population, a.with.Seed
	if p.Truth != nil {
		if a.Truth, err = p.Truth(seed); err == nil && (a.Truth == nil || a.Table == nil) {
			err = errors.New("theory: the Truth of a population gives no truth, or one without a Table; make it by NewTruth")
		}
		if err != nil {
			return err
		}
		if a.Channel != nil && !a.Table.isAlike() {
			return errors.New("theory: codes are misread where p̂ tells nothing of the cell; let Truth call Alike")
		}
	} else {
		a.Truth = &Truth{Design: p.Design, Table: support(p.Design, p.Design.Shifts(a.Shifts), newRand(seed, 1))}
		if a.Channel != nil {
			a.Table.alike()
		}
	}
	if a.Channel != nil && a.Table.drawn != nil {
		return errors.New("theory: codes can be misread as those of any cell, and the design has too many to hold all; give fewer slots or codewords")
	}
	a.model = modelOf(a.Estimator.Map, a.Table)
	if err := a.model.alone(); err != nil {
		return err
	}
	if p.Truth == nil {
		at := &Loss{Model: a.model}
		if a.Theta, err = a.model.draw(p.Spread, newRand(seed, 2)); err != nil {
			return err
		}
		if a.Label = at.Posteriors(a.Table, a.Theta); at.Err != nil {
			return at.Err
		}
	}
	if p.Disturb != nil {
		p.Disturb(a.Truth, newRand(seed, 3))
	}
	if n := a.model.Dim(); len(a.Theta) != n {
		return fmt.Errorf("theory: the Theta of the Truth has %d numbers, and %s has %d weights; give it as many",
			len(a.Theta), layers.NameOf(a.Estimator.Map), n)
	}
	return a.lawful()
}

// joint are the weights of rows with the cell that they are read in, under a shift and a probability Wrong; nil where
// it is the true one.
func (a *asked) joint(shift, wrong int) []float64 {
	if a.reads == nil {
		return nil
	}
	return a.reads[wrong].joint(a.Weights(a.laws[shift]))
}

// weights are those of rows as they are read.
func (a *asked) weights(shift, wrong int) []float64 {
	if joint := a.joint(shift, wrong); joint != nil {
		return seen(joint, len(a.Label))
	}
	return a.Weights(a.laws[shift])
}

// experiment is the estimation of θ* under all shifts.
func (a *asked) experiment(ctx context.Context) (e *Experiment, err error) {
	a.Estimator.Gauge.Fix(a.first, nil)
	target := a.Estimator.Target
	if target == nil {
		target = a.model.rows()
	}
	e = &Experiment{
		Trials: Trials{Settings: a.with, Sizes: a.Sizes, Count: a.Replicates}, Truth: a.Truth,
		Model: a.model, Gauge: a.Estimator.Gauge, Target: target, Stream: a.Stream, disturbed: !a.exact(),
	}
	if a.Sampler.Draw != nil {
		e.Sampler = func(law []float64, n int, rng *rand.Rand) []float64 { return a.Sampler.Draw(a.Truth, law, n, rng) }
	}
	found, err := Each(ctx, len(a.laws), a.model, func(model Model, shift int) ([]Limit, error) {
		return a.populations(model, shift, target)
	})
	e.Limits = slices.Concat(found...)
	if err == nil && e.Sizes == nil {
		e.Sizes, err = CertainSizes(e.Reach())
	}
	return e, err
}

// findGauge takes the null space of the population Hessian at θ* as the gauge, and reports it.
func (a *asked) findGauge(r *Report) error {
	found, err := (&Loss{Model: a.model, Weights: a.weights(0, 0)}).nullSpace(a.first)
	if err != nil {
		return err
	}
	a.Estimator.Gauge = found
	r.Record("nullity", "null directions of the population Hessian", Exact(float64(len(found.Basis))), "computed")
	r.Rows[len(r.Rows)-1].Where = data.Each(found.Basis, func(v []float64) string {
		return layers.DirectionOf(a.model.weights, v)
	})
	return nil
}

// populations are those of a shift, each with a θ* of its own where the estimator cannot represent the law: a descent
// from that of the Wrong before it.
func (a *asked) populations(model Model, shift int, target Target) (all []Limit, err error) {
	from := a.Theta
	for wrong := range max(1, len(a.reads)) {
		theta, weights := a.first, a.weights(shift, wrong)
		if !a.exact() && (shift > 0 || wrong > 0) {
			if theta, err = settle(model, a.Estimator.Gauge, from, weights); err != nil {
				return nil, err
			}
			a.Estimator.Gauge.Fix(theta, a.first)
		}
		occupancy := a.Table.Occupancy(a.laws[shift])
		if a.reads != nil {
			occupancy = a.Table.Occupancy(a.Table.OfCells(weights))
		}
		of, err := NewLimit(model, a.Estimator.Gauge, theta, weights)
		if err != nil {
			return nil, err
		}
		of.Occupancy = occupancy
		if a.Sampler.Scores != nil {
			if of.Scores = a.Sampler.Scores(model, of); of.Scores == nil || of.Scores.SymmetricDim() != model.Dim() {
				return nil, fmt.Errorf("theory: the Scores of the Sampler are J, %d×%[1]d; they have another size", model.Dim())
			}
			of.vary()
		}
		of.joint = a.joint(shift, wrong)
		for len(of.Occupancy) < target.Blocks() {
			of.Occupancy = append(of.Occupancy, 1) // what is shared occurs in every row
		}
		all, from = append(all, of), theta
	}
	return all, nil
}

// answer adds the rows of a question.
func (q Question) answer(ctx context.Context, with Settings, r *Report) error {
	a, err := q.withDefaults().ask(with)
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
	r.Record("reach", "deviation of θ̂ in its least certain direction at the smallest N", Exact(e.Reach()/math.Sqrt(float64(e.Sizes[0]))),
		fmt.Sprintf("at most %g for first-order theory; else a larger N", certainRate))
	r.Record("n", "smallest N", Exact(float64(e.Sizes[0])), fmt.Sprintf("largest %.3g", float64(e.Sizes[len(e.Sizes)-1])))
	o, err := e.Report(ctx, r)
	if err != nil {
		return err
	}
	if q.Rows != nil {
		r.Rows = slices.DeleteFunc(r.Rows, func(row Row) bool { return !slices.Contains(q.Rows, row.Key) })
	}
	for _, s := range q.Statistics {
		if s.Expect != nil {
			s.Target, s.Within = s.Expect(o)
		}
		estimate := s.Of(o)
		if estimate.Error > 0 && estimate.Freedom < 1 {
			o.Fail(fmt.Errorf("theory: the statistic %s has the Error %g and no Freedom, the degrees of freedom of its t interval; give both, or none where the value is exact", s.Key, estimate.Error))
		}
		r.Near(s.Key, s.Quantity, estimate, s.Target, s.Within, s.Theory)
	}
	if q.Figures != nil {
		r.Figures = q.Figures(o)
	}
	return o.err
}

// NewStudy is a study of your own: the rows and figures of its questions, one after another. Its seed is the seed of
// the run. If a question cannot be asked, or names or keys occur twice, [Study.Run] returns an error.
func NewStudy(name, claim string, questions ...Question) Study {
	return Study{Name: name, Claim: claim, Parts: []Part{Ask(func(Settings) []Question { return questions })}}
}

// Ask is the part of a study that puts questions.
func Ask(of func(s Settings) []Question) Part {
	return func(ctx context.Context, s Settings, r *Report) error {
		questions := of(s)
		if err := checkAll(questions); err != nil {
			return err
		}
		for _, q := range questions {
			own := &Report{Study: r.Study, Seed: r.Seed}
			q.Replicates = cmp.Or(s.Replicates, q.Replicates)
			err := q.answer(ctx, s, own)
			r.join(q, own)
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// join adds the rows and figures of a question, whose names begin with its own where that is not "". Its own figures
// keep their names, and share the axes of those before them.
func (r *Report) join(q Question, other *Report) {
	for _, row := range other.Rows {
		if q.Name != "" {
			row.Key, row.Quantity = q.Name+"-"+row.Key, q.Name+": "+row.Quantity
		}
		r.Rows = append(r.Rows, row)
	}
	for _, f := range other.Figures {
		if q.Figures == nil && q.Name != "" {
			f.Name, f.Title = q.Name+"-"+f.Name, f.Title+", "+q.Name
		}
		if at := slices.IndexFunc(r.Figures, func(g Figure) bool { return g.Name == f.Name }); at >= 0 {
			r.Figures[at].Curves = append(r.Figures[at].Curves, f.Curves...)
		} else {
			r.Figures = append(r.Figures, f)
		}
	}
}
