package layers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// Ensemble is one method, fitted to the same rows with several draws; it averages their log-probabilities:
//
//	log p(c | x) = 1/S Σ_s log p_s(c | x) + const,   s = 1 … S
//
// The draws of a fit (codewords, folds, minibatches, starts) add a variance that averaging removes (Breiman 1996,
// Machine Learning 24; Lakshminarayanan et al. 2017). The mean is geometric: members that are calibrated differ where
// they err, and the arithmetic mean of their probabilities is less sure than the rows are right (Rahaman and Thiery
// 2021; Wu and Gales 2021), while the mean of the scores stays as sure as its members.
//
// The first member is the fit that the method alone would give for the same rng; every other member has a seed that is
// drawn from it. All members share what the first one chose by the rows, such as the strengths of its parts
// ([Redrawer]): averaging removes only what the draws add, and a choice by cross-validation costs many fits. Members
// are fitted side by side and share nothing that is drawn later, so the number of threads changes no byte.
type Ensemble struct {
	// Members are S calibrators of one kind, in any state; a fit replaces what they learned.
	Members []Stateful

	fitted int // members that are fitted, the first ones but for an interrupted fit
}

var _ interface {
	Stateful
	Staged
	Averaging
	Embedder
	onnx.Calibrator
} = (*Ensemble)(nil)

// redrawn is about what a fit by the choice of another costs, of a fit that chooses.
const redrawn = 0.1

// Fit fits all members. If ctx is cancelled, the ensemble keeps the members that have learned something from these
// rows.
func (e *Ensemble) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	n := len(e.Members)
	if n == 0 {
		return errors.New("layers: an ensemble has no members; give it at least one")
	}
	e.fitted = 0
	draws, begun := memberDraws(rng, n), make([]bool, n)
	fit := func(ctx context.Context, k int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		begun[k] = true
		if m, ok := e.Members[k].(Redrawer); ok && k > 0 {
			return m.Redraw(ctx, e.Members[0], cal, val, draws[k])
		}
		return e.Members[k].Fit(ctx, cal, val, draws[k])
	}
	chosen := 0 // the first members, that choose for the others
	var err error
	if _, ok := e.Members[0].(Redrawer); ok && n > 1 {
		chosen = 1
		alone := 1 / (1 + redrawn*float64(n-1))
		err = fit(work.Span(ctx, "member 1", 0, alone), 0)
		ctx = work.Span(ctx, "", alone, 1)
	}
	if err == nil {
		err = work.Parts{What: "member", N: n - chosen}.Do(ctx, func(ctx context.Context, k int) error { return fit(ctx, chosen+k) })
	}
	if err != nil && ctx.Err() == nil {
		return err
	}
	var kept, rest []Stateful
	for k, m := range e.Members {
		if _, unfit := m.State(); begun[k] && unfit == nil {
			kept = append(kept, m)
		} else {
			rest = append(rest, m)
		}
	}
	e.Members, e.fitted = append(kept, rest...), len(kept)
	return err
}

// memberDraws are the generators of S members. The first goes on as rng would.
func memberDraws(rng *rand.Rand, members int) []*rand.Rand {
	first := &replay{source: rng, numbers: []uint64{rng.Uint64(), rng.Uint64()}}
	draws := []*rand.Rand{rand.New(first)}
	seed := first.numbers[0] ^ first.numbers[1]
	for k := 1; k < members; k++ {
		draws = append(draws, rand.New(rand.NewPCG(seed, uint64(k))))
	}
	return draws
}

// replay gives numbers that were drawn from a source already, and then goes on with it.
type replay struct {
	source  rand.Source
	numbers []uint64
}

func (r *replay) Uint64() uint64 {
	if len(r.numbers) == 0 {
		return r.source.Uint64()
	}
	next := r.numbers[0]
	r.numbers = r.numbers[1:]
	return next
}

// Fitted are the members that are fitted.
func (e *Ensemble) Fitted() []Stateful { return e.Members[:e.fitted] }

// members are those that are fitted, of which there must be one.
func (e *Ensemble) members() ([]Stateful, error) {
	if e == nil || e.fitted == 0 {
		return nil, ErrUnfitted
	}
	return e.Members[:e.fitted], nil
}

// Predict is the normalized mean of the members' log-probabilities. A class to which a member gives probability 0 has
// 0.
func (e *Ensemble) Predict(x *data.Set) (*data.Predictions, error) {
	mean, _, err := e.predict(x)
	return mean, err
}

