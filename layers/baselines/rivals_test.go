package baselines

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"calibra/data"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// rivals is testdata/rivals.json, which rivals.py computes from definitions in numpy and scipy.
type rivals struct {
	CalFeatures  [][]float64 `json:"cal_features"`
	CalLogits    [][]float64 `json:"cal_logits"`
	CalLabels    []int       `json:"cal_labels"`
	TestFeatures [][]float64 `json:"test_features"`
	TestLogits   [][]float64 `json:"test_logits"`
	Clustered    struct {
		Strength, Tau, Loss    float64
		Centres, Probabilities [][]float64
	}
	DAC struct {
		Neighbours               int
		Loss                     float64
		Distances, Probabilities [][]float64
	}
	Laplace, Alike struct { // Alike: the matrix itself, of calibration rows with the logits of the first
		Precision     float64
		Probabilities [][]float64
	}
}

func readRivals(t *testing.T) (r rivals, cal, test *data.Set) {
	t.Helper()
	raw, err := os.ReadFile("testdata/rivals.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		t.Fatal(err)
	}
	return r, &data.Set{Features: matrix(r.CalFeatures), Logits: matrix(r.CalLogits), Labels: r.CalLabels},
		&data.Set{Features: matrix(r.TestFeatures), Logits: matrix(r.TestLogits)}
}

// TestClusteredAgainstTheDefinition at given centres, which lie among the standardized features; all
// principal components only turn them. Both minimize to a gradient of 1e-9, one of differences of
// 1e-6 of a loss near 1: known to 1e-10, over a curvature of the penalty 0.02.
func TestClusteredAgainstTheDefinition(t *testing.T) {
	r, cal, test := readRivals(t)
	e, err := fitEmbedding(cal)
	if err != nil {
		t.Fatal(err)
	}
	sizes, err := sizesOf(cal)
	if err != nil {
		t.Fatal(err)
	}
	var centres mat.Dense
	centres.Mul(matrix(r.Clustered.Centres), e.Axes)
	m := Clustered{Optim: optim.LBFGS{Gradient: 1e-9, Iterations: 5000}}
	if err := m.fitStrength(t.Context(), cal, clustering{sizes, e, clustersAt(&centres, r.Clustered.Tau)}, r.Clustered.Strength); err != nil {
		t.Fatal(err)
	}
	if got := m.Result.Loss; !(math.Abs(got-r.Clustered.Loss) <= 1e-9) {
		t.Errorf("the loss is %.12f, that of the definition %.12f", got, r.Clustered.Loss)
	}
	nearProbs(t, predict(t, &m, test), r.Clustered.Probabilities, 1e-6)
}

