package anchored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// stacked mixes the maps that its candidates are (stacked generalization, Wolpert 1992; of predictive densities, Yao et
// al. 2018):
//
//	posterior = (N q + 1/C)/(N + 1) ,  q ∝ (Σ_m w_m p_m)^(1/T) ,  w ≥ 0 ,  Σ_m w_m = 1
//
// The folds of a cross-validation give for each calibration row what each candidate predicts without having seen it. On
// these w maximizes the mean of log Σ_m w_m p_m, which is concave, and then T maximizes the mean of log q. The last
// step is [layers.Succession], as in structured matrix scaling.
//
// Candidates of less weight than 1/N, the weight of a row, are left out unless none has more; the others are fitted to
// all rows by L-BFGS in float32, as far as they were for the choice. The mixture is no Map: its parts have weights of
// the same names.
//
// If the mixture does not lower the loss of the held-out rows below the classifier's, the classifier is kept: the
// posterior is its own. This happens if the classifier errs in hardly any row, so there is little to learn from. It is
// kept at a temperature T, log T ~ N(0, .2²), if that lowers the held-out loss by more than the standard error of the
// difference.
type stacked struct {
	Base       layers.Base
	Candidates []Candidate // with names that differ, the simpler first

	Ranking []Ranked // of the last Fit, in the candidates' order
	// NLL is the mean loss of the held-out rows under the posterior that mixes the folds'
	// fits, and Error its standard error. w and T were fitted to these rows.
	NLL, Error float64

	stages  []layers.Stage
	parts   []part // nil before Fit; none where the classifier is kept
	t       float64
	alone   kept         // that takes their place
	fitted  int          // rows that the parts were fitted to; 0: those of the base, as of a restored one
	method  optim.Method // of the parts' fits to all rows; nil before Fit
	heldOut *mat.Dense   // N×C, nil before Fit and after a Redraw
}

// part is a candidate in the mixture, fitted to all rows.
type part struct {
	Candidate
	share   float64 // w_m
	weights *graph.Weights
}

// fewRows is up to how many rows two more folds are worth their time: what a fold's fits
// lose to those of all rows falls as 1/N, the time grows with N.
const fewRows = 4096

// judgedShare is which share of a fit the cross-validation takes, about: the parts then start near where they end.
const judgedShare = 0.85

// mix finds T and the weights of a contest's candidates, which are those of s, and fits the parts
// to all rows.
func (s *stacked) mix(ctx context.Context, c *contest, rng *rand.Rand) error {
	s.Ranking = rank(c.candidates, c.judged, c.right, c.aims.Weights)
	losses, rows := c.evidence()
	shares, err := mixture(ctx, losses, rows)
	if err != nil {
		return err
	}
	said, err := s.temper(ctx, c, shares)
	if err != nil {
		return err
	}
	s.method = c.cv.method
	parts := []part{}
	if c.before != nil {
		if before, _ := meanError(c.before, c.aims.Weights); s.NLL >= before {
			rows := *c.aims
			rows.Logits = c.logits
			if s.alone, err = keep(ctx, &rows, c.before, c.divided); err != nil {
				return err
			}
			s.heldOut = s.alone.posterior(c.all)
			return s.fit(ctx, parts, c.rows, rng)
		}
	}
	for m, share := range shares {
		if share > 0 {
			parts = append(parts, part{s.Candidates[m], share, c.judged[m].weights[0]})
		}
	}
	if s.heldOut = said; c.chosen != nil {
		if s.heldOut, err = s.ofAll(c, parts, said); err != nil {
			return err
		}
	}
	return s.fit(ctx, parts, c.rows, rng)
}

// ofAll are the held-out log-probabilities of all rows, where the folds divide only some: the others are what the fits
// of the first fold say, which no fold has seen. Said are those of the divided rows.
func (s *stacked) ofAll(c *contest, parts []part, said *mat.Dense) (*mat.Dense, error) {
	n, sizes := c.rows.Len(), s.Base.Sizes()
	all := mat.NewDense(n, sizes.Classes, nil)
	divided := make([]bool, n)
	for at, row := range c.chosen {
		divided[row] = true
		all.SetRow(row, said.RawRowView(at))
	}
	rest := slices.DeleteFunc(data.UpTo(n), func(row int) bool { return divided[row] })
	p, err := s.mixed(c.rows.Of(rest), parts)
	for at, row := range rest {
		if err == nil {
			all.SetRow(row, p.RawRowView(at))
		}
	}
	return all, err
}

