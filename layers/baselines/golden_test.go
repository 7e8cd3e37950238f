package baselines

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// golden decodes a section of testdata/reference.json, which the published implementation
// and scikit-learn computed in float64.
func golden(t *testing.T, section string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &sections); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(sections[section], into); err != nil {
		t.Fatal(err)
	}
}

type probabilityCase struct {
	Probs [][]float64 `json:"test_probs"`
	NLL   float64     `json:"cal_nll"`
}

type reference struct {
	CalLogits     [][]float64 `json:"cal_logits"`
	CalLabels     []int       `json:"cal_labels"`
	CalEmbedding  [][]float64 `json:"cal_embedding"`
	TestLogits    [][]float64 `json:"test_logits"`
	TestEmbedding [][]float64 `json:"test_embedding"`
	Expect        struct {
		Temperature struct {
			Temperature float64
			NLL         float64 `json:"cal_nll"`
		} `json:"temperature_scaling"`
		Isotonic  probabilityCase `json:"isotonic_regression"`
		Platt     probabilityCase `json:"platt_scaling"`
		Dirichlet probabilityCase `json:"dirichlet_calibration"`
		ProCal    struct {
			probabilityCase
			Neighbours int
		} `json:"procal_density_ratio"`
	}
}

func matrix(rows [][]float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, r := range rows {
		m.SetRow(i, r)
	}
	return m
}

// sets are the reference's calibration and test rows.
func (r *reference) sets() (cal, test *data.Set) {
	return &data.Set{Logits: matrix(r.CalLogits), Features: matrix(r.CalEmbedding), Labels: r.CalLabels},
		&data.Set{Logits: matrix(r.TestLogits), Features: matrix(r.TestEmbedding)}
}

func meanNLL(t *testing.T, c layers.Calibrator, x *data.Set) float64 {
	t.Helper()
	p := predict(t, c, x)
	var sum float64
	for i, y := range x.Labels {
		sum -= p.LogProbs.At(i, y)
	}
	return sum / float64(x.Len())
}

func predict(t *testing.T, c layers.Calibrator, x *data.Set) *data.Predictions {
	t.Helper()
	p, err := c.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func nearProbs(t *testing.T, p *data.Predictions, want [][]float64, tolerance float64) {
	t.Helper()
	var worst float64
	for i, row := range want {
		for k, q := range row {
			worst = max(worst, math.Abs(math.Exp(p.LogProbs.At(i, k))-q))
		}
	}
	if !(worst <= tolerance) {
		t.Errorf("probabilities differ from the reference by %.2g, more than %.0e", worst, tolerance)
	}
	t.Logf("probabilities differ by at most %.2g", worst)
}

func TestTemperatureAgainstReference(t *testing.T) {
	var r reference
	golden(t, "baselines", &r)
	cal, _ := r.sets()
	var m layers.Temperature
	if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	if d := math.Abs(m.T() - r.Expect.Temperature.Temperature); !(d <= 1e-6) {
		t.Errorf("T = %.10f, the reference is %.10f", m.T(), r.Expect.Temperature.Temperature)
	}
	if got := meanNLL(t, &m, cal); !(math.Abs(got-r.Expect.Temperature.NLL) <= 1e-6) {
		t.Errorf("NLL %.10f, the reference is %.10f", got, r.Expect.Temperature.NLL)
	}
}

// TestIsotonicAgainstReference: both sides are exact but for rounding.
func TestIsotonicAgainstReference(t *testing.T) {
	var r reference
	golden(t, "baselines", &r)
	cal, test := r.sets()
	m := Isotonic()
	if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	nearProbs(t, predict(t, m, test), r.Expect.Isotonic.Probs, 1e-9)
}

// TestPlattVectorAgainstReference: scikit-learn stops at a gradient of 1e-4 of the sum.
func TestPlattVectorAgainstReference(t *testing.T) {
	var r reference
	golden(t, "baselines", &r)
	cal, test := r.sets()
	m := PlattVector(1, nil)
	if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	t.Log(m.Result.Ended)
	nearProbs(t, predict(t, m, test), r.Expect.Platt.Probs, 1e-4)
}

func TestDirichletAgainstReference(t *testing.T) {
	var r reference
	golden(t, "baselines", &r)
	cal, test := r.sets()
	var m Dirichlet
	if err := m.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	t.Log(m.Result.Ended)
	if got := meanNLL(t, &m, cal); !(math.Abs(got-r.Expect.Dirichlet.NLL) <= 1e-7) {
		t.Errorf("NLL %.10f, the reference is %.10f", got, r.Expect.Dirichlet.NLL)
	}
	nearProbs(t, predict(t, &m, test), r.Expect.Dirichlet.Probs, 1e-4)
}

// TestProCalAgainstReference: the reference searched neighbours in float32, so near
// ties may differ; 1e-5 bounds what that moves a density. Its embedding is given.
func TestProCalAgainstReference(t *testing.T) {
	var r reference
	golden(t, "baselines", &r)
	cal, test := r.sets()
	sizes, err := sizesOf(cal, withFeatures)
	if err != nil {
		t.Fatal(err)
	}
	m, n := ProCal{Neighbours: r.Expect.ProCal.Neighbours}, sizes.Features
	given := &data.Embedding{
		Scale: &data.Standardizer{Mean: make([]float64, n), SD: ones(n)},
		Axes:  mat.NewDense(n, n, identity(n)), Variances: ones(n),
	}
	w := graph.NewWeights(tensor.Float64)
	addEmbedding(w, sizes)
	setEmbedding(w, given)
	if err := m.fitRows(t.Context(), cal, sizes, w); err != nil {
		t.Fatal(err)
	}
	nearProbs(t, predict(t, &m, test), r.Expect.ProCal.Probs, 1e-5)
}
