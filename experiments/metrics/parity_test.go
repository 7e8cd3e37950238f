package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMetricsParity holds metrics to those of the libraries in peers.json of
// layers/baselines, which peers.py makes, and PARITY.md there to what is held.
func TestMetricsParity(t *testing.T) {
	folder := filepath.Join("..", "..", "layers", "baselines")
	raw, err := os.ReadFile(filepath.Join(folder, "testdata", "peers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var peers struct {
		Versions map[string]string
		Logits   [][]float64 `json:"test_logits"`
		Labels   []int       `json:"test_labels"`
		Values   map[string]float64
	}
	if err := json.Unmarshal(raw, &peers); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile(filepath.Join(folder, "PARITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	logProbs := dense(peers.Logits)
	for i := range peers.Logits {
		row := logProbs.RawRowView(i)
		sum := 0.0
		for _, v := range row {
			sum += math.Exp(v)
		}
		for k := range row {
			row[k] -= math.Log(sum)
		}
	}
	r, err := Evaluate(context.Background(), logProbs, peers.Labels, nil, Settings{}, Uncertainty{Replicates: None, Redraws: None}, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	top, _, err := Reliability(logProbs, peers.Labels, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var largest, squared float64 // gaps of the top class
	for b, n := range top.Count {
		if n > 0 {
			gap := math.Abs(top.Confidence[b] - top.Frequency[b])
			largest = max(largest, gap)
			squared += gap * gap * float64(n) / float64(len(peers.Labels))
		}
	}
	for _, c := range []struct {
		key, library, what string
		ours               string // its key in evaluate's JSON
		value              float64
		within             float64
		why                string // what differs where within is above 1e-6
	}{
		{"sklearn/nll", "scikit-learn", "log_loss", "nll", r.Values[NLL], 1e-6, ""},
		{"sklearn/brier", "scikit-learn", "Brier score, summed over the classes", "brier", r.Values[Brier], 1e-6, ""},
		{"probmetrics/logloss", "probmetrics", "logloss", "nll", r.Values[NLL], 1e-6, ""},
		{"probmetrics/brier", "probmetrics", "brier", "brier", r.Values[Brier], 1e-6, ""},
		{"probmetrics/ece-15", "probmetrics", "ece-15", "ece_top", r.Values[TopECE], 1e-6, ""},
		{"probmetrics/mce-15", "probmetrics", "mce-15", "reliability, its largest gap", largest, 1e-6, ""},
		{"probmetrics/rmsce-15", "probmetrics", "rmsce-15", "reliability, the root of its mean square gap", math.Sqrt(squared), 1e-6, ""},
		{"probmetrics/smece", "probmetrics", "smece", "smece_top", r.SmoothECE, 1e-6, ""},
		{"relplot/smece", "relplot", "smECE", "smece_top", r.SmoothECE, 1e-6, ""},
		{"netcal/ece", "netcal", "ECE(15)", "ece_top", r.Values[TopECE], 1e-6, ""},
		{"netcal/classwise-ece", "netcal", "ECE(15) of each class, averaged", "ece", r.Values[ECE], 1e-6, ""},
		{"torchmetrics/ece", "torchmetrics", "multiclass_calibration_error", "ece_top", r.Values[TopECE], 1e-6, ""},
		{"torch-uncertainty/ece", "torch-uncertainty", "CalibrationError", "ece_top", r.Values[TopECE], 1e-6, ""},
		{"torch-uncertainty/brier", "torch-uncertainty", "BrierScore", "brier", r.Values[Brier], 1e-6, ""},
		{"torch-uncertainty/nll", "torch-uncertainty", "CategoricalNLL", "nll", r.Values[NLL], 1e-6, ""},
	} {
		want, ok := peers.Values[c.key]
		apart := math.Abs(c.value - want)
		t.Logf("%-24s %.1e", c.key, apart)
		if !ok || !(apart <= c.within) {
			t.Errorf("%s: %v here, %v there", c.key, c.value, want)
		}
		line := fmt.Sprintf("| %s %s | %s | `%s` | %.0e | %s |", c.library, peers.Versions[c.library], c.what, c.ours, c.within, c.why)
		if !strings.Contains(string(table), line+"\n") {
			t.Errorf("PARITY.md lacks the line\n%s", line)
		}
	}
}