// mixed is the posterior of rows by parts as they are.
func (s *stacked) mixed(rows *layers.Rows, parts []part) (*mat.Dense, error) {
	var said [][]float64
	var shares []float64
	for _, p := range parts {
		logProbs, err := rows.Posterior(p.Map, p.weights)
		if err != nil {
			return nil, err
		}
		said, shares = append(said, logProbs.RawMatrix().Data), append(shares, p.share)
	}
	return s.posterior(mix(said, shares, s.Base.Sizes().Classes)), nil
}

// fit fits parts to all rows, each from the weights that it has.
func (s *stacked) fit(ctx context.Context, parts []part, rows *layers.Rows, rng *rand.Rand) error {
	sizes := s.Base.Sizes()
	efforts := data.Each(parts, func(p part) float64 { return effort(p.Map, sizes) })
	for k, p := range parts {
		fitting := work.Piece(ctx, "fit "+p.Name+" to all rows", k, efforts...)
		start := time.Now()
		w, result, err := whole(fitting, p.Map, sizes, rows, p.weights, s.method, rng)
		if err != nil {
			return fmt.Errorf("fit %s: %w", p.Name, err)
		}
		s.stages = append(s.stages, layers.Stage{Name: p.Name, Result: result, Time: time.Since(start)})
		parts[k].weights = w
	}
	s.parts, s.fitted = parts, rows.Len()
	return nil
}

// redraw fits the base with draws of its own, and on it the parts of another. It takes the weights w, T and the spreads
// that the other found on its folds. The fits begin where the other's ended, except for the tables that codes read.
func (s *stacked) redraw(ctx context.Context, of *stacked, cal *data.Set, rng *rand.Rand) error {
	_, rows, err := fitBase(ctx, s.Base, cal, rng)
	if err != nil {
		return err
	}
	sizes := s.Base.Sizes()
	parts := []part{}
	for _, p := range of.parts {
		shared, _ := p.weights.Split(func(name string) bool { return !tableOf(p.weights, name, sizes) })
		parts = append(parts, part{p.Candidate, p.share, shared})
	}
	s.t, s.NLL, s.Error, s.alone, s.method = of.t, of.NLL, of.Error, of.alone, of.method
	return s.fit(ctx, parts, rows, rng)
}

// temper finds T, and what the posterior says and loses on the held-out rows.
func (s *stacked) temper(ctx context.Context, c *contest, shares []float64) (*mat.Dense, error) {
	var said [][]float32
	for _, j := range c.judged {
		said = append(said, j.logProbs.Float32s())
	}
	q := mix(said, shares, s.Base.Sizes().Classes)
	var t layers.Temperature
	if err := t.Fit(ctx, &data.Set{Logits: q, Labels: c.aims.Labels, Weights: c.aims.Weights, Soft: c.aims.Soft}, nil, nil); err != nil {
		return nil, err
	}
	s.t = t.T()
	p := s.posterior(q)
	s.NLL, s.Error = meanError(lossesBy(p, c.aims), c.aims.Weights)
	return p, nil
}

// posterior is that of the mixture, from its parts' outputs mixed (N×C), which it overwrites.
func (s *stacked) posterior(q *mat.Dense) *mat.Dense {
	q.Scale(1/s.t, q)
	return layers.Succession(layers.Renormalize(q), s.Base.Sizes().Rows())
}

// mix is log Σ_m w_m p_m of log-probabilities, row by row of C each (N×C).
func mix[T float32 | float64](logProbs [][]T, shares []float64, classes int) *mat.Dense {
	values := make([]float64, len(logProbs[0]))
	terms := make([]float64, len(shares))
	for at := range values {
		for m, w := range shares {
			terms[m] = math.Inf(-1)
			if w > 0 {
				terms[m] = math.Log(w) + float64(logProbs[m][at])
			}
		}
		values[at] = floats.LogSumExp(terms)
	}
	return mat.NewDense(len(values)/classes, classes, values)
}