// TestDensityAwareAgainstItsAuthors: their index keeps distances in float32, and their search follows
// differences of 1e-7 of the loss. At the optimum the second layer's weight is 0, the end of its range.
func TestDensityAwareAgainstItsAuthors(t *testing.T) {
	r, cal, test := readRivals(t)
	sizes, err := sizesOf(cal)
	if err != nil {
		t.Fatal(err)
	}
	l, err := logProbsOf(cal, sizes)
	if err != nil {
		t.Fatal(err)
	}
	for j, z := range []*mat.Dense{data.Dense(cal.Features), l} {
		near, err := newProximity(z, r.DAC.Neighbours)
		if err != nil {
			t.Fatal(err)
		}
		near.say = kthDistance
		own, err := near.own(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := floats.Distance(own, r.DAC.Distances[j], math.Inf(1)); !(d <= 1e-6) {
			t.Errorf("distances in layer %d are %g apart", j, d)
		}
	}
	m := DensityAware{Neighbours: r.DAC.Neighbours, Optim: optim.LBFGS{Gradient: 1e-10}}
	fit(t, &m, cal, nil)
	nearProbs(t, predict(t, &m, test), r.DAC.Probabilities, 1e-6)
}

// TestFarRowsAreLessSure: nine rows of ten lie close together, and the classifier is four times too
// sure of the tenth, anywhere. There a temperature by the distance is better than one for all.
func TestFarRowsAreLessSure(t *testing.T) {
	draw := func(seed uint64) *data.Set {
		x, _ := problems()["calibrated"].draw(2000, seed)
		for i, row := range rowsOf(data.Dense(x.Features)) {
			if i%10 == 0 {
				floats.Scale(4, x.Logits.RawRowView(i))
				continue
			}
			floats.Scale(0.1, row)
			row[0] += 5
		}
		return x
	}
	cal, test := draw(1), draw(2)
	dac, ts := &DensityAware{}, methods()["ts"].new()
	fit(t, dac, cal, nil)
	fit(t, ts, cal, nil)
	got, want := meanNLL(t, dac, test), meanNLL(t, ts, test)
	t.Logf("NLL %.4f, of temperature scaling %.4f", got, want)
	if !(got < want-0.02) {
		t.Errorf("NLL %.4f, of temperature scaling %.4f", got, want)
	}
}

// TestLaplaceAgainstTheDefinition, which inverts the whole precision matrix; all is in float64.
func TestLaplaceAgainstTheDefinition(t *testing.T) {
	r, cal, test := readRivals(t)
	m := Laplace{Precisions: []float64{r.Laplace.Precision}}
	fit(t, &m, cal, nil)
	nearProbs(t, predict(t, &m, test), r.Laplace.Probabilities, 1e-12)
	for _, row := range rowsOf(cal.Logits) {
		copy(row, cal.Logits.RawRowView(0))
	}
	m = Laplace{Precisions: []float64{r.Alike.Precision}}
	fit(t, &m, cal, nil)
	nearProbs(t, predict(t, &m, test), r.Alike.Probabilities, 1e-12)
}

// TestLaplaceIsLessSureOfWhatItHasNotSeen: far from the calibration rows a layer says less, by more
// the fewer rows there were; a prior that is certain leaves the classifier as it is.
func TestLaplaceIsLessSureOfWhatItHasNotSeen(t *testing.T) {
	cal, _ := problems()["calibrated"].draw(400, 1)
	near, _ := problems()["calibrated"].draw(1, 3)
	far := &data.Set{Features: mat.DenseCopyOf(near.Features), Logits: near.Logits, Labels: near.Labels}
	floats.Scale(10, data.Dense(far.Features).RawRowView(0))
	top := func(cal, x *data.Set, precision float64) float64 {
		m := Laplace{Precisions: []float64{precision}}
		fit(t, &m, cal, nil)
		return floats.Max(predict(t, &m, x).LogProbs.RawRowView(0))
	}
	all, few := top(cal, far, 1), top(cal.Rows([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), far, 1)
	if at := top(cal, near, 1); !(few < all && all < at) {
		t.Errorf("the largest log-probability is %.3f far away, %.3f by ten rows, %.3f nearby", all, few, at)
	}
	if got, want := top(cal, far, 1e12), floats.Max(layers.LogSoftmax(far.Logits).RawRowView(0)); !(math.Abs(got-want) <= 1e-6) {
		t.Errorf("a certain prior makes %v of %v", got, want)
	}
}

// TestClustersShrunkAreStructuredVectorScaling: calibrators that may not differ are one.
func TestClustersShrunkAreStructuredVectorScaling(t *testing.T) {
	_, cal, test := readRivals(t)
	exact := optim.LBFGS{Gradient: 1e-9}
	shrunk, all := &Clustered{Strengths: []float64{1e9}, Optim: exact}, &StructuredVector{Optim: exact}
	fit(t, shrunk, cal, nil)
	fit(t, all, cal, nil)
	if d := furthest(predict(t, shrunk, test), predict(t, all, test)); !(d <= 1e-6) {
		t.Errorf("probabilities are %g apart", d)
	}
}

// TestClustersFindWhereTheClassifierIsTooSure: on rows whose classifier is too sure on one side
// and not sure enough on the other, clusters are better than one calibrator, and of rows that one
// calibrator mends they lose next to nothing.
func TestClustersFindWhereTheClassifierIsTooSure(t *testing.T) {
	sides := problem{3, func(l, x []float64) {
		for k := range l {
			l[k] *= 1.5 + math.Copysign(1, x[0])
		}
	}, -1}
	for name, c := range map[string]struct {
		p           problem
		least, most float64 // of what clusters gain, in nats
	}{"sides": {sides, 0.01, math.Inf(1)}, "temperature": {problems()["temperature"], -0.004, 0.004}} {
		cal, _ := c.p.draw(2000, 1)
		test, truth := c.p.draw(4000, 2)
		one, several := &StructuredVector{}, &Clustered{}
		fit(t, one, cal, nil)
		fit(t, several, cal, nil)
		gain := excess(t, one, test, truth) - excess(t, several, test, truth)
		t.Logf("%s: a gain of %.4f nats", name, gain)
		if !(gain >= c.least && gain <= c.most) {
			t.Errorf("%s: clusters gain %.4f nats, want %g to %g", name, gain, c.least, c.most)
		}
	}
}
