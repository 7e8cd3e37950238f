package layers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/work"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Trained is a [Map] on a [Base], fitted on the mean negative log-likelihood or on the
// map's own loss: the paper's stage 2, and every baseline that learns by gradient.
type Trained struct {
	Base Base
	Map  Map
	// By fits the map. [optim.Settings] do so in minibatches, in float32, and stop early by validation rows; without a
	// Rule theirs is Adam with weight decay 1e-3. nil stands for their zero value. Any other method fits it to all
	// rows, in float64 and without its noise, and uses no validation rows.
	By optim.Method

	Name  string         // of the map's stage; "": "calibrate"
	Start *graph.Weights // of the map; nil: as it draws them itself
	// Judge is the validation loss; nil: the map's own on the validation rows.
	Judge func() (float64, error)

	Result optim.Result // of the map's stage in the last Fit

	stages  []Stage        // of the last Fit
	weights *graph.Weights // of the Map
	rows    int            // that the Map was fitted to in the last Fit; 0: those of the base, as of a restored one
}

var _ Stateful = (*Trained)(nil)

// Train makes a calibrator of any Map, which the method, [Trained.By], fits on the predictions of the fitted base.
func Train(base Base, m Map, by optim.Method) *Trained { return &Trained{Base: base, Map: m, By: by} }

// steps are the settings of a fit in minibatches; false of one to all rows.
func (t *Trained) steps() (optim.Settings, bool) {
	s, ok := cmp.Or[optim.Method](t.By, optim.Settings{}).(optim.Settings)
	return decayed(s), ok
}

// Fitted is a Map on a fitted base, with weights that were found elsewhere.
func Fitted(base Base, m Map, weights *graph.Weights) *Trained {
	return &Trained{Base: base, Map: m, weights: weights}
}

// dividing is which share of a fit the stage takes that divides the features, about.
const dividing = 0.75

// Fit fits the base, freezes it, and fits the map on its view of cal. An interrupted
// fit keeps what it learned, one that fails for another reason nothing.
func (t *Trained) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) (err error) {
	t.stages, t.weights, t.Result, t.rows = nil, nil, optim.Result{}, 0 // the base is about to change
	defer func() {
		if err != nil && ctx.Err() == nil {
			t.weights = nil
		}
	}()
	name := cmp.Or(t.Name, "calibrate")
	divided := 0.0
	if _, learns := t.Base.(Staged); learns {
		divided = dividing
	}
	baseErr := t.Base.Fit(work.Span(ctx, "divide", 0, divided), cal, val, rng)
	if s, ok := t.Base.(Staged); ok {
		t.stages = append(t.stages, s.Stages()...)
	}
	sizes := t.Base.Sizes()
	// An interrupted base keeps what it learned, if that is anything; the map then stays
	// at its start.
	if baseErr != nil && (ctx.Err() == nil || sizes.Classes == 0) {
		return baseErr
	}
	if err := t.begin(sizes, rng); err != nil {
		return err
	}
	if baseErr != nil || len(t.weights.Learned()) == 0 {
		return baseErr
	}
	// The base is frozen: its view of the rows is computed once.
	rows, err := t.labelled(cal, t.weights)
	if err != nil {
		return err
	}
	t.rows = cal.Len()
	return t.fit(work.Span(ctx, name, divided, 1), name, rows, val, rng)
}

// begin sets the weights of the map to its start.
func (t *Trained) begin(s Sizes, rng *rand.Rand) (err error) {
	w := t.Start
	if w == nil {
		if w, err = StartMap(t.Map, s, rng); err != nil {
			return err
		}
	}
	if err := t.apart(w); err != nil {
		return err
	}
	dt := tensor.Float64
	if _, steps := t.steps(); steps {
		dt = tensor.Float32
	}
	t.weights = w.As(dt)
	return nil
}

// apart returns an error where weights of the map have the name of one of the base.
func (t *Trained) apart(w *graph.Weights) error {
	base, err := t.Base.State()
	if err != nil || base.Weights == nil {
		return nil
	}
	for _, name := range w.Names() {
		if base.Weights.Has(name) {
			return fmt.Errorf("layers: the map %s and its base both have a weight %q, and one file keeps them: give the map's weight another name", NameOf(t.Map), name)
		}
	}
	return nil
}

