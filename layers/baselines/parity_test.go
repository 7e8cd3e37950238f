package baselines

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers"
	"calibra/optim"
)

// peers is testdata/peers.json, which peers.py makes with the libraries whose versions it
// holds.
type peers struct {
	Versions      map[string]string
	CalLogits     [][]float64            `json:"cal_logits"`
	CalLabels     []int                  `json:"cal_labels"`
	TestLogits    [][]float64            `json:"test_logits"`
	Probabilities map[string][][]float64 // of the test rows
}

func readPeers(t *testing.T) peers {
	t.Helper()
	raw, err := os.ReadFile("testdata/peers.json")
	if err != nil {
		t.Fatal(err)
	}
	var p peers
	if err := json.Unmarshal(raw, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// parity is a method here, the library that has it too, and how far their probabilities
// are apart at most.
type parity struct {
	key    string
	method layers.Stateful
	within float64
	why    string // what differs where within is above 1e-6
}

// equalWidth is histogram binning in netcal's 15 bins, of equal width and not of equal size.
type equalWidth struct{ Classwise }

func (m *equalWidth) Fit(_ context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	sizes, l, err := logProbsToFit(cal)
	if err != nil {
		return err
	}
	p := exponentials(l)
	m.sizes, m.classes = sizes, make([]steps, sizes.Classes)
	for k := range m.classes {
		rows, hits := make([]float64, 15), make([]float64, 15)
		for i, hit := range indicator(cal, k) {
			b := min(int(15*p.At(i, k)), 14)
			rows[b]++
			hits[b] += hit
		}
		for b := range rows {
			m.classes[k].x = append(m.classes[k].x, float64(b+1)/15)
			m.classes[k].y = append(m.classes[k].y, hits[b]/rows[b])
		}
	}
	return nil
}

func parities() []parity {
	exact := optim.LBFGS{Gradient: 1e-9}
	return []parity{
		{"sklearn/isotonic", Isotonic(), 1e-6, ""},
		{"sklearn/platt", PlattVector(1, exact), 1e-6, ""},
		{"sklearn/sigmoid", Platt(exact), 1e-6, ""},
		{"betacal/beta converged", Beta(exact), 1e-6, ""},
		{"betacal/beta", Beta(exact), 1e-3, "its logistic regression stops at scikit-learn's default tolerance"},
		{"probmetrics/ts", &layers.Temperature{}, 1e-6, ""},
		{"probmetrics/ets", &EnsembleTemperature{}, 1e-6, ""},
		{"probmetrics/spline", Spline(0), 1e-6, ""},
		{"probmetrics/venn-abers", &VennAbers{}, 1e-6, ""},
		{"probmetrics/sms", Structured(optim.Newton{Gradient: exact.Gradient}, 0), 1e-3, "its BFGS computes in float32 and stops early; ours is at the optimum, which structured_test.go finds by Newton's method"},
		{"probmetrics/svs", StructuredVector(exact, 0), 1e-3, "its BFGS computes in float32 and stops early"},
		{"probmetrics/vector", Vector(exact, 0), 1e-3, "its BFGS computes in float32 and stops early"},
		{"netcal/ts", &layers.Temperature{}, 1e-5, "its optimizer computes in float32"},
		{"netcal/histogram", &equalWidth{*Histogram(0)}, 1e-6, ""},
		{"dirichletcal/dirichlet", &Dirichlet{Method: exact}, 1e-4, "its iterations stop before the optimum"},
		{"dirichletcal/dirichlet-odir", &DirichletODIR{Grid: []float64{0.1}, Optim: optim.Newton{Gradient: 1e-9}}, 1e-5, "its iterations stop before the optimum"},
	}
}

// TestParityWithPeers holds each method to another library's, on the rows of peers.json.
func TestParityWithPeers(t *testing.T) {
	p := readPeers(t)
	table, err := os.ReadFile("PARITY.md")
	if err != nil {
		t.Fatal(err)
	}
	cal := &data.Set{Logits: matrix(p.CalLogits), Labels: p.CalLabels, Scores: data.Probabilities} // as the libraries are given them
	test := &data.Set{Logits: matrix(p.TestLogits)}
	for _, c := range parities() {
		want := p.Probabilities[c.key]
		if len(want) != test.Len() {
			t.Errorf("%s: peers.json has %d rows of %d", c.key, len(want), test.Len())
			continue
		}
		if err := c.method.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		got, err := c.method.Predict(test)
		if err != nil {
			t.Errorf("%s: %v", c.key, err)
			continue
		}
		var apart float64
		for i, row := range want {
			for k, v := range row {
				apart = max(apart, math.Abs(math.Exp(got.LogProbs.At(i, k))-v))
			}
		}
		t.Logf("%-28s %.1e %s", c.key, apart, c.why)
		if !(apart <= c.within) {
			t.Errorf("%s: probabilities are %.2g apart, more than %.2g", c.key, apart, c.within)
		}
		library, name, _ := strings.Cut(c.key, "/")
		if library == "sklearn" {
			library = "scikit-learn"
		}
		line := fmt.Sprintf("| %s %s | %s | %.0e | %s |", library, p.Versions[library], name, c.within, c.why)
		if !strings.Contains(string(table), line+"\n") {
			t.Errorf("PARITY.md lacks the line\n%s", line)
		}
	}
}
