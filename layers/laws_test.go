package layers

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

func lgamma(x float64) float64 {
	l, _ := math.Lgamma(x)
	return l
}

// blobs are n rows of three Gaussian classes in 8 dimensions, with the logits of a
// classifier that is right about their places and twice too sure.
func blobs(n int, seed uint64) *data.Set {
	rng := newRand(seed)
	s := &data.Set{Features: mat.NewDense(n, 8, nil), Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := range n {
		y := rng.IntN(3)
		s.Labels[i] = y
		for j := range 8 {
			x := rng.NormFloat64()
			if j%3 == y {
				x += 1.5
			}
			data.Dense(s.Features).Set(i, j, x)
			s.Logits.Set(i, j%3, s.Logits.At(i, j%3)+3*x)
		}
	}
	return s
}

// calibrators are the calibrators of this package, quick to fit.
func calibrators() map[string]Stateful {
	short := optim.Settings{Epochs: 4}
	divide := func() *Divide {
		return &Divide{Slots: 4, Codebook: Codebook{Codewords: 8}, Optim: short}
	}
	return map[string]Stateful{
		"vq":    Train(divide(), Bilinear{}, short),
		"vq-dc": Train(divide(), Dirichlet{}, short),
		"vq-nc": Train(divide(), Identity{}, short),
		"nc":    Train(&Original{}, Identity{}, short),
		"ts":    &Temperature{},
	}
}

func TestCalibratorLaws(t *testing.T) {
	cal, val, test := blobs(400, 1), blobs(100, 2), blobs(300, 3)
	for name, c := range calibrators() {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Predict(test); err == nil {
				t.Error("it predicts before it is fitted")
			}
			if err := c.Fit(t.Context(), cal, val, newRand(4)); err != nil {
				t.Fatal(err)
			}
			p, err := c.Predict(test)
			if err != nil {
				t.Fatal(err)
			}
			for i := range test.Len() {
				var sum float64
				for _, l := range p.LogProbs.RawRowView(i) {
					sum += math.Exp(l)
				}
				if !scalar.EqualWithinAbs(sum, 1, 1e-12) { // normalized in float64
					t.Fatalf("row %d sums to %v", i, sum)
				}
			}
			again := calibrators()[name]
			file := reread(t, name, c, again)
			q, err := again.Predict(test)
			if err != nil {
				t.Fatal(err)
			}
			if !mat.Equal(p.LogProbs, q.LogProbs) {
				t.Error("the restored model predicts something else")
			}
			if err := again.Restore(State{file.State.Config, graph.NewWeights(tensor.Float32)}); err == nil && name != "nc" {
				t.Error("a state without weights is accepted")
			}
			narrow := &data.Set{Features: mat.NewDense(1, 5, nil), Logits: mat.NewDense(1, 2, nil)}
			if _, err := c.Predict(narrow); err == nil {
				t.Error("rows of another width are accepted")
			}
		})
	}
}

// reread writes c to a model file and reads it into another, and gives the file.
func reread(t *testing.T, name string, c, into Stateful) *Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := WriteModel(path, name, c); err != nil {
		t.Fatal(err)
	}
	file, err := ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Restore(into); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTemperatureUndoesATemperature(t *testing.T) {
	cal := blobs(3000, 5)
	var m Temperature
	if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	before := m.T()
	if !m.Result.Converged() || !(m.Result.GradientNorm <= 1e-8) {
		t.Errorf("the fit ended with %+v", m.Result)
	}
	cal.Logits.Scale(2.5, cal.Logits)
	if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	if r := m.T() / before; !scalar.EqualWithinAbs(r, 2.5, 1e-6) { // the derivative is zero to 1e-8
		t.Errorf("logits 2.5 times as large have %v times the temperature", r)
	}
	// Labels that the logits always get right have no finite best temperature.
	for i := range cal.Len() {
		for j := range 3 {
			cal.Logits.Set(i, j, 0)
		}
		cal.Logits.Set(i, cal.Labels[i], 1)
	}
	if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(m.Result.Ended, "bound") || m.T() > 0.01 {
		t.Errorf("T = %v, ended because %s", m.T(), m.Result.Ended)
	}
}

