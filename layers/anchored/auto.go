package anchored

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/data"
	"calibra/graph/onnx"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Auto chooses among maps on one base by cross-validation over the calibration
// rows, then fits the choice to all of them: the first, hence simplest, candidate
// whose held-out NLL exceeds the least by no more than the standard error of the
// difference (the one-standard-error rule of Breiman et al. 1984, paired). Candidates
// whose held-out accuracy is below the base's by more than the standard error of the
// difference do not take part, unless there is no other.
//
// Each candidate's own spreads are chosen on the same folds (see [Hierarchical]);
// with one candidate Auto is that map with its prior learned. Maps are minimized by
// L-BFGS over all rows at once, in float32 to be judged and in float64 to be kept, to
// a stated gradient. Validation rows are not looked at.
//
// The base is fitted once, to all calibration rows. For [Anchor] that lets a held-out
// row take part in T and, without its label, in the codebook.
type Auto struct {
	Base       layers.Base
	Candidates []Candidate  // the simpler first
	Folds      int          // 0: 3
	Rows       int          // that the folds divide; 0: all, or those of 2²² logits, as in [Stack]
	Method     optim.Method // nil: L-BFGS
	Spreads    SpreadGrid

	Ranking []Ranked     // of the last Fit, in the candidates' order
	Result  optim.Result // of the choice's fit to all rows

	name   string // of the choice
	fitted *layers.Trained
	took   time.Duration
}

var (
	_ layers.Stateful = (*Auto)(nil)
	_ Ranker          = (*Auto)(nil)
)

// Fit draws the folds, stratified, from rng. Before a map is chosen there is nothing that
// an interrupted fit could keep.
func (a *Auto) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	folds := cmp.Or(a.Folds, 3)
	start := time.Now()
	a.name, a.Ranking, a.fitted = "", nil, nil // the base is about to change
	c, err := compete(work.Span(ctx, "", 0, 0.6), a.Base, a.Candidates, judging{rows: a.Rows, folds: folds, method: a.Method, spreads: a.Spreads}, cal, rng)
	if err != nil {
		return err
	}
	a.Ranking = c.ranking
	chosen := slices.IndexFunc(a.Ranking, func(r Ranked) bool { return r.Chosen })
	_, rows, err := seenBy(a.Base, a.Base.Sizes(), cal, tensor.Float64)
	if err != nil {
		return err
	}
	of, near := a.Candidates[chosen], c.judged[chosen].weights[0] // nearer than the map's own start
	fitting := work.Span(ctx, "fit "+of.Name+" to all rows", 0.6, 1)
	w, result, err := whole(fitting, of.Map, a.Base.Sizes(), rows, near, lbfgs(a.Method), rng) // in float64, far closer
	if a.Result = result; err != nil && (w == nil || !errors.Is(err, ctx.Err())) {
		return fmt.Errorf("fit %s: %w", of.Name, err)
	}
	a.name, a.took = of.Name, time.Since(start)
	a.fitted = layers.Fitted(a.Base, of.Map, w.As(tensor.Float32))
	return err
}

// Choice is the name of the candidate in use, "" before Fit.
func (a *Auto) Choice() string { return a.name }

func (a *Auto) Ranks() []Ranked { return a.Ranking }

// Stages is one stage by the name of the choice, with the time of the whole choice and
// the result of the fit to all rows.
func (a *Auto) Stages() []layers.Stage {
	return []layers.Stage{{Name: a.name, Result: a.Result, Time: a.took}}
}

// Predict is the posterior of the chosen map.
func (a *Auto) Predict(x *data.Set) (*data.Predictions, error) { return a.fitted.Predict(x) }

func (a *Auto) ONNX(g *onnx.Network) (onnx.Outputs, error) { return a.fitted.ONNX(g) }

// Embed is the Embed of the base, if it has one.
func (a *Auto) Embed(x *data.Set) (mat.Matrix, error) {
	return layers.Fitted(a.Base, nil, nil).Embed(x)
}

// choice is what a model file holds besides the base's configuration.
type choice struct {
	Name string `json:"choice"`
}

// State is the base's with the chosen map's weights, its name in the configuration.
func (a *Auto) State() (layers.State, error) {
	s, err := a.fitted.State()
	if err == nil {
		s.Config, err = withConfig(s.Config, choice{a.name})
	}
	return s, err
}

// withConfig is a base's configuration with what a calibrator on it adds.
func withConfig(base json.RawMessage, own any) (json.RawMessage, error) {
	text, err := json.Marshal(own)
	config := map[string]json.RawMessage{}
	if err == nil {
		err = errors.Join(json.Unmarshal(base, &config), json.Unmarshal(text, &config))
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(config)
}

// Restore sets the choice, its weights and the base.
func (a *Auto) Restore(s layers.State) error {
	var c choice
	if err := json.Unmarshal(s.Config, &c); err != nil {
		return fmt.Errorf("layers: the choice cannot be read: %w", err)
	}
	of, err := candidateOf(a.Candidates, c.Name)
	if err != nil {
		return err
	}
	fitted := layers.Fitted(a.Base, of.Map, nil)
	if err := fitted.Restore(s); err != nil {
		return err
	}
	a.name, a.fitted = c.Name, fitted
	return nil
}
