package anchored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/work"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Member is a calibrator of a [Pool] by the name of its method.
type Member struct {
	Name string
	Of   layers.Stateful
	Cost float64 // the time of a fit in any unit, for progress; all 0: they take alike
}

// Pool is a logarithmic pool of calibrators (Genest and Zidek 1986):
//
//	log p = Σ_k a_k log p_k − log Σ_c exp Σ_k a_k log p_kc ,  a ≥ 0
//
// The weights a minimize the NLL of the N calibration rows by what the K members say of rows whose labels they have not
// seen ([layers.LogLinear]), with the prior a_k ~ N(1/K, .2²): few rows leave a near 1/K. A member that is no
// [layers.HeldOut] is fitted to folds for that, and then to all rows. Members of weight 0 are left out.
//
// If the pool does not lower the loss of these rows below the classifier's, the classifier is kept ([Mixer]). As a
// [Mixer] its shares are a_k/Σ a, and its temperature is 1/Σ a. There are no bounds: the members' need not be known.
type Pool struct {
	Members []Member // with names that differ

	Ranking []Ranked // of the last Fit, in the members' order

	weights    []float64 // a, nil before Fit
	alone      *kept     // the classifier where it is kept, else nil
	classes    int
	nll, error float64 // of the rows that members have not seen
}

var _ interface {
	layers.Redrawer
	layers.Stateful
	layers.Staged
	layers.Embedder
	onnx.Calibrator
	Mixer
} = (*Pool)(nil)

// poolSpread is the standard deviation of the prior on a weight.
const poolSpread = 0.2

// Fit fits the members side by side, each with draws of its own, so the number of threads changes no byte. An
// interrupted fit keeps nothing.
func (p *Pool) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	p.weights, p.alone, p.Ranking = nil, nil, nil
	if cal.Logits == nil {
		return errors.New("layers: a pool needs logits of the calibration rows")
	}
	seed := rng.Uint64()
	divided := sync.OnceValues(func() ([]layers.Fold, error) {
		count := manyFolds(cal.Len())
		if err := layers.CheckFolds(count, cal.Len()); err != nil {
			return nil, err
		}
		return layers.Folds(cal, count, draws(seed, len(p.Members))), nil
	})
	said := make([]*mat.Dense, len(p.Members))
	if err := p.each(ctx, func(ctx context.Context, k int) (err error) {
		said[k], err = p.Members[k].fit(ctx, cal, val, divided, draws(seed, k))
		return err
	}); err != nil {
		return err
	}
	weights, err := layers.LogLinear(said, cal, layers.WeightPrior{Mean: 1 / float64(len(said)), Deviation: poolSpread})
	if err != nil {
		return err
	}
	if floats.Sum(weights) == 0 {
		return errors.New("layers: no member of the pool says anything of rows whose labels it has not seen; take a simpler method, such as ts")
	}
	p.rank(said, cal)
	losses, before := lossesBy(layers.Pool(said, weights), cal), lossesBy(data.LogProbs(cal.Logits), cal)
	p.nll, p.error = meanError(losses, cal.Weights)
	if mean, _ := meanError(before, cal.Weights); p.nll >= mean {
		folds, err := divided()
		if err != nil {
			return err
		}
		alone, err := keep(ctx, cal, before, folds)
		if err != nil {
			return err
		}
		p.alone = &alone
	}
	p.weights, p.classes = weights, cal.Classes()
	return nil
}

// manyFolds are how many folds divide so many rows.
func manyFolds(rows int) int {
	if rows <= fewRows {
		return 5
	}
	return 3
}

// draws are the generator of a member of a fit.
func draws(seed uint64, member int) *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(member))) }

// each does something with every member, side by side.
func (p *Pool) each(ctx context.Context, do func(ctx context.Context, k int) error) error {
	var costs []float64
	for _, m := range p.Members {
		costs = append(costs, m.Cost)
	}
	if floats.Sum(costs) == 0 {
		costs = nil
	}
	return work.Parts{What: "member", N: len(p.Members), Costs: costs}.Do(ctx, func(ctx context.Context, k int) error {
		if err := do(ctx, k); err != nil {
			return fmt.Errorf("%s: %w", p.Members[k].Name, err)
		}
		return nil
	})
}