// predict is Predict, with what each member says.
func (e *Ensemble) predict(x *data.Set) (mean *data.Predictions, said []*data.Predictions, err error) {
	members, err := e.members()
	if err != nil {
		return nil, nil, err
	}
	if len(members) == 1 {
		mean, err = members[0].Predict(x)
		return mean, []*data.Predictions{mean}, err
	}
	rows := share(x)
	said = make([]*data.Predictions, len(members))
	if err = (work.Parts{N: len(members)}).Do(context.Background(), func(_ context.Context, k int) (err error) {
		said[k], err = members[k].Predict(rows)
		return err
	}); err != nil { // rows that one member refuses, all do
		return nil, nil, err
	}
	sum := mat.DenseCopyOf(said[0].LogProbs)
	for _, p := range said[1:] {
		sum.Add(sum, p.LogProbs)
	}
	sum.Scale(1/float64(len(members)), sum)
	mean, err = data.NewPredictions(Renormalize(sum), x)
	return mean, said, err
}

// Stages are the stages of all members, named with the number of the member after the first.
func (e *Ensemble) Stages() (all []Stage) {
	for k, m := range e.Members[:e.fitted] {
		staged, ok := m.(Staged)
		if !ok {
			continue
		}
		for _, s := range staged.Stages() {
			if k > 0 {
				s.Name = fmt.Sprintf("member %d: %s", k+1, s.Name)
			}
			all = append(all, s)
		}
	}
	return all
}

// Embed gives the features of the first member (N×M), nil if they are the raw ones.
func (e *Ensemble) Embed(x *data.Set) (mat.Matrix, error) {
	members, err := e.members()
	if err != nil {
		return nil, err
	}
	if m, ok := members[0].(Embedder); ok {
		return m.Embed(x)
	}
	return nil, nil
}

// memberPrefix begins the names of a member's weights.
func memberPrefix(k int) string { return fmt.Sprintf("member%d/", k+1) }

// ensembleState is the configuration of an ensemble: those of its members.
type ensembleState struct {
	Members []json.RawMessage `json:"members"`
}

// State is the state of all members: the names of their weights begin with "member1/" and so on.
func (e *Ensemble) State() (State, error) {
	members, err := e.members()
	if err != nil {
		return State{}, err
	}
	var configs ensembleState
	var all *graph.Weights
	for k, m := range members {
		s, err := m.State()
		if err != nil {
			return State{}, err
		}
		configs.Members = append(configs.Members, s.Config)
		if all == nil {
			all = graph.NewWeights(s.Weights.Dtype())
		}
		all.Join(s.Weights.Renamed(func(name string) string { return memberPrefix(k) + name }))
	}
	config, err := json.Marshal(configs)
	return State{config, all}, err
}

// Restore gives each member its state. An interrupted fit may have left fewer members than there are receivers.
func (e *Ensemble) Restore(s State) error {
	var configs ensembleState
	if err := json.Unmarshal(s.Config, &configs); err != nil {
		return fmt.Errorf("layers: the members of the ensemble cannot be read: %w", err)
	}
	if n := len(configs.Members); n == 0 || n > len(e.Members) {
		return fmt.Errorf("layers: the file holds %d members of an ensemble of %d", n, len(e.Members))
	}
	e.fitted = 0
	rest := s.Weights
	for k, config := range configs.Members {
		prefix := memberPrefix(k)
		var own *graph.Weights
		own, rest = rest.Split(func(name string) bool { return strings.HasPrefix(name, prefix) })
		own = own.Renamed(func(name string) string { return strings.TrimPrefix(name, prefix) })
		if err := e.Members[k].Restore(State{config, own}); err != nil {
			return fmt.Errorf("layers: member %d: %w", k+1, err)
		}
	}
	if err := rest.Require(nil); err != nil {
		return err
	}
	e.fitted = len(configs.Members)
	return nil
}

// ONNX is the sum of the members' log-probabilities over S in one network, with the codes of none.
func (e *Ensemble) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	members, err := e.members()
	if err != nil {
		return onnx.Outputs{}, err
	}
	var sum onnx.Outputs
	for k, m := range members {
		says, err := onnx.CalibratorOf(m)
		if err != nil {
			return sum, err
		}
		out, err := says.ONNX(g)
		if err != nil {
			return sum, err
		}
		if logs := out.Logs(g); k == 0 {
			sum = onnx.Outputs{LogProbs: logs, Classes: out.Classes}
		} else {
			sum.LogProbs = g.Add(sum.LogProbs, logs)
		}
	}
	sum.LogProbs = g.Div(sum.LogProbs, g.Scalar(float64(len(members))))
	return sum, nil
}
