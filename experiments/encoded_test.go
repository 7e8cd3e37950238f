package experiments_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/graph/blas"
)

// TestAlikeByEveryBLAS: the quickstart's way from raw rows to metrics, on a sixteenth
// of them, ends within 1e-4 of itself whoever multiplies the matrices. An encoder trained
// in float32 would part the two by a hundred times that.
func TestAlikeByEveryBLAS(t *testing.T) {
	own := blas.Describe().Name
	if testing.Short() || own == "gonum" {
		t.Skip("needs a while, and a BLAS to compare gonum with; this machine has " + own)
	}
	defer blas.Select(own)
	letters := data.Letter()
	rows := data.Stratify(letters.Labels, []float64{1. / 32, 31. / 32}, rand.New(rand.NewPCG(0, 0)))[0]
	some := letters.Set().Rows(rows)
	letters.Features, letters.Labels = data.Dense(some.Features), some.Labels
	spec := experiments.Spec{Method: "vq", Data: "letter", Split: data.PaperText, Set: "codebook.slots=32 codebook.codewords=64"}
	measured := func(by string) metrics.Values {
		if err := blas.Select(by); err != nil {
			t.Fatal(err)
		}
		problem, err := experiments.EncodeTable(t.Context(), letters, experiments.MLPs[0], 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		run, err := spec.Fit(t.Context(), problem.Source, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run.Outcome.Metrics.Values
	}
	want, got := measured(own), measured("gonum")
	for m, v := range got {
		if d := math.Abs(v - want[m]); !(d <= 1e-4) {
			t.Errorf("%v is %.6f by gonum, %.6f by %s", metrics.Metric(m), v, want[m], own)
		}
	}
}