// fit fits the member to all rows, and gives what it says of them (N×C) without having seen their labels.
func (m Member) fit(ctx context.Context, cal, val *data.Set, folds func() ([]layers.Fold, error), rng *rand.Rand) (*mat.Dense, error) {
	if h, ok := m.Of.(layers.HeldOut); ok {
		if err := h.Fit(ctx, cal, val, rng); err != nil {
			return nil, err
		}
		return h.HeldOut(), nil
	}
	divided, err := folds()
	if err != nil {
		return nil, err
	}
	const crossFitted = 0.8 // of the time
	said, err := layers.CrossFit(work.Span(ctx, "", 0, crossFitted), m.Of, cal, val, divided, rng)
	if err != nil {
		return nil, err
	}
	return said, m.Of.Fit(work.Span(ctx, "fit to all rows", crossFitted, 1), cal, val, rng)
}

// rank compares the members by what they say of rows that they have not seen.
func (p *Pool) rank(said []*mat.Dense, cal *data.Set) {
	var members []Candidate
	var judged []*judgement
	for k, m := range p.Members {
		members = append(members, Candidate{Name: m.Name})
		judged = append(judged, &judgement{losses: lossesBy(said[k], cal), right: rightBy(said[k], cal)})
	}
	p.Ranking = rank(members, judged, rightBy(cal.Logits, cal), cal.Weights)
}

// Redraw fits the members with draws of their own, those that choose by rows as chosen did, a Pool, and with its
// weights. With few rows it is Fit, as in [Joint.Redraw].
func (p *Pool) Redraw(ctx context.Context, chosen layers.Calibrator, cal, val *data.Set, rng *rand.Rand) error {
	p.weights, p.alone, p.Ranking = nil, nil, nil
	of, ok := chosen.(*Pool)
	if !ok || of.weights == nil || len(of.Members) != len(p.Members) {
		return layers.ErrUnfitted
	}
	if cal.Len() <= fewRows {
		return p.Fit(ctx, cal, val, rng)
	}
	seed := rng.Uint64()
	if err := p.each(ctx, func(ctx context.Context, k int) error {
		m := p.Members[k].Of
		if r, ok := m.(layers.Redrawer); ok {
			return r.Redraw(ctx, of.Members[k].Of, cal, val, draws(seed, k))
		}
		return m.Fit(ctx, cal, val, draws(seed, k))
	}); err != nil {
		return err
	}
	p.nll, p.error, p.alone, p.classes, p.weights = of.nll, of.error, of.alone, of.classes, of.weights
	return nil
}

func (p *Pool) Ranks() []Ranked { return p.Ranking }

// Shares are a_k/Σ a, 0 where the classifier is kept, nil before Fit.
func (p *Pool) Shares() []float64 {
	if p.weights == nil {
		return nil
	}
	shares := make([]float64, len(p.weights))
	if p.alone == nil {
		floats.ScaleTo(shares, p.T(), p.weights)
	}
	return shares
}

// T is 1/Σ a.
func (p *Pool) T() float64 { return 1 / floats.Sum(p.weights) }

func (p *Pool) Loss() (nll, standardError float64) { return p.nll, p.error }

// Kept reports whether the classifier is kept, its T, and the mean loss of the calibration rows under it.
func (p *Pool) Kept() (t, nll float64, keeps bool) {
	if p.alone == nil {
		return 0, 0, false
	}
	return p.alone.T, p.alone.nll, true
}

// used are the members that take part, with their weights.
func (p *Pool) used() (members []Member, weights []float64) {
	for k, a := range p.weights {
		if a > 0 && p.alone == nil {
			members, weights = append(members, p.Members[k]), append(weights, a)
		}
	}
	return members, weights
}

// Stages are the stages of the members that take part, after their names.
func (p *Pool) Stages() (all []layers.Stage) {
	members, _ := p.used()
	for _, m := range members {
		staged, ok := m.Of.(layers.Staged)
		if !ok {
			continue
		}
		for _, s := range staged.Stages() {
			s.Name = m.Name + ": " + s.Name
			all = append(all, s)
		}
	}
	return all
}

// Predict is the pool of what the members say, or what the classifier says where it is kept.
func (p *Pool) Predict(x *data.Set) (*data.Predictions, error) {
	if p.weights == nil {
		return nil, layers.ErrUnfitted
	}
	if x.Logits == nil || x.Classes() != p.classes {
		return nil, fmt.Errorf("layers: the pool needs logits of %d classes", p.classes)
	}
	if p.alone != nil {
		return data.NewPredictions(p.alone.posterior(x), x)
	}
	members, weights := p.used()
	var said []*mat.Dense
	for _, m := range members {
		s, err := m.Of.Predict(x)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		said = append(said, s.LogProbs)
	}
	return data.NewPredictions(layers.Pool(said, weights), x)
}

