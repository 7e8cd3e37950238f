package layers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"
)

// Candidate is a Map that [Auto] may choose.
type Candidate struct {
	Name string // "anchored"
	Map  Map
}

// AnchoredMaps are the candidates on an [Anchor], the simpler first. All but the first
// and [LocalTemperature] correct an [OrderPreserving] map, which is one temperature
// where nothing is gained by more. [Gated] is none of them: under a prior that is
// fitted already its gate opens for every region (on the letter data its held-out loss
// is that of [Anchored] to 1e-6), at more cost.
func AnchoredMaps() []Candidate {
	linear := ShrunkDirichlet{On: OrderPreserving{}}
	return []Candidate{
		{"ts", Tempered{}},
		{"order-preserving", OrderPreserving{}},
		{"local-temperature", LocalTemperature{}},
		{"ordered-dirichlet", linear},
		{"ordered-anchored", Anchored{On: OrderPreserving{}}},
		{"ordered-slot-head", SlotHead{On: linear}},
		{"ordered-anchored-dirichlet", Anchored{On: linear}},
		{"ordered-anchored-head", Anchored{On: SlotHead{On: linear}}},
	}
}

// Ranked is what cross-validation says of a candidate.
type Ranked struct {
	Name       string
	NLL, Error float64 // mean held-out loss of a row, and its standard error
	// Excess is the mean over the rows of the loss less that of the candidate with the
	// least of those that take part, ExcessError the standard error of this mean: the rows are the same, so
	// it is far smaller than Error.
	Excess, ExcessError float64
	// Lost is the share of the rows that the base has right less that of the
	// candidate, LostError its standard error, of the rows' differences too.
	Lost, LostError float64
	Spreads         []float64 // as chosen, the coarsest correction's first
	Chosen          bool
}

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
	Base       Base
	Candidates []Candidate // the simpler first
	Folds      int         // 0: 3
	Optim      optim.LBFGSSettings

	Ranking []Ranked     // of the last Fit, in the candidates' order
	Result  optim.Result // of the choice's fit to all rows

	name   string // of the choice
	fitted Trained
	took   time.Duration
}

var _ Stateful = (*Auto)(nil)

// Fit draws the folds, stratified, from rng.
func (a *Auto) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	folds := a.Folds
	if folds == 0 {
		folds = 3
	}
	switch {
	case len(a.Candidates) == 0:
		return fmt.Errorf("layers: there is no candidate to choose")
	case cal.Labels == nil:
		return fmt.Errorf("layers: the calibration rows have no labels")
	case folds < 2 || folds > cal.Len():
		return &SettingError{fmt.Sprintf("%d folds of %d rows; choose from 2 to the number of rows", folds, cal.Len())}
	}
	start := time.Now()
	if err := a.Base.Fit(ctx, cal, nil, rng); err != nil {
		return err
	}
	view, err := a.Base.View(cal)
	if err != nil {
		return err
	}
	cv := newCrossValidation(a.Base.Sizes(), view, cal.Labels, folds, a.Optim, rng)
	judged := make([]*judgement, len(a.Candidates))
	for i, c := range a.Candidates {
		if judged[i], err = cv.judge(ctx, c.Map); err != nil {
			return fmt.Errorf("cross-validate %s: %w", c.Name, err)
		}
	}
	a.Ranking = rank(a.Candidates, judged, rightRows(view.LogProbs, cal.Labels))
	chosen := slices.IndexFunc(a.Ranking, func(r Ranked) bool { return r.Chosen })
	m := a.Candidates[chosen].Map
	p, err := newPosterior(m, cv.sizes, view.tables(tensor.Float64, cv.sizes), graph.Labels(cal.Labels), rng)
	if err != nil {
		return err
	}
	p.from(judged[chosen].weights[0]) // near, and nearer than the map's own start
	a.Result, err = p.fit(ctx, a.Optim)
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("fit %s: %w", a.Candidates[chosen].Name, err)
	}
	a.name, a.took = a.Candidates[chosen].Name, time.Since(start)
	a.fitted = Trained{Base: a.Base, Map: p.m, weights: p.weights.As(tensor.Float32)}
	return err
}