// TestPriorOfATemperature: under a prior t = log T is t₀ N/(N + N₀) but for terms of third order, and it ends where no
// row is wrong.
func TestPriorOfATemperature(t *testing.T) {
	const s = 0.1
	cal := blobs(500, 5)
	fit := func(prior float64) float64 {
		t.Helper()
		m := Temperature{Prior: prior}
		if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
			t.Fatal(err)
		}
		return math.Log(m.T())
	}
	slope := func(at float64) (slope float64) { // of mean NLL by t: Σ_j q_j ℓ_j − ℓ_y, ℓ = logits/T
		for i, y := range cal.Labels {
			var scores [3]float64
			for j := range scores {
				scores[j] = cal.Logits.At(i, j) * math.Exp(-at)
			}
			for _, score := range scores {
				slope += math.Exp(score-floats.LogSumExp(scores[:])) * (scores[y] - score) / 500
			}
		}
		return slope
	}
	cal.Logits.Scale(math.Exp(-fit(0)-0.02), cal.Logits) // t₀ = −.02
	information := (slope(1e-4) - slope(-1e-4)) / 2e-4
	start := fit(0)
	if got, want := fit(s), start*500/(500+1/(s*s*information)); !scalar.EqualWithinRel(got, want, 0.02) { // by the third order, t₀ itself
		t.Errorf("t is %v, not %v; without the prior it is %v", got, want, start)
	}
	for i, y := range cal.Labels {
		for j := range 3 {
			cal.Logits.Set(i, j, 0)
		}
		cal.Logits.Set(i, y, 5)
	}
	if at := fit(s); !(math.Abs(slope(at)+at/(s*s*500)) <= 1e-7) { // the fit ends at 1e-8, in the same precision
		t.Errorf("of labels that are never wrong t is %v, where the derivative of the loss is %v", at, slope(at)+at/(s*s*500))
	}
}

func TestIdentityIsTheSoftmax(t *testing.T) {
	x := blobs(50, 6)
	c := Train(&Original{}, Identity{}, optim.Settings{})
	if err := c.Fit(t.Context(), x, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	p, err := c.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	// The clamp at 1e-8 moves a probability by at most 2e-8; float32 keeps 1e-7 of
	// log-probabilities down to −18.
	var diff, probs, want mat.Dense
	exp := func(_, _ int, v float64) float64 { return math.Exp(v) }
	probs.Apply(exp, p.LogProbs)
	want.Apply(exp, LogSoftmax(x.Logits))
	diff.Sub(&probs, &want)
	if d := math.Max(mat.Max(&diff), -mat.Min(&diff)); !(d <= 1e-6) {
		t.Errorf("probabilities differ from the softmax by %v", d)
	}
}

func TestSettingsThatDoNotFitTheData(t *testing.T) {
	cal := blobs(20, 7)
	for want, d := range map[string]*Divide{
		"3 slots do not divide 8 features":   {Slots: 3, Codebook: Codebook{Codewords: 4}},
		"20 calibration rows are fewer than": {Slots: 4, Codebook: Codebook{Codewords: 21}},
		"a codebook of -1 codewords is":      {Slots: 4, Codebook: Codebook{Codewords: -1}},
	} {
		err := d.Fit(t.Context(), cal, nil, newRand(1))
		var setting *SettingError
		if !errors.As(err, &setting) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v is no SettingError saying %q", err, want)
		}
	}
	if _, err := (Bilinear{}).Init(Sizes{Classes: 3}, newRand(1)); err == nil {
		t.Error("the bilinear map starts without regions")
	}
}

// TestMissingInputsAreNamed: a set without features, logits or labels is an error of
// package layers, or the method has no use for them.
func TestMissingInputsAreNamed(t *testing.T) {
	without := map[string]func(*data.Set){
		"features": func(s *data.Set) { s.Features = nil },
		"logits":   func(s *data.Set) { s.Logits = nil },
		"labels":   func(s *data.Set) { s.Labels = nil },
	}
	for name, needs := range map[string]struct{ cal, val string }{
		"vq":    {"features labels", "features labels"},
		"vq-nc": {"features labels", "features labels"},
		"nc":    {"logits", ""},
		"dc":    {"logits labels", "logits labels"},
		"ts":    {"logits labels", ""},
	} {
		for what, remove := range without {
			for _, of := range []string{"calibration", "validation"} {
				c := calibrators()[name]
				if name == "dc" {
					c = Train(&Original{}, Dirichlet{}, optim.Settings{Epochs: 1})
				}
				cal, val, needed := blobs(60, 1), blobs(30, 2), needs.cal
				if of == "calibration" {
					remove(cal)
				} else {
					remove(val)
					needed = needs.val
				}
				err := c.Fit(t.Context(), cal, val, newRand(3))
				if strings.Contains(needed, what) {
					if err == nil || !strings.Contains(err.Error(), what) {
						t.Errorf("%s, %s rows without %s: %v", name, of, what, err)
					}
				} else if err != nil {
					t.Errorf("%s needs no %s of the %s rows: %v", name, what, of, err)
				}
			}
		}
	}
}