// Embed gives the features of the first member that has its own (N×M), nil without one.
func (p *Pool) Embed(x *data.Set) (mat.Matrix, error) {
	members, _ := p.used()
	for _, m := range members {
		if e, ok := m.Of.(layers.Embedder); ok {
			return e.Embed(x)
		}
	}
	return nil, nil
}

// ONNX is Σ_k a_k log p_k of the members in one network, with the codes of none, or what is kept.
func (p *Pool) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if p.weights == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	out := onnx.Outputs{Classes: p.classes}
	if p.alone != nil {
		out.LogProbs = g.Div(g.Logits(p.classes), g.Scalar(p.alone.T))
		return out, nil
	}
	members, weights := p.used()
	for k, m := range members {
		says, err := onnx.CalibratorOf(m.Of)
		if err != nil {
			return out, fmt.Errorf("%s: %w", m.Name, err)
		}
		said, err := says.ONNX(g)
		if err != nil {
			return out, fmt.Errorf("%s: %w", m.Name, err)
		}
		if term := g.Mul(said.Logs(g), g.Scalar(weights[k])); k == 0 {
			out.LogProbs = term
		} else {
			out.LogProbs = g.Add(out.LogProbs, term)
		}
	}
	return out, nil
}

// pooling is what a model file holds of a pool; the configurations are those of the members.
type pooling struct {
	Names   []string          `json:"pooled"`
	Weights []float64         `json:"weights"`
	Configs []json.RawMessage `json:"configs"`
	Classes int               `json:"classes"`
	Alone   *kept             `json:"kept,omitempty"`
}

// State is that of the members that take part; the names of their weights begin with those of the members: corrected/…
func (p *Pool) State() (layers.State, error) {
	if p.weights == nil {
		return layers.State{}, layers.ErrUnfitted
	}
	own, all := pooling{Classes: p.classes, Alone: p.alone}, graph.NewWeights(tensor.Float64)
	members, weights := p.used()
	var states []*graph.Weights
	for k, m := range members {
		s, err := m.Of.State()
		if err != nil {
			return s, fmt.Errorf("%s: %w", m.Name, err)
		}
		own.Names, own.Weights, own.Configs = append(own.Names, m.Name), append(own.Weights, weights[k]), append(own.Configs, s.Config)
		if s.Weights.Dtype() == tensor.Float32 {
			all = graph.NewWeights(tensor.Float32)
		}
		states = append(states, s.Weights.Renamed(func(name string) string { return m.Name + "/" + name }))
	}
	config, err := json.Marshal(own)
	return layers.State{Config: config, Weights: all.Join(states...)}, err
}

// Restore gives the members that take part their states; the others have weight 0.
func (p *Pool) Restore(s layers.State) error {
	var own pooling
	if err := json.Unmarshal(s.Config, &own); err != nil {
		return fmt.Errorf("layers: the pool cannot be read: %w", err)
	}
	if len(own.Names) != len(own.Weights) || len(own.Names) != len(own.Configs) || own.Classes < 1 ||
		(own.Alone == nil) == (len(own.Names) == 0) || own.Alone != nil && !(own.Alone.T > 0) {
		return errors.New("layers: the model's pool lacks members, a weight or the configuration of one, its classes or a temperature")
	}
	weights, rest := make([]float64, len(p.Members)), s.Weights
	p.weights = nil
	for at, name := range own.Names {
		k := slices.IndexFunc(p.Members, func(m Member) bool { return m.Name == name })
		if a := own.Weights[at]; k < 0 || !(a > 0) {
			return fmt.Errorf("layers: the model's pool has the member %q of weight %v, which is none of its method", name, a)
		}
		var mine *graph.Weights
		mine, rest = rest.Split(func(weight string) bool { return strings.HasPrefix(weight, name+"/") })
		mine = asAlone(mine.Renamed(func(weight string) string { return strings.TrimPrefix(weight, name+"/") }))
		if err := p.Members[k].Of.Restore(layers.State{Config: own.Configs[at], Weights: mine}); err != nil {
			return fmt.Errorf("layers: %s: %w", name, err)
		}
		weights[k] = own.Weights[at]
	}
	if err := rest.Require(nil); err != nil {
		return err
	}
	p.weights, p.alone, p.classes, p.Ranking = weights, own.Alone, own.Classes, nil
	return nil
}

// asAlone are a member's weights as a file of its own has them: among weights in float32 those in float64 are exact,
// alone they are learned.
func asAlone(w *graph.Weights) *graph.Weights {
	own := graph.NewWeights(tensor.Float64)
	for _, name := range w.Names() {
		if !w.Exact(name) {
			return w
		}
		own.Add(name, w.Float64s(name), w.Tensor(name).Shape()...)
	}
	return own
}
