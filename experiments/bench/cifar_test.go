package bench_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/bench"
	"calibra/experiments/metrics"
)

// TestCardOnCIFAR fits and measures the paper's calibrator on shared/data, or in the folder
// that CALIBRA_SHARED names, on the CPU and on a card: all metrics within 1e-4.
func TestCardOnCIFAR(t *testing.T) {
	card := bench.OnCard(t)
	shared := os.Getenv("CALIBRA_SHARED")
	if shared == "" {
		shared = filepath.Join("..", "..", "..", "shared")
	}
	src, err := data.Open(filepath.Join(shared, "data", "cifar10-resnet.npz"))
	if err != nil {
		t.Skipf("the CIFAR-10 features are not there: %v", err)
	}
	fit := func(e experiments.Executor) metrics.Values {
		run, err := experiments.Spec{Executor: e, Method: "vq", Split: data.PaperText, Seed: 42}.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run.Outcome.Metrics.Values
	}
	want, got := fit(nil), fit(card)
	for m, v := range want {
		t.Logf("%v: %.6f on the CPU, %.6f on the card", metrics.Metric(m), v, got[m])
		if m := metrics.Metric(m); (m == metrics.NLL || m == metrics.LCE) && !(math.Abs(v-got[m]) <= 1e-4) {
			t.Errorf("%v is %.6f on the card, %.6f on the CPU", m, got[m], v)
		}
	}
}