// rank applies the rules; base tells of each row whether the base has it right.
func rank(candidates []Candidate, judged []*judgement, base []bool) []Ranked {
	ranking, takesPart := make([]Ranked, len(judged)), make([]bool, len(judged))
	for i, j := range judged {
		r := Ranked{Name: candidates[i].Name, Spreads: j.spreads}
		r.NLL, r.Error = meanError(j.losses)
		r.Lost, r.LostError = meanError(rowwise(len(base), func(row int) float64 { return indicator(base[row]) - indicator(j.right[row]) }))
		ranking[i], takesPart[i] = r, r.Lost <= r.LostError
	}
	if !slices.Contains(takesPart, true) {
		takesPart = slices.Repeat([]bool{true}, len(judged))
	}
	best := -1
	for i := range ranking {
		if takesPart[i] && (best < 0 || ranking[i].NLL < ranking[best].NLL) {
			best = i
		}
	}
	chosen := -1
	for i, j := range judged {
		r := &ranking[i]
		r.Excess, r.ExcessError = meanError(rowwise(len(base), func(row int) float64 { return j.losses[row] - judged[best].losses[row] }))
		if chosen < 0 && takesPart[i] && r.Excess <= r.ExcessError {
			chosen = i
		}
	}
	ranking[chosen].Chosen = true
	return ranking
}

// rightRows tells of each row whether its label is the most probable class.
func rightRows(logProbs *mat.Dense, labels []int) []bool {
	right := make([]bool, len(labels))
	for i, y := range labels {
		right[i] = floats.MaxIdx(logProbs.RawRowView(i)) == y
	}
	return right
}

func rowwise(n int, of func(row int) float64) []float64 {
	x := make([]float64, n)
	for row := range x {
		x[row] = of(row)
	}
	return x
}

func indicator(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// meanError is the mean of x and its standard error.
func meanError(x []float64) (mean, standardError float64) {
	mean, variance := stat.MeanVariance(x, nil)
	return mean, math.Sqrt(variance / float64(len(x)))
}

// Choice is the name of the candidate in use, "" before Fit.
func (a *Auto) Choice() string { return a.name }

// Stages is one stage by the name of the choice, with the time of the whole choice and
// the result of the fit to all rows.
func (a *Auto) Stages() []Stage { return []Stage{{a.name, a.Result, a.took}} }

// Predict is the posterior of the chosen map.
func (a *Auto) Predict(x *data.Set) (*data.Predictions, error) { return a.fitted.Predict(x) }

// Embed is that of the base, if it has one.
func (a *Auto) Embed(x *data.Set) (*mat.Dense, error) { return a.fitted.Embed(x) }

// choice is what a model file says besides the base's configuration.
type choice struct {
	Name string `json:"choice"`
}

// State is the base's with the chosen map's weights, its name in the configuration.
func (a *Auto) State() (State, error) {
	s, err := a.fitted.State()
	if err != nil {
		return State{}, err
	}
	var config map[string]json.RawMessage
	if err := json.Unmarshal(s.Config, &config); err != nil {
		return State{}, err
	}
	if config["choice"], err = json.Marshal(a.name); err != nil {
		return State{}, err
	}
	s.Config, err = json.Marshal(config)
	return s, err
}

// Restore sets the choice, its weights and the base.
func (a *Auto) Restore(s State) error {
	var c choice
	if err := json.Unmarshal(s.Config, &c); err != nil {
		return fmt.Errorf("layers: the choice cannot be read: %w", err)
	}
	i := slices.IndexFunc(a.Candidates, func(x Candidate) bool { return x.Name == c.Name })
	if i < 0 {
		return fmt.Errorf("layers: the model's map %q is none of the candidates", c.Name)
	}
	fitted := Trained{Base: a.Base, Map: a.Candidates[i].Map}
	if err := fitted.Restore(s); err != nil {
		return err
	}
	a.name, a.fitted = c.Name, fitted
	return nil
}