// evidence is what the judged candidates lose on the held-out rows, one after another, and how
// much each row weighs (nil: 1 each). A row of several classes stands there once for each, with
// its share of the weight, since the mixture's loss is not the mean of theirs.
func (c *contest) evidence() (losses [][]float64, weights []float64) {
	losses = make([][]float64, len(c.judged))
	if c.aims.Soft == nil {
		for m, j := range c.judged {
			losses[m] = j.losses
		}
		return losses, c.aims.Weights
	}
	classes := c.aims.Soft.RawMatrix().Cols
	for i := range c.aims.Labels {
		for k, q := range c.aims.Shares(i) {
			weights = append(weights, c.aims.Weight(i)*q)
			for m, j := range c.judged {
				losses[m] = append(losses[m], -float64(j.logProbs.Float32s()[i*classes+k]))
			}
		}
	}
	return losses, weights
}

// mixture is w that minimizes −(1/N) Σ_i log Σ_m w_m p_im , p_im = exp(−losses[m][i]), of rows
// that count as many times as their weights; nil: once ([optim.Mixture]). Weights below
// 1/N and below the largest become 0, and the others are found once more without them.
func mixture(ctx context.Context, losses [][]float64, weights []float64) ([]float64, error) {
	n := len(losses[0])
	rows := float64(n)
	if weights != nil {
		rows = floats.Sum(weights)
	}
	p := make([]float64, n*len(losses)) // of each row, up to a factor that its shares do not see
	for i := range n {
		least := math.Inf(1)
		for _, l := range losses {
			least = min(least, l[i])
		}
		for m, l := range losses {
			p[i*len(losses)+m] = math.Exp(least - l[i])
		}
	}
	w := slices.Repeat([]float64{1 / float64(len(losses))}, len(losses))
	of := optim.Mixture{Densities: p, Counts: weights}
	if err := of.Minimize(ctx, w); err != nil {
		return nil, err
	}
	const rounding = 1e-9 // a part that alone explains one row has 1/N but for that, parts alike the same
	least := (1 - rounding) * min(1/rows, floats.Max(w))
	for m := range w {
		if w[m] < least {
			w[m] = 0
		}
	}
	floats.Scale(1/floats.Sum(w), w)
	return w, of.Minimize(ctx, w)
}

// Shares are the weights w of the candidates, nil before Fit.
func (s *stacked) Shares() []float64 {
	if s.parts == nil {
		return nil
	}
	shares := make([]float64, len(s.Candidates))
	for m, c := range s.Candidates {
		if i := slices.IndexFunc(s.parts, func(p part) bool { return p.Name == c.Name }); i >= 0 {
			shares[m] = s.parts[i].share
		}
	}
	return shares
}

func (s *stacked) Ranks() []Ranked { return s.Ranking }

// Loss is the fields NLL and Error.
func (s *stacked) Loss() (nll, standardError float64) { return s.NLL, s.Error }

// HeldOut are the log-probabilities of the rows of the last Fit (N×C) by the posterior that mixes the folds' fits, or
// by the classifier where it is kept. The base, the shares and T saw all rows. nil before Fit, of a restored model, and
// after a Redraw of many rows.
func (s *stacked) HeldOut() *mat.Dense { return s.heldOut }

// Kept reports whether the classifier is kept, its T, and the mean loss of the held-out rows under it.
func (s *stacked) Kept() (t, nll float64, kept bool) {
	return s.alone.T, s.alone.nll, s.parts != nil && len(s.parts) == 0
}

// T is the temperature of the mixture.
func (s *stacked) T() float64 { return s.t }

// Stages are the fits of the parts to all rows, by their names.
func (s *stacked) Stages() []layers.Stage { return s.stages }

// Predict is the posterior of the mixture, or what the classifier says where it is kept.
func (s *stacked) Predict(x *data.Set) (*data.Predictions, error) {
	if s.parts == nil {
		return nil, layers.ErrUnfitted
	}
	view, err := s.Base.View(x)
	if err != nil {
		return nil, err
	}
	if len(s.parts) == 0 {
		return data.NewPredictions(s.alone.posterior(x), x)
	}
	p, err := s.mixed(view.Rows(tensor.Float32, s.Base.Sizes()), s.parts)
	if err != nil {
		return nil, err
	}
	return data.NewPredictions(p, x)
}

