package anchored

import (
	"errors"
	"math"
	"slices"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func anchor() *Anchor { return &Anchor{Slots: 4, Codebook: layers.Codebook{Codewords: 8}, Passes: 4} }

func auto(candidates ...Candidate) *Auto { return &Auto{Base: anchor(), Candidates: candidates} }

// meanLoss is the mean NLL of c on x.
func meanLoss(t *testing.T, c layers.Calibrator, x *data.Set) float64 {
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

// TestTemperedAnchorIsTemperatureScaling: on an Anchor nothing is left to one more
// temperature.
func TestTemperedAnchorIsTemperatureScaling(t *testing.T) {
	cal, test := blobs(400, 1), blobs(50, 2)
	c := auto(Candidate{"ts", Tempered{}})
	if err := c.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	var ts layers.Temperature
	if err := ts.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	got, err := c.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ts.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	for i := range test.Len() {
		for j := range 3 {
			// Both gradients are below 1e-6; predictions are in float32.
			if d := math.Abs(math.Exp(got.LogProbs.At(i, j)) - math.Exp(want.LogProbs.At(i, j))); !(d <= 2e-6) {
				t.Fatalf("row %d, class %d: off by %v", i, j, d)
			}
		}
	}
}

// TestOrderPreservingKeepsTheOrder at slopes drawn at random.
func TestOrderPreservingKeepsTheOrder(t *testing.T) {
	view, _, sizes := region(11)
	rng := newRand(12)
	w, err := OrderPreserving{}.Init(sizes, rng)
	if err != nil {
		t.Fatal(err)
	}
	w.SetValues("order_preserving/slope", graph.Normals(len(knots)+1, 0, 2, rng))
	tab := view.Rows(tensor.Float64, sizes)
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{OrderPreserving{}.Scores(b, tab.Batch(b))}
	})
	out, err := f.Of(graph.Rows(0, tab.Len()))
	if err != nil {
		t.Fatal(err)
	}
	scores := mat.NewDense(tab.Len(), sizes.Classes, graph.Float64s(out[0]))
	for i := range tab.Len() {
		logit := view.Inputs[logitsInput].(*mat.Dense).RawRowView(i)
		for j := range sizes.Classes {
			for k := range sizes.Classes {
				z, y := logit[j], logit[k]
				if z < y && !(scores.At(i, j) < scores.At(i, k)) {
					t.Errorf("row %d: logits %v < %v have scores %v, %v", i, z, y, scores.At(i, j), scores.At(i, k))
				}
			}
		}
	}
}

