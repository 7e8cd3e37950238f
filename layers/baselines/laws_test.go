package baselines

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"gorgonia.org/tensor"
)

func fit(t *testing.T, c layers.Calibrator, cal, val *data.Set) {
	t.Helper()
	if err := c.Fit(t.Context(), cal, val, newRand(4)); err != nil {
		t.Fatal(err)
	}
}

// TestEveryMethodOnEveryProblem: rows are log-probabilities that sum to 1, a fit
// repeats itself to the bit, a saved model predicts the same, and relabelling the
// classes commutes.
func TestEveryMethodOnEveryProblem(t *testing.T) {
	for problemName, p := range problems() {
		cal, _ := p.draw(300, 1)
		val, _ := p.draw(80, 2)
		test, _ := p.draw(120, 3)
		for name, m := range methods() {
			if problemName == "zeros" && name == "ts" {
				continue // layers.Temperature takes finite logits, which package data sees to
			}
			t.Run(problemName+"/"+name, func(t *testing.T) {
				c := m.new()
				fit(t, c, cal, val)
				got := predict(t, c, test)
				checkRows(t, got)

				again := m.new()
				fit(t, again, cal, val)
				if !mat.Equal(got.LogProbs, predict(t, again, test).LogProbs) {
					t.Error("a second fit from the same seed predicts something else")
				}
				checkSaved(t, name, m, c, test, got)
				if m.commutes > 0 {
					checkRelabelling(t, m, cal, val, test, got)
				}
			})
		}
	}
}

func checkRows(t *testing.T, p *data.Predictions) {
	t.Helper()
	for i, row := range rowsOf(p.LogProbs) {
		var sum float64
		for k, l := range row {
			if math.IsNaN(l) || l > 1e-12 {
				t.Fatalf("row %d: class %d has log-probability %v", i, k, l)
			}
			sum += math.Exp(l)
		}
		if !scalar.EqualWithinAbs(sum, 1, 1e-12) { // normalized in float64
			t.Fatalf("row %d sums to %v", i, sum)
		}
	}
}

func checkSaved(t *testing.T, name string, m method, c layers.Stateful, test *data.Set, want *data.Predictions) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := layers.WriteModel(path, name, c); err != nil {
		t.Fatal(err)
	}
	file, err := layers.ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	restored := m.new()
	if _, err := restored.Predict(test); err == nil {
		t.Error("it predicts before it is fitted")
	}
	if err := file.Restore(restored); err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(want.LogProbs, predict(t, restored, test).LogProbs) {
		t.Error("the restored model predicts something else")
	}
	if len(file.State.Weights.Names()) == 0 {
		return
	}
	if err := m.new().Restore(layers.State{Config: file.State.Config, Weights: graph.NewWeights(tensor.Float64)}); err == nil {
		t.Error("a state without weights is accepted")
	}
	narrow := &data.Set{Features: mat.NewDense(1, 2, nil), Logits: mat.NewDense(1, 7, nil)}
	if _, err := restored.Predict(narrow); err == nil {
		t.Error("rows of other classes and features are accepted")
	}
}

// checkRelabelling fits with the classes renamed and renames the predictions back.
func checkRelabelling(t *testing.T, m method, cal, val, test *data.Set, want *data.Predictions) {
	t.Helper()
	classes := cal.Classes()
	rename := func(k int) int { return (k + 1) % classes }
	renamed := func(s *data.Set) *data.Set {
		out := &data.Set{Features: s.Features, Logits: mat.NewDense(s.Len(), classes, nil), Labels: make([]int, s.Len())}
		for i, y := range s.Labels {
			out.Labels[i] = rename(y)
			for k := range classes {
				out.Logits.Set(i, rename(k), s.Logits.At(i, k))
			}
		}
		return out
	}
	c := m.new()
	fit(t, c, renamed(cal), renamed(val))
	got := predict(t, c, renamed(test))
	for i, row := range rowsOf(want.LogProbs) {
		if tied(test.Logits.RawRowView(i)) {
			continue // which of two equal classes is the top one depends on their order
		}
		for k, l := range row {
			g := got.LogProbs.At(i, rename(k))
			if d := math.Abs(math.Max(l, math.Log(1e-6)) - math.Max(g, math.Log(1e-6))); !(d <= m.commutes) {
				t.Fatalf("row %d, class %d: log-probability %v, with the classes renamed %v", i, k, l, g)
			}
		}
	}
}

func tied(logits []float64) bool {
	top, ties := floats.Max(logits), 0
	for _, v := range logits {
		if v == top {
			ties++
		}
	}
	return ties > 1
}

// excess is the mean Kullback–Leibler divergence of the predictions from the truth.
func excess(t *testing.T, c layers.Calibrator, test *data.Set, truth *mat.Dense) float64 {
	t.Helper()
	p := predict(t, c, test)
	var sum float64
	for i, row := range rowsOf(truth) {
		for k, l := range row {
			if !math.IsInf(l, -1) {
				sum += math.Exp(l) * (l - p.LogProbs.At(i, k))
			}
		}
	}
	return sum / float64(test.Len())
}