// fit is the map's stage, on the rows as the frozen base sees them.
func (t *Trained) fit(ctx context.Context, name string, rows *Rows, val *data.Set, rng *rand.Rand) error {
	// A loss of what is no distribution has no least value. Maps that read all rows cannot be asked
	// for a few; their posterior is asked for after the fit.
	if few, err := rows.Of(data.UpTo(min(rows.n, 64))).of(t.weights, LogProbsOf(t.Map)); err == nil {
		if err := normalized(t.Map, few); err != nil {
			return err
		}
	}
	problem, method := optim.Problem{Rows: rows.Len()}, t.By
	settings, steps := t.steps()
	if steps {
		problem.Loss = noisyObjective(t.Map, t.weights, rows, rng)
		var err error
		if problem.Validation, err = t.validation(val, rows.Effective()); err != nil {
			return err
		}
		method = settings
	} else {
		problem.Loss = Objective(t.Map, t.weights, rows)
	}
	began := time.Now()
	var err error
	t.Result, err = optim.Minimize(ctx, problem, method, rng)
	switch {
	case err != nil:
	case steps:
		problem.Loss = Objective(t.Map, t.weights, rows)
		t.Result.Residual, err = problem.Residual(ctx)
	default:
		t.Result.Optimum, err = problem.Optimum(ctx, t.Result)
	}
	t.stages = append(t.stages, Stage{name, t.Result, time.Since(began)})
	if base, unfitted := t.Base.State(); unfitted == nil && base.Weights != nil && len(base.Weights.Names()) > 0 && base.Weights.Dtype() != t.weights.Dtype() {
		t.weights = t.weights.As(base.Weights.Dtype()) // one file keeps both
	}
	if none := (*graph.NoGradient)(nil); errors.As(err, &none) {
		err = about("map", t.Map, none)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// validation is the loss by which a fit to so many rows stops early, nil without val.
func (t *Trained) validation(val *data.Set, fitted int) (func(graph.Session) (float64, error), error) {
	if val == nil {
		return nil, nil
	}
	held, err := t.labelled(val, t.weights)
	if err != nil {
		return nil, err
	}
	if t.Judge != nil {
		return func(s graph.Session) (float64, error) {
			if err := graph.Fetch(s); err != nil {
				return 0, err
			}
			return t.Judge()
		}, nil
	}
	loss := held.Function(t.weights, func(b *graph.Builder, in Batch) *gorgonia.Node { return lossOf(b, t.Map, in, fitted) })
	return func(s graph.Session) (float64, error) { return s.Mean(loss, val.Len(), EvaluationBatch) }, nil
}

// Parameterization is the map; nil if there is none yet.
func (t *Trained) Parameterization() Map { return t.Map }

// Ridge is λ of the penalty ½λ‖θ‖² that the map was fitted with; an error where its weight
// decay is none.
func (t *Trained) Ridge() (float64, error) {
	if s, steps := t.steps(); steps {
		return ridgeOf("map", s)
	}
	return 0, nil
}

// Stages reports how the last Fit went: the stages of the base, if it is [Staged], and the map's stage, Name, if the
// map has anything to learn.
func (t *Trained) Stages() []Stage { return t.stages }

// Predict gives the map's posterior for each row of x, computed in float64: a Dirichlet score
// is a small difference of large numbers, so float32 would give probabilities within
// 1e-5 only. The base's view of the rows is in its own precision.
func (t *Trained) Predict(x *data.Set) (*data.Predictions, error) {
	p, _, err := t.Read(x)
	return p, err
}

// Read gives Predict's posteriors and, from the same pass over x, the codes of its rows with
// their quantized features; these are nil if the base does not divide.
func (t *Trained) Read(x *data.Set) (*data.Predictions, *Quantized, error) {
	if t == nil || t.weights == nil {
		return nil, nil, ErrUnfitted
	}
	weights := t.weights.As(tensor.Float64)
	rows, view, err := t.rowsFor(x, weights)
	if err != nil {
		return nil, nil, err
	}
	logProbs, err := rows.Posterior(t.Map, weights)
	if err != nil {
		return nil, nil, err
	}
	p, err := data.NewPredictions(logProbs, x)
	if d, ok := t.Base.(Quantizing); ok {
		return p, d.Quantized(view), err
	}
	return p, nil, err
}

// Of computes what describe describes for each row of x (N×D), such as a layer inside the map.
func (t *Trained) Of(x *data.Set, describe func(b *graph.Builder, in Batch) *gorgonia.Node) (*tensor.Dense, error) {
	if t.weights == nil {
		return nil, ErrUnfitted
	}
	rows, _, err := t.rowsFor(x, t.weights)
	if err != nil {
		return nil, err
	}
	return rows.of(t.weights, describe)
}

// Embed is the quantized features if the base divides, else nil.
func (t *Trained) Embed(x *data.Set) (mat.Matrix, error) {
	if e, ok := t.Base.(Embedder); ok {
		return e.Embed(x)
	}
	return nil, nil
}

// State is the base's configuration with the weights of base and map.
func (t *Trained) State() (State, error) {
	if t == nil || t.weights == nil {
		return State{}, ErrUnfitted
	}
	s, err := t.Base.State()
	if err != nil {
		return State{}, err
	}
	return State{s.Config, graph.NewWeights(t.weights.Dtype()).Join(s.Weights, t.weights)}, nil
}

// Restore splits the weights into the map's, by the names it would start with, and
// the base's.
func (t *Trained) Restore(s State) error {
	sizes, err := ReadSizes(s.Config)
	if err != nil {
		return err
	}
	names, err := startOf(t.Map, sizes.least())
	if err != nil {
		return err
	}
	saved, rest := s.Weights.Split(names.Has)
	before, unfitted := t.Base.State()
	if err := t.Base.Restore(State{s.Config, rest}); err != nil {
		return err
	}
	mine, err := RestoreWeights(t.Map, t.Base.Sizes(), saved)
	if err != nil {
		if unfitted == nil {
			err = errors.Join(err, t.Base.Restore(before))
		}
		return err
	}
	t.weights, t.rows = mine, 0
	return nil
}

// startOf are the weights that a map starts with, whatever they are drawn as.
func startOf(m Map, s Sizes) (*graph.Weights, error) {
	return StartMap(m, s, rand.New(rand.NewPCG(0, 0)))
}

// fewClasses is up to how many classes the weights of a map are made without asking how
// many they will be.
const fewClasses = 64

// RestoreWeights are the weights that a map starts with, with the saved values: a model file
// does not distinguish learned weights from state, such as a prior that is fixed. M, w and K of s
// must be those of a base's weights that are there. C may be a file's mere claim: the map
// is first started with few classes and then with twice as many each time, and a claim is refused
// as soon as the map has more values than are saved. More classes must not make fewer values. No map has weights for
// more features than there are values.
func RestoreWeights(m Map, s Sizes, saved *graph.Weights) (*graph.Weights, error) {
	if saved == nil {
		return nil, errors.New("layers: there are no saved weights")
	}
	have := values(saved)
	s.Features = min(s.Features, have)
	for c := fewClasses; c < s.Classes; c *= 2 {
		at := s
		at.Classes, at.Counts = c, slices.Clone(s.Counts[:c])
		for _, n := range s.Counts[c:] { // as many rows in all, of which a map may have a weight each
			at.Counts[0] += n
		}
		w, err := startOf(m, at)
		if err != nil {
			return nil, err
		}
		if values(w) > have {
			return nil, fmt.Errorf("layers: the map %s of %d classes has more than %d values, the model has %d", NameOf(m), s.Classes, have, have)
		}
	}
	start, err := startOf(m, s)
	if err != nil {
		return nil, err
	}
	if err := saved.Require(start.Shapes()); err != nil {
		return nil, err
	}
	w := start.As(saved.Dtype())
	for _, name := range w.Names() {
		w.SetValues(name, saved.Float64s(name))
	}
	return w, nil
}

// values is how many values the weights have in all.
func values(w *graph.Weights) int {
	n := 0
	for _, name := range w.Names() {
		n += w.Tensor(name).DataSize()
	}
	return n
}
