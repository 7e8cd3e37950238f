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
	DAC          struct {
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
	m := DensityAware{Neighbours: r.DAC.Neighbours, Method: optim.LBFGS{Gradient: 1e-10}}
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
