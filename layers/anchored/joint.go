package anchored

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/optim"
)

// Joint, the method "corrected", is one joint correction of the classifier's scores, by a linear map of the features
// and a table that soft codes read:
//
//	scores = base + φ z V/√M + Σ_i Σ_k e_ik(z) h_ik ,  h_ik = σ u_ik/√w
//
// base is an [OrderPreserving] map with the weights of its own fit ([Settled]), and a [ShrunkDirichlet] map that is
// fitted with the rest, so the fit is convex. The map grows by a part at a time ([JointMaps]), and each part's strength
// is chosen on the same folds, while the earlier parts go on to move. The codes come from the division, w and K, of
// least held-out loss. The maps before the codes are judged once for all divisions, and the search for a division's
// strength begins where the search for the division before it ended.
//
// Last the maps are mixed by their outputs for held-out rows, w ≥ 0, Σ_m w_m = 1 (stacked generalization, Wolpert 1992;
// of predictive densities, Yao et al. 2018):
//
//	posterior = (N q + 1/C)/(N + 1) ,  q ∝ (Σ_m w_m p_m)^(1/T)
//
// If the codes, or the features, add nothing, the map without them remains. If the mixture does not lower the loss of
// these rows below the classifier's, the classifier is kept ([Mixer]).
type Joint struct {
	*stacked // the mixture; its base is that of the chosen division

	// Tried are the divisions with their mean held-out losses, of the last Fit.
	Tried []layers.Tried

	settings JointSettings
}

// JointSettings of [NewJoint].
type JointSettings struct {
	// Divisions are the candidates; divisions that the rows do not allow are left out. nil: as many
	// slots as divide the features, up to 64 with 64 codewords and up to 32 with 256.
	Divisions []layers.Division
	// Base makes a base that is divided so, or, of no division, one that is to be restored.
	Base  func(layers.Division) layers.Base
	Folds int // 0: 4
	// Rows is how many calibration rows the folds divide, stratified. 0 means all, or, beyond 2²² logits, 2²²/C rows
	// and at least
	// 4096. The parts are fitted to all rows in the end.
	Rows    int
	Method  optim.Method // nil: L-BFGS that remembers 6 steps, until ten of them lower the loss by less than 2e-4
	Spreads SpreadGrid   // of the features' and the codes' parts; 0: from 1/32 to 256, first 1/2, of codes 16 times that
}

// divisions are those for m features.
func (s JointSettings) divisions(m int) []layers.Division {
	if s.Divisions != nil {
		return s.Divisions
	}
	all := []layers.Division{{Slots: 64, Codewords: 64}, {Slots: 32, Codewords: 256}}
	for i := range all {
		for m%all[i].Slots != 0 {
			all[i].Slots--
		}
	}
	return all
}

// NewJoint is a Joint that is not fitted.
func NewJoint(s JointSettings) *Joint {
	s.Folds = cmp.Or(s.Folds, 4)
	s.Spreads = SpreadGrid{cmp.Or(s.Spreads.Smallest, 1./32), cmp.Or(s.Spreads.First, 1./2), cmp.Or(s.Spreads.Largest, 256)}
	if l, ok := lbfgs(s.Method).(optim.LBFGS); ok {
		l.Decrease, l.Store = cmp.Or(l.Decrease, 2e-4), cmp.Or(l.Store, 6)
		s.Method = l
	}
	m := &Joint{settings: s}
	m.stacked = m.stack(layers.Division{})
	return m
}

var (
	_ layers.Stateful = (*Joint)(nil)
	_ layers.Redrawer = (*Joint)(nil)
	_ layers.HeldOut  = (*Joint)(nil)
	_ Mixer           = (*Joint)(nil)
)

// JointMaps are the maps of a [Joint], each the one before it and a part more, the last with the codes. Beside them
// stands linear, whose base is fitted with the features' part: where the features know more than the classifier, as
// where it is too sure of one group and not sure enough of another, its temperature must be free to fall.
func JointMaps() []Candidate {
	linear := Linear{On: ShrunkDirichlet{On: Settled{Of: OrderPreserving{}}}}
	return []Candidate{
		{"ts", Tempered{}},
		{"order-preserving", OrderPreserving{}},
		{"ordered-dirichlet", linear.On},
		{"linear", Linear{On: ShrunkDirichlet{On: OrderPreserving{}}}},
		{"ordered-linear", linear},
		{"joint", Tables{On: linear}},
	}
}

