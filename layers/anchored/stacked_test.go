package anchored

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// lossesOf are those of mixtures on rows at random: each part is good on some.
func lossesOf(parts, n int, seed uint64) [][]float64 {
	rng := newRand(seed)
	losses := make([][]float64, parts)
	for m := range losses {
		for range n {
			losses[m] = append(losses[m], rng.ExpFloat64())
		}
	}
	return losses
}

// mixtureLoss is −(1/N) Σ_i log Σ_m w_m exp(−losses[m][i]).
func mixtureLoss(w []float64, losses [][]float64) float64 {
	n := len(losses[0])
	var sum float64
	for i := range n {
		var p float64
		for m, l := range losses {
			p += w[m] * math.Exp(-l[i])
		}
		sum -= math.Log(p)
	}
	return sum / float64(n)
}

// mixtureGap is how far, in nats a row, optim.Mixture leaves the weights of a mixture from the best.
const mixtureGap = 1e-10

// TestMixtureIsOptimal: the weights are on the simplex, no part alone loses less, and
// by the conditions of Karush, Kuhn and Tucker no other weights do: a part's share of
// the rows, g_m, is 1 where its weight is not 0, and nowhere above.
func TestMixtureIsOptimal(t *testing.T) {
	for seed := range uint64(5) {
		losses := lossesOf(4, 200, seed)
		losses[3] = slices.Clone(losses[0]) // worse than the first everywhere
		floats.AddConst(0.5, losses[3])
		w := mixed(t, losses)
		if !scalar.EqualWithinAbs(floats.Sum(w), 1, 1e-12) || floats.Min(w) < 0 {
			t.Fatalf("weights %v", w)
		}
		if w[3] != 0 {
			t.Errorf("a part that is worse everywhere has the weight %v", w[3])
		}
		loss := mixtureLoss(w, losses)
		for m, l := range losses {
			if alone := floats.Sum(l) / float64(len(l)); loss > alone+mixtureGap {
				t.Errorf("the mixture loses %v, part %d alone %v", loss, m, alone)
			}
			var g float64
			for i := range l {
				var p float64
				for k := range losses {
					p += w[k] * math.Exp(-losses[k][i])
				}
				g += math.Exp(-l[i]) / p / float64(len(l))
			}
			if g > 1+2*mixtureGap || w[m] > 0.01 && g < 1-1e-3 {
				t.Errorf("part %d of weight %v has g = %v", m, w[m], g)
			}
		}
	}
}

// TestMixtureOfMorePartsThanRows: each of five parts alike has less weight than one of
// three rows has.
func TestMixtureOfMorePartsThanRows(t *testing.T) {
	w := mixed(t, [][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}})
	for m, share := range w {
		if !(math.Abs(share-0.2) <= 1e-12) { // roundings of numbers below 1
			t.Fatalf("part %d of five alike has the weight %v", m, share)
		}
	}
}

// TestMixtureKeepsTheOnlyGoodPart, and shares alike what is alike.
func TestMixtureKeepsTheOnlyGoodPart(t *testing.T) {
	w := mixed(t, [][]float64{{3, 3, 3}, {1, 1, 1}, {3, 4, 5}})
	if !slices.Equal(w, []float64{0, 1, 0}) {
		t.Errorf("weights %v", w)
	}
	same := []float64{1, 2, 3, 4}
	if w := mixed(t, [][]float64{same, same}); !scalar.EqualWithinAbs(w[0], w[1], 1e-12) { // but for rounding
		t.Errorf("weights %v of two that are alike", w)
	}
	if w := mixed(t, [][]float64{{1e4, 1}, {1, 1e4}}); !scalar.EqualWithinAbs(w[0], 0.5, 1e-12) { // e^−10000 is 0
		t.Errorf("weights %v where each part is sure of its row alone", w)
	}
}

// TestMixtureOfARowOnItsOwn: what one part alone says of a row, e^−800 being 0, keeps that
// part, however its weight of 1/N is rounded; of two such parts, each of less weight than
// a row, the loss of theirs is no reason for weights that are not numbers. Of the numbers of rows a third once
// rounded the part away. Those from 300 to 1,000 take seconds: with CALIBRA_CHECK=all.
func TestMixtureOfARowOnItsOwn(t *testing.T) {
	most := 300
	if os.Getenv("CALIBRA_CHECK") == "all" {
		most = 1000
	}
	for n := 2; n < most; n++ {
		common, rare := make([]float64, n), make([]float64, n)
		for i := range n {
			common[i], rare[i] = 0.1, 60
		}
		common[n/2], rare[n/2] = 900, 1
		w := mixed(t, [][]float64{common, rare})
		if !scalar.EqualWithinAbsOrRel(w[1], 1/float64(n), 1e-9, 1e-9) {
			t.Fatalf("%d rows: weights %v", n, w)
		}
		w = mixed(t, [][]float64{common, rare, rare})
		if !scalar.EqualWithinAbs(floats.Sum(w), 1, 1e-12) || floats.Min(w) < 0 {
			t.Fatalf("%d rows: weights %v of three", n, w)
		}
	}
}

