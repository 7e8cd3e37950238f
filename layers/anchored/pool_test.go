package anchored

import (
	"errors"
	"math"
	"slices"
	"testing"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// pool is one of a member that knows its held-out log-probabilities and one that is fitted to folds for them.
func pool() *Pool {
	return &Pool{Members: []Member{{Name: "corrected", Of: joint()}, {Name: "ts", Of: &layers.Temperature{}}}}
}

// TestHeldOutIsWhatTheChoiceWentBy: by its held-out log-probabilities a mixture loses what it tells, of all rows too
// where folds divide some; where labels are drawn without regard to the rows it does not know them.
func TestHeldOutIsWhatTheChoiceWentBy(t *testing.T) {
	cal := localized(600, 31)
	c, some := joint(), joint()
	some.settings.Rows = 200
	if c.HeldOut() != nil {
		t.Error("it says something before it is fitted")
	}
	if err := errors.Join(c.Fit(t.Context(), cal, nil, newRand(1)), some.Fit(t.Context(), cal, nil, newRand(1))); err != nil {
		t.Fatal(err)
	}
	told, _ := c.Loss()
	if got, _ := meanError(lossesBy(c.HeldOut(), cal), nil); !scalar.EqualWithinAbs(got, told, 1e-12) {
		t.Errorf("it loses %v by its held-out log-probabilities and tells %v", got, told)
	}
	all, _ := meanError(lossesBy(some.HeldOut(), cal), nil)
	if told, standardError := some.Loss(); !(math.Abs(all-told) < 4*standardError) { // of 200 of the rows
		t.Errorf("600 rows lose %v, the 200 that the folds divide %v ± %v", all, told, standardError)
	}
	random := crossed(600, 0, 1)
	if err := c.Fit(t.Context(), random, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	if right := floats.Sum(rightBy(c.HeldOut(), random)) / 600; !(right < 0.5+4*math.Sqrt(.25/600)) {
		t.Errorf("labels at random are known of %.2f of the rows", right)
	}
}

// TestPoolOfOne is its member to a power.
func TestPoolOfOne(t *testing.T) {
	cal, test := localized(400, 31), localized(200, 32)
	alone, p := joint(), &Pool{Members: []Member{{Name: "corrected", Of: joint()}}}
	if err := errors.Join(alone.Fit(t.Context(), cal, nil, draws(newRand(1).Uint64(), 0)), p.Fit(t.Context(), cal, nil, newRand(1))); err != nil {
		t.Fatal(err)
	}
	says, err := alone.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	want := mat.DenseCopyOf(says.LogProbs)
	want.Scale(1/p.T(), want)
	got, err := p.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(layers.Renormalize(want), got.LogProbs, 1e-12) || !slices.Equal(p.Shares(), []float64{1}) {
		t.Errorf("a pool of one with the shares %v is not its member at the temperature %v", p.Shares(), p.T())
	}
}

// TestPoolWeighsByRowsThatMembersHaveNotSeen: its weights are those of least loss and prior by the members' held-out
// log-probabilities, which for a member that has none are of fits to folds.
func TestPoolWeighsByRowsThatMembersHaveNotSeen(t *testing.T) {
	cal := localized(400, 31)
	p := pool()
	if err := p.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	alone, seed := joint(), newRand(1).Uint64()
	if err := alone.Fit(t.Context(), cal, nil, draws(seed, 0)); err != nil {
		t.Fatal(err)
	}
	var ts layers.Temperature
	crossFitted, err := layers.CrossFit(t.Context(), &ts, cal, nil, layers.Folds(cal, 5, draws(seed, 2)), nil)
	if err != nil {
		t.Fatal(err)
	}
	said := []*mat.Dense{alone.HeldOut(), crossFitted}
	loss := func(a []float64) float64 {
		sum := cal.MeanNLL(layers.Pool(said, a), math.Inf(-1))
		for _, v := range a {
			sum += (v - .5) * (v - .5) / (2 * poolSpread * poolSpread * 400)
		}
		return sum
	}
	least := loss(p.weights)
	for k := range p.weights {
		for _, step := range []float64{-.01, .01} {
			a := slices.Clone(p.weights)
			if a[k] += step; a[k] >= 0 && !(loss(a) > least) {
				t.Errorf("weights %v lose %v, %v lose %v", p.weights, least, a, loss(a))
			}
		}
	}
	if !(max(p.nll, p.Ranking[0].NLL) < p.Ranking[1].NLL) { // the errors of the logits are local
		t.Errorf("the pool loses %v, its members %+v", p.nll, p.Ranking)
	}
}

// TestPoolKeepsTheClassifier where it is always right, in its file too.
func TestPoolKeepsTheClassifier(t *testing.T) {
	cal, test := localized(300, 31), localized(100, 32)
	for _, x := range []*data.Set{cal, test} {
		for i, y := range x.Labels {
			x.Logits.Set(i, y, x.Logits.At(i, y)+60)
		}
	}
	p, restored := pool(), pool()
	if err := p.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	reread(t, "pool", p, restored)
	for _, m := range []*Pool{p, restored} {
		says, err := m.Predict(test)
		if err != nil {
			t.Fatal(err)
		}
		if at, _, kept := m.Kept(); !kept || at != 1 || !mat.EqualApprox(says.LogProbs, data.LogProbs(test.Logits), 1e-12) || floats.Sum(m.Shares()) != 0 {
			t.Errorf("kept is %v, at temperature %v, of shares %v", kept, at, m.Shares())
		}
	}
}

// TestPoolRedraws with the weights of another, and of few rows by its own.
func TestPoolRedraws(t *testing.T) {
	first, m, rows := pool(), pool(), crossed(fewRows+4, .9, 1)
	if err := m.Redraw(t.Context(), first, rows, nil, newRand(3)); !errors.Is(err, layers.ErrUnfitted) {
		t.Errorf("the choice of a pool that is not fitted: %v", err)
	}
	if err := first.Fit(t.Context(), rows, nil, newRand(2)); err != nil {
		t.Fatal(err)
	}
	if err := m.Redraw(t.Context(), first, rows, nil, newRand(3)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Shares(), first.Shares()) || m.T() != first.T() {
		t.Errorf("shares %v and T %v where the first has %v and %v", m.Shares(), m.T(), first.Shares(), first.T())
	}
	test := crossed(1000, .9, 3)
	if one, other := nll(t, first, test), nll(t, m, test); one == other || other > one+0.1 { // two draws of codes on these rows are within 0.1
		t.Errorf("NLL %v of the first, %v of other codes", one, other)
	}
}

// TestPoolRefuses what cannot be a pool, and files of other members.
func TestPoolRefuses(t *testing.T) {
	cal := localized(100, 31)
	if err := (&Pool{}).Fit(t.Context(), cal, nil, newRand(1)); err == nil {
		t.Error("a pool without members is fitted")
	}
	p := pool()
	if err := p.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	state, err := p.State()
	if err != nil {
		t.Fatal(err)
	}
	other := &Pool{Members: []Member{{Name: "ts", Of: &layers.Temperature{}}}}
	if err := other.Restore(state); err == nil {
		t.Error("the member corrected is restored into a pool without it")
	}
	for _, config := range []string{`{}`, `[]`, `{"classes":3}`, `{"classes":3,"pooled":["ts"],"weights":[1]}`, `{"classes":3,"kept":{"temperature":0}}`} {
		if err := pool().Restore(layers.State{Config: []byte(config), Weights: state.Weights}); err == nil {
			t.Errorf("a pool of %s is restored", config)
		}
	}
}
