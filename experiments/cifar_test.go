package experiments_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
)

// TestPaperCalibratorOnCIFAR holds the mean over seeds 42–44 to the reference runs
// of shared/golden/cifar10-resnet.json: NLL within 1.5 %, accuracy within 0.5
// points, LCE in the shared embedding within 20 % (seeds alone move it by 10 %).
func TestPaperCalibratorOnCIFAR(t *testing.T) {
	if testing.Short() {
		t.Skip("three fits of 10,000 rows take half a minute")
	}
	shared := filepath.Join("..", "..", "shared")
	src, err := data.Open(filepath.Join(shared, "data", "cifar10-resnet.npz"))
	if err != nil {
		t.Skipf("the CIFAR-10 features are not beside the repository: %v", err)
	}
	raw, err := os.ReadFile(filepath.Join(shared, "golden", "cifar10-resnet.json"))
	if err != nil {
		t.Skipf("the reference runs are not beside the repository: %v", err)
	}
	var golden struct {
		Paper map[string]map[string]struct{ Mean float64 } `json:"split_paper"`
	}
	if err := json.Unmarshal(raw, &golden); err != nil {
		t.Fatal(err)
	}
	want := golden.Paper["VQ/shared"]

	var mean metrics.Values
	for seed := uint64(42); seed <= 44; seed++ {
		run, err := experiments.Spec{Method: "vq", Split: data.PaperText, Seed: seed}.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		for m, v := range run.Outcome.Metrics.Values {
			mean[m] += v / 3
		}
	}
	for _, c := range []struct {
		metric    metrics.Metric
		key       string
		tolerance float64
	}{
		{metrics.NLL, "nll", 0.015 * want["nll"].Mean},
		{metrics.Accuracy, "acc", 0.005},
		{metrics.LCE, "lce", 0.20 * want["lce"].Mean},
	} {
		got := mean[c.metric]
		t.Logf("%v %.5f, reference %.5f", c.metric, got, want[c.key].Mean)
		if d := math.Abs(got - want[c.key].Mean); !(d <= c.tolerance) {
			t.Errorf("%v is %.5f, the reference runs have %.5f ± %.5f", c.metric, got, want[c.key].Mean, c.tolerance)
		}
	}
}
