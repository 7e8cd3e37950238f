package run_test

import (
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments/method"
	"calibra/experiments/run"
)

// TestControls: what is taken away is gone. With shuffled rows or one codeword no region
// can be told from another, and a row alone is predicted as it is among others.
func TestControls(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	world := synthetic.NewRare(synthetic.Settings{Features: 8, Classes: 3}, rng)
	src := &data.Source{Path: "rare", Classes: 3}
	const rows = 300
	src.Cal, _ = world.Draw(rows, rng)
	src.Val, _ = world.Draw(rows/3, rng)
	src.Test, _ = world.Draw(rows, rng)
	for _, m := range method.All {
		if m.Group != method.Control {
			continue
		}
		spec := run.Spec{Method: m.Name, Data: "rare", Split: data.PaperText, Seed: 1}
		if m.Divides() {
			spec.Set = "codebook.slots=4 codebook.codewords=8"
		}
		run, err := spec.Fit(t.Context(), src, nil)
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		again, err := run.Model.Predict(src.Test)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range run.Outcome.Predictions.LogProbs.RawMatrix().Data {
			if row != again.LogProbs.RawMatrix().Data[i] {
				t.Fatalf("%s predicts the same rows in two ways", m.Name)
			}
		}
		if used := run.Usage; m.Name == "vq-one" && (len(used) != 1 || used[0] != 4*rows) {
			t.Errorf("%s uses the codewords %v", m.Name, used)
		}
	}
}