// TestCorrectionIsThePosteriorMode: with one slot and nothing known beforehand, the
// slope of the penalized likelihood by u_k is zero where
//
//	σ (n_kc − N_k p_c(k)) = u_kc
//
// so of two codewords with the same shares of labels the rarer is corrected less.
func TestCorrectionIsThePosteriorMode(t *testing.T) {
	const often, seldom, sigma = 400, 8, 0.5
	v := &layers.View{LogProbs: mat.NewDense(often+seldom, 2, nil)}
	var labels []int
	for i := range often + seldom {
		k := int32(0)
		if i >= often {
			k = 1
		}
		v.Codes = append(v.Codes, k)
		v.LogProbs.SetRow(i, []float64{-math.Ln2, -math.Ln2})
		labels = append(labels, min(1, i%4)) // class 1 in three of four rows
	}
	sizes := layers.Sizes{Classes: 2, Slots: 1, Codewords: 2}
	p, err := newPosterior(Tables{}, sizes, v.Rows(tensor.Float64, sizes).Labelled(graph.Labels(labels)), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.spread(Tables{}.Spread(), sigma)
	if _, err := p.fit(t.Context(), optim.LBFGS{Gradient: 1e-10}, nil); err != nil {
		t.Fatal(err)
	}
	u := p.weights.Float64s("anchored/correction")
	for k, n := range []float64{often, seldom} {
		odds := math.Exp(sigma * (u[2*k+1] - u[2*k]))
		if want := sigma * n * (0.75 - odds/(1+odds)); !scalar.EqualWithinAbs(u[2*k+1], want, 1e-6) { // N times the gradient
			t.Errorf("codeword %d: u = %v, the slope is zero at %v", k, u[2*k+1], want)
		}
	}
	if !(u[3] < u[1]/2) || !(u[3] > 0) {
		t.Errorf("%d rows are corrected by %v, %d rows by %v", often, u[1], seldom, u[3])
	}
}

// TestSpreadKeepsCorrections: another spread leaves σ·u where it was, and 0 removes it.
func TestSpreadKeepsCorrections(t *testing.T) {
	view, labels, sizes := region(1)
	p, err := newPosterior(Tables{On: SlotHead{}}, sizes, view.Rows(tensor.Float64, sizes).Labelled(graph.Labels(labels)), newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spreadsOf(p.m) {
		u := p.weights.Tensor(s.Of[0]).Float64s()
		u[0] = 3
		p.spread(s, 0.5)
		if u[0] != 6 {
			t.Errorf("%s: u is %v, not 6, at half the spread", s.Name, u[0])
		}
		p.spread(s, 0)
		if u[0] != 0 {
			t.Errorf("%s: u is %v without a spread", s.Name, u[0])
		}
		p.spread(s, 1)
		if u[0] != 0 || p.weights.Float64s(s.Name)[0] != 1 {
			t.Errorf("%s: u is %v after a spread of 0", s.Name, u[0])
		}
	}
}

// TestAutoChoosesTheSimplest where one temperature is the truth, and a local map where
// the error depends on the region, whose test loss is then lower.
func TestAutoChoosesTheSimplest(t *testing.T) {
	cal, test := blobs(1500, 21), blobs(1500, 22)
	rng := newRand(23)
	for _, s := range []*data.Set{cal, test} { // labels from softmax(logits/2)
		var half mat.Dense
		half.Scale(0.5, s.Logits)
		logProbs := layers.LogSoftmax(&half)
		for i := range s.Labels {
			x := rng.Float64()
			for s.Labels[i] = 0; s.Labels[i] < 2; s.Labels[i]++ {
				if x -= math.Exp(logProbs.At(i, s.Labels[i])); x < 0 {
					break
				}
			}
		}
	}
	a := auto(Maps()...)
	if err := a.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	if a.Choice() != "ts" {
		t.Errorf("%s is chosen where ts is the truth: %+v", a.Choice(), a.Ranking)
	}
	for _, s := range []*data.Set{cal, test} {
		for i := range s.Len() {
			if s.Features.At(i, 0) > 0.5 {
				s.Logits.Set(i, 1, s.Logits.At(i, 1)+5)
			}
		}
	}
	if err := a.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	var ts layers.Temperature
	if err := ts.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	if a.Choice() == "ts" || a.Choice() == "local-temperature" {
		t.Errorf("%s is chosen where regions differ: %+v", a.Choice(), a.Ranking)
	}
	if local, global := meanLoss(t, a, test), meanLoss(t, &ts, test); !(local < global-0.02) {
		t.Errorf("the test loss is %v, that of one temperature %v", local, global)
	}
	if !a.Result.Converged() {
		t.Errorf("the fit ended because %s", a.Result.Ended)
	}
	again := auto(Maps()...)
	if err := again.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	x, _ := a.State()
	y, _ := again.State()
	for _, name := range x.Weights.Names() {
		if !slices.Equal(x.Weights.Float64s(name), y.Weights.Float64s(name)) {
			t.Errorf("the same seed gives another %s", name)
		}
	}
}

// TestOneStandardErrorRule: the errors are those of the differences, row by row.
func TestOneStandardErrorRule(t *testing.T) {
	names := []Candidate{{Name: "simple"}, {Name: "middle"}, {Name: "best"}}
	right, wrong := []float64{1, 1, 1, 1}, []float64{0, 1, 1, 1}
	best := &judgement{losses: []float64{1, 2, 3, 4}, right: right}
	worse := &judgement{losses: []float64{1.1, 2.1, 3.1, 4.1}, right: right} // everywhere, so for sure
	near := &judgement{losses: []float64{0.5, 2.5, 3.3, 3.8}, right: wrong}
	r := rank(names, []*judgement{worse, near, best}, right, nil)
	if !r[1].Chosen || r[0].Chosen || r[2].Chosen {
		t.Errorf("the choice is none of the middle: %+v", r)
	}
	// differences −0.5, 0.5, 0.3, −0.2: mean 0.025, sd 0.4573
	if !scalar.EqualWithinAbs(r[1].Excess, 0.025, 1e-12) || !scalar.EqualWithinAbs(r[1].ExcessError, 0.22867, 1e-4) {
		t.Errorf("excess %v ± %v", r[1].Excess, r[1].ExcessError)
	}
	// one of four rows is lost: 0.25, sd 0.5
	if r[1].Lost != 0.25 || r[1].LostError != 0.25 {
		t.Errorf("%v ± %v of the accuracy is lost", r[1].Lost, r[1].LostError)
	}
	// Two rows lost are more than a standard error, though the loss is less.
	best.right = []float64{0, 0, 1, 1}
	if r := rank(names, []*judgement{worse, near, best}, right, nil); r[1].Excess != 0 || !r[0].Chosen { // 0.075 ± 0.229 from the best that is left
		t.Errorf("a map that loses accuracy takes part: %+v", r)
	}
	near.right, worse.right = best.right, best.right
	if r := rank(names, []*judgement{worse, near, best}, right, nil); !r[1].Chosen || r[2].Excess != 0 {
		t.Errorf("if all lose accuracy, they still take part: %+v", r)
	}
}

// listed is a map that no comparison of interfaces can tell from another.
type listed struct {
	Tempered
	list []float64
}

func TestAutoJudgesMapsThatAreNoKeys(t *testing.T) {
	a := auto(Candidate{"ts", Tempered{}}, Candidate{"listed", listed{list: []float64{1}}})
	if err := a.Fit(t.Context(), blobs(200, 1), nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	if a.Ranking[0].NLL != a.Ranking[1].NLL {
		t.Errorf("one map is judged in two ways: %+v", a.Ranking)
	}
}

func TestAutoRefuses(t *testing.T) {
	cal := blobs(60, 1)
	var setting *layers.SettingError
	if err := (&Auto{Base: anchor(), Candidates: Maps(), Folds: 1}).Fit(t.Context(), cal, nil, newRand(1)); !errors.As(err, &setting) {
		t.Errorf("one fold gives %v", err)
	}
	if err := auto().Fit(t.Context(), cal, nil, newRand(1)); err == nil {
		t.Error("no candidates are accepted")
	}
	for what, s := range map[string]*data.Set{
		"features": {Logits: cal.Logits, Labels: cal.Labels}, "logits": {Features: cal.Features, Labels: cal.Labels},
	} {
		if err := auto(Maps()...).Fit(t.Context(), s, nil, newRand(1)); err == nil {
			t.Errorf("rows without %s are accepted", what)
		}
	}
	for _, m := range []layers.Map{Tables{}, SlotHead{}, LocalTemperature{}} {
		if _, err := m.Init(layers.Sizes{Classes: 3}, newRand(1)); err == nil {
			t.Errorf("%T starts without regions", m)
		}
	}
	restored := auto(Candidate{"local-temperature", LocalTemperature{}})
	if err := restored.Restore(layers.State{Config: []byte(`{"classes":3,"counts":[1,1,1],"choice":"anchored"}`), Weights: graph.NewWeights(tensor.Float32)}); err == nil {
		t.Error("a map that is no candidate is restored")
	}
}
