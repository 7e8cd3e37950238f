package anchored

import (
	"errors"
	"slices"
	"testing"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// joint is a small Joint with two divisions of 8 features.
func joint() *Joint {
	return NewJoint(JointSettings{
		Divisions: []layers.Division{{Slots: 4, Codewords: 8}, {Slots: 2, Codewords: 12}, {Slots: 4, Codewords: 100000}}, // the last has more codewords than rows
		Base: func(d layers.Division) layers.Base {
			codes := layers.Soft{Of: layers.KMeans{Codewords: d.Codewords}, Nearest: 4}
			return &Anchor{Slots: d.Slots, Codebook: layers.Scaled{Of: codes}}
		},
	})
}

// crossed are rows of two classes that the signs of the first two of 8 features tell apart when
// they are looked at together, share of them; the logits say nothing.
func crossed(n int, share float64, seed uint64) *data.Set {
	rng := newRand(seed)
	s := &data.Set{Features: mat.NewDense(n, 8, nil), Logits: mat.NewDense(n, 2, nil), Labels: make([]int, n)}
	for i := range n {
		z := data.Dense(s.Features).RawRowView(i)
		for j := range z {
			z[j] = rng.NormFloat64()
		}
		if s.Labels[i] = rng.IntN(2); rng.Float64() < share {
			s.Labels[i] = 0
			if z[0]*z[1] > 0 {
				s.Labels[i] = 1
			}
		}
		s.Logits.Set(i, 0, 0.3*rng.NormFloat64())
	}
	return s
}

func nll(t *testing.T, c layers.Calibrator, x *data.Set) float64 {
	t.Helper()
	p, err := c.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	var sum float64
	for i, y := range x.Labels {
		sum -= p.LogProbs.At(i, y) / float64(x.Len())
	}
	return sum
}

// TestJointFindsWhatCodesSay where neither the logits nor a linear map of the features say
// anything: log 2 = 0.69 is what both leave; a division that the rows do not allow is left out.
func TestJointFindsWhatCodesSay(t *testing.T) {
	m := joint()
	if err := m.Fit(t.Context(), crossed(1500, 0.9, 1), nil, newRand(2)); err != nil {
		t.Fatal(err)
	}
	if got := nll(t, m, crossed(2000, 0.9, 3)); !(got < 0.55) { // 8 codewords cut the plane coarsely; the labels' entropy is 0.2
		t.Errorf("NLL %v", got)
	}
	if len(m.Tried) != 2 {
		t.Errorf("tried %+v of the two divisions that fit", m.Tried)
	}
}

// TestJointIsTheBaseWhereFeaturesSayNothing: the loss is that of a coin, within what 1,500 rows
// lose to strengths that are chosen by them.
func TestJointIsTheBaseWhereFeaturesSayNothing(t *testing.T) {
	m := joint()
	if err := m.Fit(t.Context(), crossed(1500, 0, 1), nil, newRand(2)); err != nil {
		t.Fatal(err)
	}
	if got := nll(t, m, crossed(4000, 0, 3)); !(got < 0.6931+0.01) {
		t.Errorf("NLL %v where log 2 = 0.6931 is to be had; shares %v", got, m.Shares())
	}
}

// TestJointRefusesRows of which no division fits.
func TestJointRefusesRows(t *testing.T) {
	m := joint()
	m.settings.Divisions = m.settings.Divisions[2:]
	var setting *layers.SettingError
	if err := m.Fit(t.Context(), crossed(100, 0, 1), nil, newRand(2)); !errors.As(err, &setting) {
		t.Errorf("codewords that outnumber the rows: %v", err)
	}
	if _, err := m.Predict(crossed(10, 0, 1)); !errors.Is(err, layers.ErrUnfitted) {
		t.Errorf("a prediction before the fit: %v", err)
	}
}

// TestJointRedraws its codes, with the division, the mixture and the strengths of another; of few rows it chooses its
// own.
func TestJointRedraws(t *testing.T) {
	first, m, rows := joint(), joint(), crossed(fewRows+4, 0.9, 1)
	for _, j := range []*Joint{first, m} { // of codes that are drawn and stay, two draws are two divisions of the rows
		j.settings.Base = func(d layers.Division) layers.Base {
			return &Anchor{Slots: d.Slots, Codebook: layers.Fixed{Codewords: d.Codewords}}
		}
	}
	if err := m.Redraw(t.Context(), first, rows, nil, newRand(3)); !errors.Is(err, layers.ErrUnfitted) {
		t.Errorf("the choice of a Joint that is not fitted: %v", err)
	}
	if err := first.Fit(t.Context(), rows, nil, newRand(2)); err != nil {
		t.Fatal(err)
	}
	if err := m.Redraw(t.Context(), first, rows, nil, newRand(3)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Shares(), first.Shares()) || m.T() != first.T() || m.Base.Sizes().Slots != first.Base.Sizes().Slots {
		t.Errorf("shares %v, T %v and %d slots, where the first has %v, %v and %d", m.Shares(), m.T(), m.Base.Sizes().Slots, first.Shares(), first.T(), first.Base.Sizes().Slots)
	}
	for k, p := range m.parts {
		for _, spread := range spreadsOf(p.Map) {
			if is, was := p.weights.Float64s(spread.Name), first.parts[k].weights.Float64s(spread.Name); !slices.Equal(is, was) {
				t.Errorf("%s: %s is %v, of the first %v", p.Name, spread.Name, is, was)
			}
		}
	}
	few, alone := crossed(300, 0.9, 1), joint()
	alone.settings.Base = m.settings.Base
	if err := errors.Join(m.Redraw(t.Context(), first, few, nil, newRand(3)), alone.Fit(t.Context(), few, nil, newRand(3))); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.Shares(), alone.Shares()) {
		t.Errorf("of few rows the shares are %v, of a fit alone %v", m.Shares(), alone.Shares())
	}
	if err := m.Redraw(t.Context(), first, rows, nil, newRand(3)); err != nil {
		t.Fatal(err)
	}
	test := crossed(2000, 0.9, 3)
	if one, other := nll(t, first, test), nll(t, m, test); one == other || other > one+0.1 { // two draws of codes on these rows are within 0.1
		t.Errorf("NLL %v of the first, %v of other codes", one, other)
	}
}
