package run_test

import (
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/experiments/run"

	"gonum.org/v1/gonum/mat"
)

// TestNoneKeepsAStart: where no epoch on nine tenths of the rows is better than the start, the
// fit to all rows keeps its start too.
func TestNoneKeepsAStart(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	sample := func(n int) *data.Set { // labels that the features say nothing of
		s := &data.Set{Features: mat.NewDense(n, 8, nil), Labels: make([]int, n)}
		for i := range n {
			s.Labels[i] = rng.IntN(3)
			for j := range 8 {
				s.Features.(*mat.Dense).Set(i, j, rng.NormFloat64())
			}
		}
		return s
	}
	src := &data.Source{Path: "noise", Classes: 3, Cal: sample(300), Test: sample(50)}
	for _, method := range []string{"vq-start", "vq-centred"} {
		spec := run.Spec{Method: method, Split: data.NoValidation, Seed: 1, Set: "divide.epochs=2 calibrate.rate=1000 calibrate.patience=2 codebook.slots=4 codebook.codewords=4"}
		run, err := spec.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		seen := false
		for _, s := range run.Stages {
			if s.Name == "calibrate" {
				seen = true
				if s.Result.Epochs != 0 {
					t.Errorf("%s: %s after %d epochs, though the start is the best", method, s.Result.Ended, s.Result.Epochs)
				}
			}
		}
		if !seen {
			t.Errorf("%s has no stage calibrate", method)
		}
	}
}