// likelihoodBound is what a maximum-likelihood fit of so many parameters to n rows
// exceeds the truth by, at most, in 9,999 of 10,000 cases: 2n·KL is χ² distributed
// (Wilks 1938). The half more is for terms of higher order.
func likelihoodBound(parameters, n int) float64 {
	return 1.5 * distuv.ChiSquared{K: float64(parameters)}.Quantile(0.9999) / float64(2*n)
}

// TestCalibratedInputIsLeftAlone: a method whose family has the identity leaves a
// perfectly calibrated classifier within its standard error.
func TestCalibratedInputIsLeftAlone(t *testing.T) {
	p := problems()["calibrated"]
	const n = 4000
	cal, _ := p.draw(n, 1)
	test, truth := p.draw(2000, 2)
	for name, m := range methods() {
		if m.parameters == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := m.new()
			fit(t, c, cal, nil)
			bound := likelihoodBound(m.parameters(p.classes, problemFeatures), n)
			if got := excess(t, c, test, truth); !(got <= bound) {
				t.Errorf("the predictions are %.2g nats from the truth, more than %.2g", got, bound)
			}
		})
	}
}

// TestDistortionsAreUndone, each by the methods made for it.
func TestDistortionsAreUndone(t *testing.T) {
	hot := []float64{0.3, -0.2, 0, 0.25, 0, 0} // log T is linear in the features
	cases := map[string]struct {
		p       problem
		methods []string
	}{
		"temperature":       {problems()["temperature"], []string{"ts", "vector", "dc", "dc-odir", "sm", "local-ts"}},
		"dirichlet":         {problems()["dirichlet"], []string{"dc"}},
		"class scales":      {problem{3, func(l, _ []float64) { floats.Mul(l, []float64{0.5, 2, 1.25}) }, -1}, []string{"dc"}},
		"local temperature": {problem{3, func(l, x []float64) { floats.Scale(math.Exp(floats.Dot(hot, x)), l) }, -1}, []string{"local-ts"}},
	}
	const n = 4000
	for name, c := range cases {
		cal, _ := c.p.draw(n, 1)
		test, truth := c.p.draw(2000, 2)
		for _, method := range c.methods {
			t.Run(name+"/"+method, func(t *testing.T) {
				m := methods()[method]
				var untouched layers.Temperature // T = 1
				if err := untouched.Restore(unitTemperature(cal)); err != nil {
					t.Fatal(err)
				}
				fitted := m.new()
				fit(t, fitted, cal, nil)
				got, before := excess(t, fitted, test, truth), excess(t, &untouched, test, truth)
				bound := likelihoodBound(m.parameters(c.p.classes, problemFeatures), n)
				if !(got <= bound) || !(before > 2*bound) {
					t.Errorf("the predictions are %.2g nats from the truth, of %.2g before; the standard error allows %.2g", got, before, bound)
				}
			})
		}
	}
}

func unitTemperature(cal *data.Set) layers.State {
	var m layers.Temperature
	if err := m.Fit(context.Background(), cal, nil, nil); err != nil {
		panic(err)
	}
	s, err := m.State()
	if err != nil {
		panic(err)
	}
	s.Weights.Tensor("temperature/log").Float64s()[0] = 0
	return s
}

// TestUnitTemperatureIsTheIdentity: T = 1 predicts the softmax itself.
func TestUnitTemperatureIsTheIdentity(t *testing.T) {
	x, truth := problems()["calibrated"].draw(200, 5)
	var m layers.Temperature
	if err := m.Restore(unitTemperature(x)); err != nil {
		t.Fatal(err)
	}
	if p := predict(t, &m, x).LogProbs; !mat.EqualApprox(p, truth, 1e-12) {
		t.Error("a temperature of 1 changes the probabilities")
	}
}

// TestIsotonicIsMonotone on its own points, between and beyond them, and as close to
// the targets as no other non-decreasing function of a small grid.
func TestIsotonicIsMonotone(t *testing.T) {
	rng := newRand(6)
	x, y := make([]float64, 500), make([]float64, 500)
	for i := range x {
		x[i] = math.Round(rng.Float64()*100) / 100 // with ties
		if rng.Float64() < x[i]*x[i] {
			y[i] = 1
		}
	}
	s := isotonic(ties{}.values(x), y, nil, ties{})
	before := math.Inf(-1)
	for v := -0.1; v < 1.1; v += 1e-3 {
		if s.at(v) < before {
			t.Fatalf("the function falls at %v", v)
		}
		before = s.at(v)
	}
	// The regression of (1, 0, 2, 1, 3) is (0.5, 0.5, 1.5, 1.5, 3). Each x is as wide as leastTie.
	s = isotonic(ties{}.values([]float64{1, 2, 3, 4, 5}), []float64{1, 0, 2, 1, 3}, nil, ties{})
	for v, want := range map[float64]float64{0: 0.5, 1: 0.5, 2: 0.5, 2.5: 1, 3: 1.5, 4: 1.5, 4.5: 2.25, 5: 3, 6: 3} {
		if got := s.at(v); !scalar.EqualWithinAbs(got, want, 1e-11) {
			t.Errorf("at %v the value is %v, not %v", v, got, want)
		}
	}
}

