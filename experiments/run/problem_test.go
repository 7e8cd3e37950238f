package run_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments/run"
	"calibra/experiments/source"
)

// TestNoRunChangesAPreparedProblem: whatever ran on it before, a run has the numbers that it
// has on one of its own.
func TestNoRunChangesAPreparedProblem(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 0))
	world := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng)
	p := &source.Problem{Source: &data.Source{Path: "cubic", Classes: 3}}
	p.Source.Cal, _ = world.Draw(300, rng)
	p.Source.Test, _ = world.Draw(200, rng)
	vq := run.Spec{Method: "vq", Set: "codebook.slots=4 codebook.codewords=8 divide.epochs=3 calibrate.epochs=3"}
	half, all, thin := vq, vq, vq
	half.Fraction, all.Split, thin.Shift = .5, data.NoValidation, source.ThinShift
	specs := []run.Spec{vq, half, all, thin, {Method: "ts", Split: data.NoValidation}, vq}
	prepare := func() *run.Prepared {
		prepared, err := run.Spec{Split: data.PaperText, Seed: 7}.Prepare(p)
		if err != nil {
			t.Fatal(err)
		}
		return prepared
	}
	shared := prepare()
	for _, spec := range specs {
		spec.Seed, spec.Judging = 7, run.Judging{Split: data.PaperText, Replicates: 40, Redraws: 3}
		if spec.Split == "" {
			spec.Split = data.PaperText
		}
		var losses [2][]float64
		for k, prepared := range []*run.Prepared{shared, prepare()} {
			run, err := spec.FitPrepared(t.Context(), prepared, nil)
			if err != nil {
				t.Fatal(err)
			}
			m := run.Outcome.Metrics
			losses[k] = append(slices.Clone(m.NLL), m.Values[0], m.Intervals[0].Low, m.Noise[0].Mean)
		}
		if !slices.Equal(losses[0], losses[1]) {
			t.Errorf("%+v has other numbers after other runs", spec)
		}
	}
}

// TestFraction: a part of the calibration rows is fitted on, the same rows are
// judged on.
func TestFraction(t *testing.T) {
	o, err := source.Registry(nil).Open("cubic", source.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Load(t.Context(), 1, "", "")
	if err != nil {
		t.Fatal(err)
	}
	spec := run.Spec{Method: "ts", Split: data.PaperTables, Seed: 1, Fraction: 0.1}
	prepared, err := spec.Prepare(p)
	if err != nil {
		t.Fatal(err)
	}
	run, err := spec.FitPrepared(t.Context(), prepared, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := run.Source.Cal.Len(); n != 500 {
		t.Errorf("a tenth of 5000 rows is %d", n)
	}
	if n := prepared.Source.Cal.Len(); n != 5000 || run.Source.Test.Len() != 10000 {
		t.Errorf("the prepared problem has %d calibration rows left, the run %d test rows", n, run.Source.Test.Len())
	}
}
