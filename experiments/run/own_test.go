package run_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/layers"
	"calibra/layers/baselines"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
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
		spec := run.Spec{Method: method, Data: "cubic", Split: data.PaperText, Seed: 1}
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
		if e, ok := run.Model.(layers.Embedder); ok { // as a pass of its own counts it
			embedded, err := e.Embed(src.Test)
			if err != nil {
				t.Fatal(err)
			}
			if q, ok := embedded.(*layers.Quantized); ok && !slices.Equal(q.Usage(), run.Usage) {
				t.Errorf("%s: the test slots are assigned %v times, not %v", method, run.Usage, q.Usage())
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

// sized are codes whose state has the shape that they were made with, whatever a model's sizes say.
type sized struct{ layers.Fixed }

func (c sized) State(s layers.Sizes) map[string]tensor.Shape {
	s.Codewords = c.Codewords
	return c.Fixed.State(s)
}

// cubic are calibration and test rows of a made problem.
func cubic() *data.Source {
	rng := rand.New(rand.NewPCG(1, 0))
	world := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng)
	src := &data.Source{Path: "cubic", Classes: 3}
	src.Cal, _ = world.Draw(300, rng)
	src.Test, _ = world.Draw(50, rng)
	return src
}

// TestModelIsSavedWithWhatItWasBuiltWith: codes that read their number of codewords at New are built with it again.
func TestModelIsSavedWithWhatItWasBuiltWith(t *testing.T) {
	own := method.Method{
		Name: "own", Needs: []string{"features"}, StopsEarly: true,
		New: func(o *method.Options) layers.Stateful {
			divide := o.Divide()
			divide.Codebook = sized{layers.Fixed{Codewords: o.Int("codebook.codewords", 64, 1, "", "codewords")}}
			return layers.Train(divide, layers.Bilinear{}, o.Stage("calibrate", method.Training{Batch: 128}))
		},
	}
	catalog := method.NewCatalog(own)
	src := cubic()
	spec := run.Spec{Method: "own", Data: "cubic", Split: data.PaperText, Seed: 1, Set: "codebook.codewords=5 divide.epochs=2 calibrate.epochs=2", Catalog: catalog}
	run, err := spec.Fit(t.Context(), src, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := run.Write(dir); err != nil {
		t.Fatal(err)
	}
	model, _, err := catalog.Load(filepath.Join(dir, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := model.Predict(src.Test)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(again.LogProbs, run.Outcome.Predictions.LogProbs) {
		t.Error("the loaded model predicts otherwise")
	}
}

// TestCodesThatDivideNothingAreTold: of two codewords one is at a row that is far from all others.
func TestCodesThatDivideNothingAreTold(t *testing.T) {
	src := cubic()
	far := data.Dense(src.Cal.Features)
	spec := run.Spec{Method: "vq", Data: "cubic", Split: data.NoValidation, Set: "codebook.kind=kmeans codebook.codewords=2 codebook.slots=1 divide.epochs=1 calibrate.epochs=1"}
	for _, apart := range []float64{0, 1e4} {
		far.Set(0, 0, far.At(0, 0)+apart)
		src.Cal.Features = far
		run, err := spec.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if told := run.Undivided(); (told != "") != (apart > 0) {
			t.Errorf("with a row %g away, codewords that are used %v times are told as %q", apart, run.Usage, told)
		}
	}
}

// TestOptimizerOfOnesOwn: a method over all rows from outside trains what L-BFGS trains, by its own settings, and
// leaves stage 1 its steps.
func TestOptimizerOfOnesOwn(t *testing.T) {
	calls := 0
	own := method.Rule{Name: "own", Whole: func(s *method.RuleSettings) optim.Method {
		return counted{optim.LBFGS{Gradient: s.Float("closeness", 1e-6, method.Positive, "gradient to stop at"), Iterations: 2000}, &calls}
	}}
	catalog := method.NewCatalog(own)
	rng := rand.New(rand.NewPCG(1, 0))
	cal, _ := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng).Draw(200, rng)
	for name, set := range map[string]method.Values{
		"vector": {"optim.rule": "own", "optim.closeness": "1e-6"},
		"vq":     {"optim.rule": "own", "codebook.slots": "4", "codebook.codewords": "5", "divide.epochs": "2"},
	} {
		fitted := func(set method.Values) *mat.Dense {
			m, err := catalog.Find(name)
			if err != nil {
				t.Fatal(err)
			}
			c, _, err := m.Build(method.Options{Catalog: catalog, Values: set, Features: 8})
			if err == nil {
				err = c.Fit(t.Context(), cal, nil, rand.New(rand.NewPCG(2, 0)))
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			p, err := c.Predict(cal)
			if err != nil {
				t.Fatal(err)
			}
			return p.LogProbs
		}
		calls = 0
		byOwn := fitted(set)
		other := set.With(method.Values{"optim.rule": "lbfgs", "optim.gradient": "1e-6"})
		delete(other, "optim.closeness")
		if byLBFGS := fitted(other); !mat.EqualApprox(byOwn, byLBFGS, 1e-12) || calls != 1 { // the same steps
			t.Errorf("%s by the same method under another name differs, or it was called %d times", name, calls)
		}
	}
}

// counted counts how often a method minimizes.
type counted struct {
	optim.Method
	calls *int
}

func (c counted) Minimize(ctx context.Context, p optim.Problem, rng *rand.Rand) (optim.Result, error) {
	*c.calls++
	return c.Method.Minimize(ctx, p, rng)
}
