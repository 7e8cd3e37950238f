package run_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// byOthers are the methods that predict a row with the help of other rows, and have no network.
var byOthers = map[string]bool{"kc": true, "kc-original": true, "pc": true}

// TestCompiledPredictsAlike: each method that has a network predicts by its Predictor as by Predict, one row or many,
// of many goroutines at once.
func TestCompiledPredictsAlike(t *testing.T) {
	const rows, m, c = 40, 8, 3
	rng := rand.New(rand.NewPCG(1, 1))
	world := synthetic.NewCubic(synthetic.Settings{Features: m, Classes: c}, rng)
	cal, _ := world.Draw(300, rng)
	test, _ := world.Draw(rows, rng)
	features, logits := mat.DenseCopyOf(test.Features), mat.DenseCopyOf(test.Logits)
	masked := mat.DenseCopyOf(logits)
	masked.Set(0, 1, math.Inf(-1)) // a class that cannot be
	for _, of := range method.All {
		t.Run(of.Name, func(t *testing.T) {
			model, _, err := of.Build(method.Options{Features: m, Values: quick(of)})
			if err == nil {
				err = model.Fit(t.Context(), cal, nil, rand.New(rand.NewPCG(2, 2)))
			}
			if err != nil {
				t.Fatal(err)
			}
			p, err := layers.Compile(model)
			if errors.Is(err, layers.ErrNoNetwork) {
				if !byOthers[of.Name] {
					t.Errorf("%v; give the calibrator a method ONNX, or add %q to byOthers in compile_test.go and to "+
						"refused in experiments/export/export_test.go", err, of.Name)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			said := logits
			if _, reads := p.Reads(); reads {
				said = masked
			}
			want, err := run.Predict(model, &data.Set{Features: features, Logits: said})
			if err != nil {
				t.Fatal(err)
			}
			state, err := model.State()
			if err != nil {
				t.Fatal(err)
			}
			tolerance := 1e-12
			if state.Weights.Dtype() == tensor.Float32 { // some part of Predict is of single precision
				tolerance = 1e-6
			}
			got := mat.NewDense(rows, c, nil)
			if err := p.Predict(got.RawMatrix().Data, features.RawMatrix().Data, said.RawMatrix().Data); err != nil {
				t.Fatal(err)
			}
			apart := 0.0
			for i := range rows {
				for k := range c {
					a, b := want.LogProbs.At(i, k), got.At(i, k)
					if math.IsInf(a, -1) && math.IsInf(b, -1) {
						continue
					}
					apart = max(apart, math.Abs(a-b)/max(1, math.Abs(a)))
				}
			}
			if !(apart <= tolerance) {
				t.Errorf("log-probabilities are %.2g apart", apart)
			}
			var group sync.WaitGroup
			for i := range rows {
				group.Go(func() {
					one := make([]float64, c)
					if err := p.Predict(one, features.RawRowView(i), said.RawRowView(i)); err != nil {
						t.Error(err)
					}
					for k, v := range one {
						if v != got.At(i, k) {
							t.Errorf("row %d by itself differs", i)
						}
					}
				})
			}
			group.Wait()
			one := make([]float64, c)
			if readsFeatures, _ := p.Reads(); readsFeatures && p.Predict(one, features.RawRowView(1)[1:], said.RawRowView(1)) == nil {
				t.Error("a row of too few features is predicted")
			}
			if n := testing.AllocsPerRun(20, func() { _ = p.Predict(one, features.RawRowView(1), said.RawRowView(1)) }); n > 10 {
				t.Errorf("a row takes %v allocations", n)
			}
		})
	}
}

// quick are settings by which a method trains shortly.
func quick(m method.Method) method.Values {
	v := method.Values{}
	for _, key := range []string{"divide.epochs", "calibrate.epochs", "optim.epochs"} {
		if m.Has(key, nil) {
			v[key] = "3"
		}
	}
	if m.Divides() {
		v["codebook.slots"], v["codebook.codewords"] = "4", "8"
	}
	return v
}

// BenchmarkCompiled predicts one row of 512 features and 10 classes.
func BenchmarkCompiled(b *testing.B) {
	const m, c = 512, 10
	rng := rand.New(rand.NewPCG(1, 1))
	cal, _ := synthetic.NewCubic(synthetic.Settings{Features: m, Classes: c}, rng).Draw(400, rng)
	x := &data.Set{Features: mat.DenseCopyOf(cal.Features), Logits: cal.Logits}
	for _, name := range []string{"ts", "sm", "vq", "corrected", "forest", "pool"} {
		b.Run(name, func(b *testing.B) {
			of, err := method.Find(name)
			if err != nil {
				b.Fatal(err)
			}
			model, _, err := of.Build(method.Options{Features: m})
			if err == nil {
				err = model.Fit(b.Context(), cal, nil, rand.New(rand.NewPCG(2, 2)))
			}
			if err != nil {
				b.Fatal(err)
			}
			p, err := layers.Compile(model)
			if err != nil {
				b.Fatal(err)
			}
			one, features, logits := make([]float64, c), data.Row(x.Features, 0, nil), x.Logits.RawRowView(0)
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Predict(one, features, logits); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
