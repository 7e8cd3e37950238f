package experiments_test

import (
	"math"
	"testing"

	"calibra/data"
	"calibra/experiments"
)

// TestPaperCalibratorOnCIFAR holds seeds 42–44 of the paper's calibrator, split paper, to
// the published code on the same features: NLL, accuracy and LCE in the shared embedding
// within two joint standard errors.
func TestPaperCalibratorOnCIFAR(t *testing.T) {
	if testing.Short() {
		t.Skip("three fits of 10,000 rows take half a minute")
	}
	src, want := cifarFeatures(t), readPublished(t, "split_paper")["VQ/shared"]
	values := map[string][]float64{}
	for seed := uint64(42); seed <= 44; seed++ {
		run, err := experiments.Spec{Method: "vq", Split: data.PaperText, Seed: seed}.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range held {
			values[h.key] = append(values[h.key], run.Outcome.Metrics.Values[h.metric])
		}
	}
	for _, h := range held {
		mean, errors := standardErrors(values[h.key], want[h.key])
		t.Logf("%v %.5f, published %.5f: %+.1f joint standard errors", h.metric, mean, want[h.key].Mean, errors)
		if math.Abs(errors) > 2 {
			t.Errorf("%v is %.5f, the published code has %.5f: %+.1f joint standard errors", h.metric, mean, want[h.key].Mean, errors)
		}
	}
}
