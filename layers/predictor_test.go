package layers

import (
	"math"
	"sync"
	"testing"

	"calibra/data"
	"calibra/optim"
)

func compiled(t testing.TB, m Map) (*Trained, *Predictor) {
	t.Helper()
	short := optim.Settings{Epochs: 3}
	c := Train(&Divide{Slots: 4, Codebook: Codebook{Codewords: 8}, Optim: short}, m, short)
	if err := c.Fit(t.Context(), blobs(400, 1), blobs(100, 2), newRand(3)); err != nil {
		t.Fatal(err)
	}
	p, err := c.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// TestPredictorEqualsTheGraph in batches that do and do not fill the predictor's,
// and row by row, from several goroutines.
func TestPredictorEqualsTheGraph(t *testing.T) {
	for _, m := range []Map{Bilinear{}, Bilinear{Scale: LearnedScale{}}, Bilinear{Prior: CountPrior{}}} {
		c, p := compiled(t, m)
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
	if n := testing.AllocsPerRun(100, func() { p.Predict(dst, x) }); n != 0 && !poolsAllocate {
		t.Errorf("a prediction allocates %v times", n)
	}
}

func TestOnlyTheBilinearMapCompiles(t *testing.T) {
	if _, err := Train(&Original{}, Identity{}, optim.Settings{}).Compile(); err == nil {
		t.Error("the identity compiles")
	}
}