// codesFirst is how much larger a spread the codes begin with than the features: a row reads few of
// the numbers that share it.
const codesFirst = 16

// Fit draws the folds, stratified and the same for all divisions, from rng. It is whole or not
// there: an interrupted fit keeps nothing.
func (m *Joint) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	m.Tried, m.stacked = nil, m.stack(layers.Division{})
	of := m.settings
	if cal.Features == nil {
		return fmt.Errorf("layers: the calibration rows have no features to divide")
	}
	_, features := cal.Features.Dims()
	by := judging{rows: of.Rows, folds: of.Folds, method: of.Method}
	all, seed := of.divisions(features), rng.Uint64()
	shared, times := &known{map[layers.Map]*judgement{}, codesFirst * of.Spreads.First}, slices.Repeat([]float64{1}, len(all))
	times[0] = 2 // what does not read the codes is judged with the first alone
	choice, err := layers.Choose(ctx, len(all), func(at int) (d division, loss float64, err error) {
		ctx := work.Piece(work.Span(ctx, "", 0, judgedShare), fmt.Sprintf("w = %d, K = %d", all[at].Slots, all[at].Codewords), at, times...)
		d.base = of.Base(all[at])
		if d.contest, err = newContest(ctx, d.base, by, cal, rng, rand.New(rand.NewPCG(seed, 0))); err == nil {
			loss, err = d.judge(ctx, of, m.Candidates, shared)
		}
		if err != nil {
			return d, 0, fmt.Errorf("with %v: %w", all[at], err)
		}
		return d, loss, nil
	})
	m.Tried = layers.Tries(all, choice)
	if err != nil {
		return err
	}
	best := choice.Of.contest
	m.Base = choice.Of.base
	return m.mix(work.Span(ctx, "", judgedShare, 1), best, rng)
}

// Redraw fits with draws of its own, and with the division, strengths and mixture of chosen, a Joint; with few rows it
// is Fit: folds of its own then cost little, and averaging also removes the variance of their choices.
func (m *Joint) Redraw(ctx context.Context, chosen layers.Calibrator, cal, val *data.Set, rng *rand.Rand) error {
	of, ok := chosen.(*Joint)
	if !ok || of.stacked == nil || of.parts == nil {
		return layers.ErrUnfitted
	}
	if cal.Len() <= fewRows {
		return m.Fit(ctx, cal, val, rng)
	}
	s := of.Base.Sizes()
	m.Tried, m.stacked = nil, m.stack(layers.Division{Slots: s.Slots, Codewords: s.Codewords})
	return m.redraw(ctx, of.stacked, cal, rng)
}

// division is a base that divides in one way, and the maps judged on it.
type division struct {
	base layers.Base
	*contest
}

// known is what a division learns from those before it: the judgements of the maps that read no
// codes, and the spread of the codes to begin with.
type known struct {
	judged map[layers.Map]*judgement
	first  float64
}

// judge is the held-out loss of the last candidate, which reads the codes.
func (d division) judge(ctx context.Context, of JointSettings, candidates []Candidate, shared *known) (float64, error) {
	maps.Copy(d.cv.done, shared.judged) // the folds are the same
	last, efforts := len(candidates)-1, d.efforts(candidates)
	if len(shared.judged) > 0 {
		clear(efforts[:last])
	}
	if err := d.contest.judge(ctx, candidates[:last-2], efforts); err != nil {
		return 0, err
	}
	d.cv.spreads, d.cv.walked = of.Spreads, walked(of.Folds, d.aims.Len())
	if err := d.contest.judge(ctx, candidates[last-2:last], efforts); err != nil {
		return 0, err
	}
	maps.Copy(shared.judged, d.cv.done)
	d.cv.spreads.First = shared.first
	if err := d.contest.judge(ctx, candidates[last:], efforts); err != nil {
		return 0, err
	}
	if at := d.judged[last].spreads; at[len(at)-1] > 0 {
		shared.first = at[len(at)-1]
	}
	return d.judged[last].mean, nil
}

// stack is an empty mixture on a division.
func (m *Joint) stack(d layers.Division) *stacked {
	return &stacked{Base: m.settings.Base(d), Candidates: JointMaps()}
}

// Restore sets the mixture and its base, of whichever division.
func (m *Joint) Restore(s layers.State) error {
	stack := m.stack(layers.Division{})
	if err := stack.Restore(s); err != nil {
		return err
	}
	m.stacked = stack
	return nil
}