// ONNX is the logarithm of (N q + 1/C)/(N + 1) ,  q ∝ (Σ_m w_m p_m)^(1/T), or of what is kept.
func (s *stacked) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if s.parts == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	v, err := layers.BaseONNX(g, s.Base)
	if err != nil {
		return onnx.Outputs{}, err
	}
	if len(s.parts) == 0 {
		return v.Outputs(g.Div(g.Logits(v.Sizes.Classes), g.Scalar(s.alone.T))), nil
	}
	mixed := ""
	for _, p := range s.parts {
		said, err := v.Posterior(g, s.Base, p.Map, p.weights)
		if err != nil {
			return onnx.Outputs{}, fmt.Errorf("%s: %w", p.Name, err)
		}
		term := g.Mul(g.Exp(said), g.Scalar(p.share))
		if mixed == "" {
			mixed = term
		} else {
			mixed = g.Add(mixed, term)
		}
	}
	q := g.Softmax(g.Div(g.Log(mixed), g.Scalar(s.t)))
	return v.Outputs(layers.SuccessionONNX(g, q, v.Sizes.Rows(), v.Sizes.Classes)), nil
}

// Embed is the Embed of the base, if it has one.
func (s *stacked) Embed(x *data.Set) (mat.Matrix, error) {
	return layers.Fitted(s.Base, nil, nil).Embed(x)
}

// stacking is what a model file holds besides the base's configuration.
type stacking struct {
	Names       []string  `json:"parts"`
	Shares      []float64 `json:"shares"`
	Temperature float64   `json:"mixture_temperature"`
	Kept        bool      `json:"classifier_kept,omitempty"` // there are no parts
	Alone       *kept     `json:"kept,omitempty"`            // nil where there are, and in files of a program that kept it at T = 1
}

// State is the base's, with T, w and the names of the parts in the configuration, whose
// weights are named after them: parts/joint/anchored/correction.
func (s *stacked) State() (layers.State, error) {
	if s.parts == nil {
		return layers.State{}, layers.ErrUnfitted
	}
	state, err := s.Base.State()
	if err != nil {
		return layers.State{}, err
	}
	own := stacking{Temperature: s.t, Kept: len(s.parts) == 0}
	if own.Kept {
		own.Alone = &s.alone
	}
	weights := graph.NewWeights(tensor.Float32).Join(state.Weights)
	for _, p := range s.parts {
		own.Names, own.Shares = append(own.Names, p.Name), append(own.Shares, p.share)
		weights.Join(p.weights.Renamed(func(name string) string { return partPrefix(p.Name) + name }))
	}
	config, err := withConfig(state.Config, own)
	return layers.State{Config: config, Weights: weights}, err
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

func partPrefix(name string) string { return "parts/" + name + "/" }

// Restore sets the parts, w, T and the base.
func (s *stacked) Restore(state layers.State) error {
	var own stacking
	if err := json.Unmarshal(state.Config, &own); err != nil {
		return fmt.Errorf("layers: the mixture cannot be read: %w", err)
	}
	if own.Alone == nil {
		own.Alone = &kept{T: 1}
	}
	if (len(own.Names) == 0) != own.Kept || len(own.Names) != len(own.Shares) || !(own.Temperature > 0 && own.Alone.T > 0) {
		return errors.New("layers: the model's mixture has no parts with a share for each, or no temperature")
	}
	parts := []part{}
	rest := state.Weights
	for k, name := range own.Names {
		of, err := candidateOf(s.Candidates, name)
		if err != nil {
			return err
		}
		if !(own.Shares[k] > 0) {
			return fmt.Errorf("layers: the model's map %q has a share of %v in the mixture", name, own.Shares[k])
		}
		var mine *graph.Weights
		prefix := partPrefix(name)
		mine, rest = rest.Split(func(weight string) bool { return strings.HasPrefix(weight, prefix) })
		mine = mine.Renamed(func(weight string) string { return strings.TrimPrefix(weight, prefix) })
		parts = append(parts, part{of, own.Shares[k], mine})
	}
	before, unfitted := s.Base.State()
	if err := s.Base.Restore(layers.State{Config: state.Config, Weights: rest}); err != nil {
		return err
	}
	for k := range parts {
		var err error
		if parts[k].weights, err = layers.RestoreWeights(parts[k].Map, s.Base.Sizes(), parts[k].weights); err != nil {
			if unfitted == nil {
				err = errors.Join(err, s.Base.Restore(before))
			}
			return err
		}
	}
	s.parts, s.fitted, s.t, s.alone, s.heldOut = parts, 0, own.Temperature, *own.Alone, nil
	return nil
}