func TestMixIsTheMeanOfProbabilities(t *testing.T) {
	view, _, _ := region(1)
	other, _, _ := region(2)
	n, c := view.LogProbs.Dims()
	p, q := view.LogProbs.RawMatrix().Data, other.LogProbs.RawMatrix().Data
	out := mix([][]float64{p, q, p}, []float64{0.25, 0.75, 0}, c)
	for i := range n {
		for j := range c {
			want := 0.25*math.Exp(view.LogProbs.At(i, j)) + 0.75*math.Exp(other.LogProbs.At(i, j))
			if got := math.Exp(out.At(i, j)); !scalar.EqualWithinAbs(got, want, 1e-14) {
				t.Errorf("row %d, class %d: %v, not %v", i, j, got, want)
			}
		}
	}
}

// localized are rows whose logits are wrong in a part of the space.
func localized(n int, seed uint64) *data.Set {
	s := blobs(n, seed)
	for i := range n {
		if s.Features.At(i, 0) > 0.5 {
			s.Logits.Set(i, 1, s.Logits.At(i, 1)+3)
		}
	}
	return s
}

// TestJointKeepsTheClassifier: where it is right in all rows, the mixture, which is never certain, loses more, and what
// the classifier says is what the model and its file say: as it is where it is certain, else a little more sure.
func TestJointKeepsTheClassifier(t *testing.T) {
	keepsTheClassifier(t, 60, 1, 1)
	keepsTheClassifier(t, 12, .9, .999)
}

// keepsTheClassifier is of one whose logit of the label is more by margin, and which is kept at a temperature from
// least to most.
func keepsTheClassifier(t *testing.T, margin, least, most float64) {
	t.Helper()
	cal, test := localized(300, 31), localized(100, 32)
	for _, x := range []*data.Set{cal, test} {
		for i, y := range x.Labels {
			x.Logits.Set(i, y, x.Logits.At(i, y)+margin)
		}
	}
	s, restored := joint(), joint()
	if err := s.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	reread(t, "corrected", s, restored)
	for _, m := range []*Joint{s, restored} {
		p, err := m.Predict(test)
		if err != nil {
			t.Fatal(err)
		}
		at, _, kept := m.Kept()
		want := mat.DenseCopyOf(test.Logits)
		want.Scale(1/at, want)
		if !kept || !(least <= at && at <= most) || !mat.EqualApprox(p.LogProbs, data.LogProbs(want), 1e-12) || floats.Sum(m.Shares()) != 0 {
			t.Errorf("kept is %v, at temperature %v, of shares %v", kept, at, m.Shares())
		}
	}
	if _, before, _ := s.Kept(); !(before < s.NLL) || s.NLL < math.Log1p(1./300)/2 {
		t.Errorf("the held-out rows lose %v, and %v by the mixture", before, s.NLL)
	}
}

// TestMixtureLaws: the mixture is no worse than any part on the held-out rows, loses less on new rows than one
// temperature, whose error is local, and predicts the same again from its file.
func TestMixtureLaws(t *testing.T) {
	cal, test := localized(600, 31), localized(2000, 33)
	s := joint()
	if err := s.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	shares := s.Shares()
	if !scalar.EqualWithinAbs(floats.Sum(shares), 1, 1e-12) || floats.Min(shares) < 0 {
		t.Errorf("shares %v", shares)
	}
	for _, r := range s.Ranking {
		if s.NLL > r.NLL+2*mixtureGap+math.Log1p(1./600) { // N q/(N + 1) is the least that is left of q
			t.Errorf("the mixture loses %v on the held-out rows, %s alone %v", s.NLL, r.Name, r.NLL)
		}
	}
	if len(s.Stages()) != len(slices.DeleteFunc(slices.Clone(shares), func(w float64) bool { return w == 0 })) {
		t.Errorf("%d parts are fitted for the shares %v", len(s.Stages()), shares)
	}
	p, err := s.Predict(test)
	if err != nil {
		t.Fatal(err)
	}

	restored := joint()
	reread(t, "corrected", s, restored)
	again, err := restored.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(p.LogProbs, again.LogProbs) {
		t.Error("the restored model predicts something else")
	}
	if !slices.Equal(restored.Shares(), shares) || restored.T() != s.T() {
		t.Errorf("restored: shares %v, T %v", restored.Shares(), restored.T())
	}

	if least := -math.Log(601 * 3); mat.Min(p.LogProbs) < least-1e-12 {
		t.Errorf("a class has the log-probability %v, of 600 rows %v is the least", mat.Min(p.LogProbs), least)
	}
	for i := range test.Len() {
		if sum := floats.LogSumExp(p.LogProbs.RawRowView(i)); !(math.Abs(sum) <= 1e-12) {
			t.Errorf("the logarithm of the sum of row %d is %v", i, sum)
		}
	}
	var ts layers.Temperature
	if err := ts.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	if mixed, global := nll(t, s, test), nll(t, &ts, test); !(mixed < global-0.02) {
		t.Errorf("the mixture loses %v, one temperature %v", mixed, global)
	}
}