// TestManyClasses: 400 classes, most of them absent, with fits cut short.
func TestManyClasses(t *testing.T) {
	const classes = 400
	p := problem{classes, func(l, _ []float64) { floats.Scale(1.5, l) }, -1}
	cal, _ := p.draw(150, 1)
	test, _ := p.draw(20, 2)
	for name, m := range short() {
		t.Run(name, func(t *testing.T) {
			c := m.new()
			fit(t, c, cal, nil)
			checkRows(t, predict(t, c, test))
		})
	}
}

func TestInterruptedFitsSaySo(t *testing.T) {
	cal, _ := problems()["temperature"].draw(200, 1)
	for name, m := range methods() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := m.new().Fit(ctx, cal, nil, newRand(1))
		switch name {
		case "histogram", "nc": // one pass, nothing to wait for
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the interruption is reported as %v; return ctx.Err() before the rows are read", name, err)
		}
	}
}

// TestFailedFitsLeaveNothing: after scores that are not finite there is no map to
// predict by, or the one from before.
func TestFailedFitsLeaveNothing(t *testing.T) {
	cal, _ := problems()["temperature"].draw(100, 1)
	bad, _ := problems()["temperature"].draw(100, 2)
	bad.Logits.Set(70, 1, math.NaN())
	for name, m := range methods() {
		c := m.new()
		err := c.Fit(t.Context(), bad, nil, newRand(1))
		if err == nil {
			switch name {
			case "nc": // it learns nothing
			default:
				t.Errorf("%s is fitted to scores that are not finite", name)
			}
			continue
		}
		if text := err.Error(); strings.Contains(text, "row") && !strings.Contains(text, "row 70 ") {
			t.Errorf("%s names another row than 70: %v", name, err)
		}
		if _, err := c.Predict(cal); err == nil {
			t.Errorf("%s predicts after a fit that failed", name)
		}
	}
}

func TestMissingInputsAreNamed(t *testing.T) {
	cal, _ := problems()["calibrated"].draw(50, 1)
	bare := &data.Set{Logits: cal.Logits, Labels: cal.Labels}
	for name, m := range methods() {
		err := m.new().Fit(t.Context(), bare, nil, newRand(1))
		switch name {
		case "local-ts", "procal", "ln", "kc", "kc-original", "new-head", "forest":
			if err == nil {
				t.Errorf("%s is fitted without features", name)
			}
		default:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := m.new().Fit(t.Context(), &data.Set{Features: cal.Features, Labels: cal.Labels}, nil, newRand(1)); err == nil {
			t.Errorf("%s is fitted without logits", name)
		}
		unlabelled := &data.Set{Features: cal.Features, Logits: cal.Logits}
		if err := m.new().Fit(t.Context(), unlabelled, cal, newRand(1)); err == nil && name != "nc" {
			t.Errorf("%s is fitted without labels", name)
		}
		err = m.new().Fit(t.Context(), cal, unlabelled, newRand(1))
		switch name {
		case "ln", "kc", "kc-original": // those that stop early
			if err == nil || !strings.Contains(err.Error(), "labels") {
				t.Errorf("%s stops early by rows without labels: %v", name, err)
			}
			beyond := &data.Set{Features: cal.Features, Logits: cal.Logits, Labels: slices.Clone(cal.Labels)}
			beyond.Labels[7] = 3
			if err := m.new().Fit(t.Context(), cal, beyond, newRand(1)); err == nil || !strings.Contains(err.Error(), "row 7 has the label 3") {
				t.Errorf("%s stops early by a label beyond the classes: %v", name, err)
			}
		default:
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestHistogramOfTies: bins are cut at the quantiles, of which equal values swallow
// those that fall among them; no bin is a crumb behind them. They end between the last value and the next.
func TestHistogramOfTies(t *testing.T) {
	target := make([]float64, 100)
	for _, c := range []struct {
		name string
		x    func(i int) float64 // ascending
		bins int
		ends []float64
	}{
		{"no ties", func(i int) float64 { return float64(i) }, 4, []float64{24 + between, 49 + between, 74 + between, 99}},
		{"55 ties", func(i int) float64 { return float64(max(i, 54)) }, 10, []float64{54 + between, 59 + between, 69 + between, 79 + between, 89 + between, 99}},
		{"ties at the end", func(i int) float64 { return float64(min(i, 30)) }, 10, []float64{9 + between, 19 + between, 29 + between, 30}},
		{"one value", func(int) float64 { return 0.5 }, 10, []float64{0.5}},
		{"more bins than rows", func(i int) float64 { return float64(i / 50) }, 1000, []float64{between, 1}},
	} {
		x := make([]float64, len(target))
		for i := range x {
			x[i] = c.x(i)
		}
		s := histogram(ties{}.values(x), target, nil, c.bins)
		if !slices.Equal(s.x, c.ends) {
			t.Errorf("%s: the bins end at %v, not %v", c.name, s.x, c.ends)
		}
	}
}
