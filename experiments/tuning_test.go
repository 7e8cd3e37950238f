package experiments_test

import (
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments"
)

// TestCandidates: every candidate is a setting that its method has, none has more than the
// budget.
func TestCandidates(t *testing.T) {
	for _, m := range experiments.Methods {
		all := m.Candidates
		if len(all) > experiments.Budget {
			t.Errorf("%s has %d candidates, more than the budget of %d", m.Name, len(all), experiments.Budget)
		}
		for _, values := range all {
			if _, _, err := m.Build(experiments.Options{Values: values}); err != nil {
				t.Errorf("%s with %v: %v", m.Name, values, err)
			}
		}
	}
}

// TestTune: a tuned run fits the settings that it says, repeats, never sees a test row, and
// chooses other than its defaults where these are plainly not the best.
func TestTune(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	world := synthetic.NewCubic(synthetic.Settings{Features: 16, Classes: 3}, rng)
	src := &data.Source{Path: "cubic", Classes: 3}
	src.Cal, _ = world.Draw(1000, rng)
	src.Val, _ = world.Draw(200, rng)
	src.Test, _ = world.Draw(1000, rng)
	fit := func(spec experiments.Spec, src *data.Source) *experiments.Run {
		t.Helper()
		spec.Data, spec.Split, spec.Seed = "cubic", data.PaperText, 1
		run, err := spec.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	for _, method := range []string{"sm", "histogram", "ts"} {
		tuned := fit(experiments.Spec{Method: method, Tune: true}, src)
		same := fit(experiments.Spec{Method: method, Set: tuned.Spec.Set}, src)
		if a, b := tuned.Outcome.Metrics.Values, same.Outcome.Metrics.Values; a != b {
			t.Errorf("%s chose %q and fits %v, these settings fit %v", method, tuned.Spec.Set, a, b)
		}
		other := *src
		other.Test, _ = world.Draw(500, rng)
		if again := fit(experiments.Spec{Method: method, Tune: true}, &other); again.Spec.Set != tuned.Spec.Set {
			t.Errorf("%s chose %q, with other test rows %q", method, tuned.Spec.Set, again.Spec.Set)
		}
	}
	// Fifteen bins on 1,000 rows of 3 classes are not the best of the four.
	if set := fit(experiments.Spec{Method: "histogram", Tune: true}, src).Spec.Set; set == "" {
		t.Error("histogram binning chose nothing")
	}
}

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
	for _, m := range experiments.Methods {
		if m.Group != experiments.Control {
			continue
		}
		spec := experiments.Spec{Method: m.Name, Data: "rare", Split: data.PaperText, Seed: 1}
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