// TestRanksCompareRowByRow: the errors are those of the differences.
func TestRanksCompareRowByRow(t *testing.T) {
	right, wrong := []float64{1, 1, 1, 1}, []float64{0, 1, 1, 1}
	near, best := &judgement{losses: []float64{0.5, 2.5, 3.3, 3.8}, right: wrong}, &judgement{losses: []float64{1, 2, 3, 4}, right: right}
	r := rank([]Candidate{{Name: "near"}, {Name: "best"}}, []*judgement{near, best}, right, nil)
	// differences −0.5, 0.5, 0.3, −0.2: mean 0.025, sd 0.4573; one of four rows is lost: 0.25, sd 0.5
	if !scalar.EqualWithinAbs(r[0].Excess, 0.025, 1e-12) || !scalar.EqualWithinAbs(r[0].ExcessError, 0.22867, 1e-4) || r[0].Lost != 0.25 || r[0].LostError != 0.25 {
		t.Errorf("%+v", r[0])
	}
	if r[1].Excess != 0 || r[1].ExcessError != 0 || r[1].Lost != 0 {
		t.Errorf("the best: %+v", r[1])
	}
}

// TestSomeRowsJudge: of a third of the rows a held-out loss has √3 times the standard error,
// and the parts are fitted to all rows nevertheless.
func TestSomeRowsJudge(t *testing.T) {
	cal := localized(600, 31)
	all, some := joint(), joint()
	some.settings.Rows = 200
	for _, s := range []*Joint{all, some} {
		if err := s.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
			t.Fatal(err)
		}
	}
	// A standard deviation of 200 losses has an error of about 5 %, more with their tails.
	if ratio := some.Ranking[0].Error / all.Ranking[0].Error; !(math.Abs(ratio-math.Sqrt(3)) <= 0.4) {
		t.Errorf("the standard error of a third of the rows is %.2f times that of all", ratio)
	}
	if all.fitted != 600 || some.fitted != 600 {
		t.Errorf("the parts are fitted to %d and %d of 600 rows", all.fitted, some.fitted)
	}
	some.settings.Rows, some.settings.Folds = 4, 5
	var setting *layers.SettingError
	if err := some.Fit(t.Context(), cal, nil, newRand(1)); !errors.As(err, &setting) {
		t.Errorf("more folds than judging rows give %v", err)
	}
}

func TestMixtureRefuses(t *testing.T) {
	cal := localized(60, 31)
	var setting *layers.SettingError
	s := joint()
	s.settings.Folds = 61
	if err := s.Fit(t.Context(), cal, nil, newRand(1)); !errors.As(err, &setting) {
		t.Errorf("more folds than rows give %v", err)
	}
	if _, err := s.State(); err == nil || s.Shares() != nil {
		t.Error("it has a state before it is fitted")
	}
	s = joint()
	if err := s.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	state, err := s.State()
	if err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(config map[string]any){
		"without parts":               func(c map[string]any) { delete(c, "parts") },
		"with a share too few":        func(c map[string]any) { c["shares"] = []float64{} },
		"of a part that is no choice": func(c map[string]any) { c["parts"].([]any)[0] = "dirichlet" },
		"with a share below 0":        func(c map[string]any) { c["shares"].([]any)[0] = -1 },
		"without a temperature":       func(c map[string]any) { c["mixture_temperature"] = 0 },
		"with a part less": func(c map[string]any) {
			parts, shares := c["parts"].([]any), c["shares"].([]any)
			c["parts"], c["shares"] = parts[1:], shares[1:]
		},
	} {
		var config map[string]any
		if err := json.Unmarshal(state.Config, &config); err != nil {
			t.Fatal(err)
		}
		change(config)
		text, err := json.Marshal(config)
		if err != nil {
			t.Fatal(err)
		}
		if err := joint().Restore(layers.State{Config: text, Weights: state.Weights}); err == nil {
			t.Errorf("a mixture %s is restored", what)
		}
	}
}

// mixed are the weights of a mixture.
func mixed(t *testing.T, losses [][]float64) []float64 {
	t.Helper()
	w, err := mixture(t.Context(), losses, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}