// TestLabelsBeyondTheClasses, be it in rows to fit to or in rows to stop by, are errors
// that name the row.
func TestLabelsBeyondTheClasses(t *testing.T) {
	for _, name := range []string{"vq", "nc", "ts"} {
		cal, val := blobs(60, 1), blobs(30, 2)
		if name == "vq" { // of features alone it is the calibration rows that say what C is
			val.Labels[7] = 3
		} else {
			cal.Labels[7] = 3
		}
		if err := calibrators()[name].Fit(t.Context(), cal, val, newRand(3)); err == nil || !strings.Contains(err.Error(), "row 7 has the label 3") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInterruptedFitKeepsAModel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	d := &Divide{Slots: 4, Codebook: Codebook{Codewords: 8}, Optim: optim.Settings{Observe: func(e optim.Epoch) {
		if e.Number == 2 {
			cancel()
		}
	}}}
	c := Train(d, Bilinear{}, optim.Settings{})
	err := c.Fit(ctx, blobs(300, 8), blobs(50, 9), newRand(1))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "divide") {
		t.Fatalf("the interruption is reported as %v", err)
	}
	if _, err := c.Predict(blobs(10, 10)); err != nil {
		t.Errorf("what was learned cannot be used: %v", err)
	}
}

// TestLossThatIsNotFiniteKeepsNothing: it leaves no map to predict by.
func TestLossThatIsNotFiniteKeepsNothing(t *testing.T) {
	c := Train(&Original{}, Dirichlet{}, optim.Settings{Epochs: 1})
	bad := blobs(100, 8)
	for _, cal := range []*data.Set{blobs(100, 9), bad} {
		if cal == bad {
			cal.Logits.Set(3, 0, math.NaN())
		}
		err := c.Fit(t.Context(), cal, nil, newRand(1))
		if _, unfitted := c.Predict(blobs(10, 10)); (err != nil) != (cal == bad) || errors.Is(unfitted, ErrUnfitted) != (cal == bad) {
			t.Errorf("the fit: %v, the prediction after it: %v", err, unfitted)
		}
	}
}

// TestFailedRestoreChangesNothing, nor does a base that was not fitted say anything.
func TestFailedRestoreChangesNothing(t *testing.T) {
	cal := blobs(100, 8)
	ts, original := &Temperature{}, &Original{}
	if _, err := original.View(&data.Set{}); !errors.Is(err, ErrUnfitted) {
		t.Errorf("a base that was not fitted: %v", err)
	}
	if err := errors.Join(ts.Fit(t.Context(), cal, nil, nil), original.Fit(t.Context(), cal, nil, nil)); err != nil {
		t.Fatal(err)
	}
	before := ts.T()
	w := graph.NewWeights(tensor.Float64)
	w.Add("temperature/log", []float64{5}, 1)
	if err := ts.Restore(State{Config: []byte(`{"classes":1}`), Weights: w}); err == nil || ts.T() != before {
		t.Errorf("sizes that make no calibrator: %v, T = %v", err, ts.T())
	}
	if err := original.Restore(State{Config: []byte(`{"classes":1}`), Weights: graph.NewWeights(tensor.Float32)}); err == nil || original.Sizes().Classes != 3 {
		t.Errorf("sizes that make no base: %v, %d classes", err, original.Sizes().Classes)
	}
}

// TestWarmStartKeepsUnusedCodewords: a codeword that no slot is assigned to stays
// near its place under WarmStart and falls to the origin under ZeroStart.
func TestWarmStartKeepsUnusedCodewords(t *testing.T) {
	for _, c := range []struct {
		start EMAStart
		want  float64
	}{{WarmStart{}, 100}, {ZeroStart{}, 0}} {
		book := Codebook{Codewords: 2, Start: c.start}.withDefaults()
		w := graph.NewWeights(tensor.Float64)
		book.add(w, []float64{0, 100}, 1)
		one := Sizes{Slots: 1, Codewords: 2}
		z := graph.Tensor(tensor.Float64, []float64{1, 2, 3}, 3, 1)
		b := graph.NewBuilder(w, 3)
		features := b.Take("features", z)
		book.Update(b, features, book.Assign(b, features, one), one)
		copy(b.RowNumbers(), graph.Rows(0, 3))
		p, err := b.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Run(); err != nil {
			t.Fatal(err)
		}
		if err := p.Commit(); err != nil {
			t.Fatal(err)
		}
		if got := w.Float64s("codebook/codewords")[1]; !scalar.EqualWithinAbs(got, c.want, 1e-5) { // 100·0.99/(0.99+ε)
			t.Errorf("%T: the unused codeword is at %v, not %v", c.start, got, c.want)
		}
	}
}
