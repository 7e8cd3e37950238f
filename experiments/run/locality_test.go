package run_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/source"

	"gonum.org/v1/gonum/floats"
)

// TestLocality: at the usual bandwidth the error and its floor are those of the run, and deciles by the codes are of
// all pairs of a row and a class that it is the mean of; a method without codes has none.
func TestLocality(t *testing.T) {
	for _, method := range []string{"vq", "ts"} {
		judging := run.Judging{Redraws: 4, Locality: true}
		spec := run.Spec{Method: method, Data: "cubic", Split: data.PaperText, Seed: 1, Judging: judging}
		if method == "vq" {
			spec.Set = "codebook.slots=4 codebook.codewords=8"
		}
		src, rng := cubic(), rand.New(rand.NewPCG(2, 0))
		src.Test, _ = synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng).Draw(1000, rng)
		prepared, err := spec.Prepare(&source.Problem{Source: src})
		if err != nil {
			t.Fatal(err)
		}
		fitted, err := spec.FitPrepared(t.Context(), prepared, nil)
		if err != nil {
			t.Fatal(err)
		}
		l, measured := fitted.Outcome.Locality, fitted.Outcome.Metrics
		for k, bandwidth := range run.Bandwidths {
			same := l.LCE[k] == measured.Values[metrics.LCE] && l.Noise[k] == measured.Noise[metrics.LCE].Mean
			if same != (bandwidth == 10) {
				t.Errorf("%s: at γ = %g LCE is %v, of the run %v", method, bandwidth, l.LCE[k], measured.Values[metrics.LCE])
			}
		}
		if (l.Entropy != nil) != (method == "vq") {
			t.Fatalf("%s is measured along codes: %v", method, l.Entropy != nil)
		}
		for _, p := range []*metrics.Profile{l.Entropy, l.Distance} {
			if p == nil {
				continue
			}
			var sum, floor, n float64
			for b, count := range p.Count {
				sum, floor, n = sum+float64(count)*p.LCE[b], floor+float64(count)*p.Floor[b], n+float64(count)
			}
			local, want := measured.Local.Residual.RawMatrix().Data, 0.0
			for _, r := range local {
				if !math.IsNaN(r) {
					want += math.Abs(r)
				}
			}
			pairs := float64(len(local) - floats.Count(math.IsNaN, local))
			if n != pairs || math.Abs(sum-want) > 1e-9 || floor == 0 { // rounding errors of thousands of sums
				t.Errorf("the bins hold %g pairs whose errors sum to %v, not %g and %v", n, sum, pairs, want)
			}
		}
	}
}
