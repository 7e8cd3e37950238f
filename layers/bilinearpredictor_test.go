package layers

import (
	"errors"
	"math"
	"sync"
	"testing"

	"calibra/data"
	"calibra/graph/work/worktest"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

func compiled(t testing.TB, m Map) (*Trained, *BilinearPredictor) {
	t.Helper()
	short := optim.Settings{Epochs: 3}
	c := Train(&Divide{Slots: 4, Codebook: Codebook{Codewords: 8}, Optim: short}, m, short)
	if err := c.Fit(t.Context(), blobs(400, 1), blobs(100, 2), newRand(3)); err != nil {
		t.Fatal(err)
	}
	p, err := c.CompileBilinear()
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// TestPredictorEqualsTheGraph in batches that do and do not fill the predictor's,
// and row by row, from several goroutines.
func TestPredictorEqualsTheGraph(t *testing.T) {
	floor := .2
	for _, m := range []Map{Bilinear{}, Bilinear{Scale: LearnedScale{}}, Bilinear{Prior: CountPrior{}}} {
		c, p := compiled(t, m)
		if m == (Bilinear{Prior: CountPrior{}}) {
			c.Base.(*Divide).Floor = &floor
			var err error
			if p, err = c.CompileBilinear(); err != nil {
				t.Fatal(err)
			}
			if v, err := c.Base.View(blobs(9, 4)); err != nil || mat.Min(v.LogProbs) != math.Log(.2) {
				t.Errorf("probabilities clamped at .2 are as small as %v (%v)", math.Exp(mat.Min(v.LogProbs)), err)
			}
		}
		x := blobs(predictorBatch+77, 4)
		want, err := c.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		features := make([]float32, x.Len()*8)
		for i, v := range data.Dense(x.Features).RawMatrix().Data {
			features[i] = float32(v)
		}
		check := func(got []float32) {
			for i, v := range want.LogProbs.RawMatrix().Data {
				if d := math.Abs(float64(got[i]) - v); !(d <= 1e-5*math.Max(1, math.Abs(v))) {
					t.Errorf("%+v: log p[%d] = %v, the graph says %v", m, i, got[i], v)
					return
				}
			}
		}
		got := make([]float32, x.Len()*3)
		p.Predict(got, features)
		check(got)
		var wait sync.WaitGroup
		clear(got)
		for i := range x.Len() {
			wait.Go(func() { p.Predict(got[i*3:(i+1)*3], features[i*8:(i+1)*8]) })
		}
		wait.Wait()
		check(got)
	}
}

func TestPredictorDoesNotAllocate(t *testing.T) {
	_, p := compiled(t, Bilinear{})
	x := make([]float32, 50*8)
	dst := make([]float32, 50*3)
	if n := testing.AllocsPerRun(100, func() { p.Predict(dst, x) }); n != 0 && !worktest.PoolsAllocate {
		t.Errorf("a prediction allocates %v times", n)
	}
}

// TestCompileRefuses what its tables would predict otherwise.
func TestCompileRefuses(t *testing.T) {
	short := optim.Settings{Epochs: 2}
	fit := func(base Base, m Map) error {
		c := Train(base, m, short)
		if err := c.Fit(t.Context(), blobs(400, 1), blobs(100, 2), newRand(3)); err != nil {
			t.Fatal(err)
		}
		_, err := c.CompileBilinear()
		return err
	}
	divide := func(c Codes) *Divide { return &Divide{Slots: 4, Codebook: c, Optim: short} }
	for name, err := range map[string]error{
		"the identity":          fit(&Original{}, Identity{}),
		"another map":           fit(divide(nil), Tied{}),
		"standardized features": fit(divide(Scaled{Codebook{Codewords: 8}}), Bilinear{}),
		"the l1 distance":       fit(divide(Cityblock{Codebook{Codewords: 8}}), Bilinear{}),
		"random indices":        fit(divide(Indices{Codewords: 8}), Bilinear{}),
		"soft codes":            fit(divide(Soft{Of: Fixed{Codewords: 8}}), Bilinear{}),
		"a prior of regions":    fit(divide(nil), Bilinear{Prior: CodewordPrior{}}),
	} {
		if err == nil {
			t.Errorf("%s compiles", name)
		}
	}
	if _, err := Train(&Divide{}, Bilinear{}, short).CompileBilinear(); !errors.Is(err, ErrUnfitted) {
		t.Errorf("before the fit: %v", err)
	}
}
