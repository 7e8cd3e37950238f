package experiments_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments"
	"calibra/layers"
	"calibra/layers/baselines"

	"gonum.org/v1/gonum/mat"
)

// TestOwnSpace: a learned similarity is measured in as it is, and not in its principal
// components; features of a method's own in theirs; other methods in the shared embedding.
func TestOwnSpace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	world := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng)
	src := &data.Source{Path: "cubic", Classes: 3}
	src.Cal, _ = world.Draw(300, rng)
	src.Val, _ = world.Draw(60, rng)
	src.Test, _ = world.Draw(200, rng)
	for _, method := range []string{"ln", "kc", "kc-original", "vq", "ts"} {
		spec := experiments.Spec{Method: method, Data: "cubic", Split: data.PaperText, Seed: 1}
		if method == "vq" {
			spec.Set = "codebook.slots=4 codebook.codewords=8"
		}
		run, err := spec.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		var want *mat.Dense
		switch m := run.Model.(type) {
		case *baselines.LocalNets:
			want, err = m.Similarity(src.Test)
		case *baselines.Kernel:
			want, err = m.Similarity(src.Test)
		case *baselines.KCal:
			want, err = m.Similarity(src.Test)
		case layers.Embedder:
			var cal, test mat.Matrix
			if cal, err = m.Embed(run.Source.Cal); err != nil {
				t.Fatal(err)
			}
			if test, err = m.Embed(src.Test); err != nil {
				t.Fatal(err)
			}
			var e *data.Embedding
			if e, err = data.FitEmbedding(cal, 0); err == nil {
				want = e.Apply(test)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if u, ok := run.Model.(interface {
			Usage(*data.Set) ([]int, error)
		}); ok { // as a pass of its own counts it
			if usage, err := u.Usage(src.Test); err != nil || !slices.Equal(usage, run.Usage) {
				t.Errorf("%s: the test slots are assigned %v times, not %v (%v)", method, run.Usage, usage, err)
			}
		}
		own := run.Outcome.Own
		switch {
		case want == nil && own != nil, want != nil && own == nil:
			t.Errorf("%s: measured in %v, want %v", method, own, want)
		case want != nil && !mat.Equal(own, want):
			t.Errorf("%s is measured in another space than its own", method)
		}
	}
}
