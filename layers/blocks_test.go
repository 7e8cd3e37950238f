package layers

import (
	"math"
	"testing"

	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// TestBlocksAreTheSquare: the covariance by blocks is that of square matrices, for codes that meet in many rows and in
// few, and with rows of several weights.
func TestBlocksAreTheSquare(t *testing.T) {
	short := optim.Settings{Epochs: 10}
	residual := Residual{Of: KMeans{Codewords: 12}}
	for name, c := range map[string]*Trained{
		"four slots": Train(&Divide{Slots: 4, Codebook: Codebook{Codewords: 5}, Optim: short}, Bilinear{}, short),
		"one slot":   Train(&Divide{Slots: 1, Codebook: KMeans{Codewords: 12}, Optim: short}, Bilinear{}, short),
		"residual":   Train(&Divide{Slots: 1, Codebook: residual, Optim: short}, Diagonal{}, short),
		"no region":  Train(&Divide{Slots: 2, Codebook: Codebook{Codewords: 5}, Optim: short}, Dirichlet{}, short),
	} {
		t.Run(name, func(t *testing.T) {
			cal, x := blobs(300, 1), blobs(40, 4)
			cal.Weights = make([]float64, cal.Len())
			for i := range cal.Weights {
				cal.Weights[i] = 1 + float64(i%3)
			}
			if err := c.Fit(t.Context(), cal, blobs(100, 2), newRand(3)); err != nil {
				t.Fatal(err)
			}
			want, err := c.Sandwich(t.Context(), cal, 1e-3)
			if err != nil {
				t.Fatal(err)
			}
			view, err := c.viewOf(cal)
			if err != nil {
				t.Fatal(err)
			}
			rows := Observe(view, cal, c.fitted())
			got := &Sandwich{m: c.Map, weights: c.weights.As(tensor.Float64), sizes: c.Base.Sizes(), ridge: 1e-3}
			scores, err := newScored(got, rows)
			if err != nil {
				t.Fatal(err)
			}
			if err := got.fillBlocks(t.Context(), scores, rows); err != nil {
				t.Fatal(err)
			}
			var apart mat.Dense
			apart.Sub(want.covariance, got.Covariance())
			// Of sums of 300 rows, rounded in another order, times a condition near 1e4.
			if d := mat.Norm(&apart, math.Inf(1)); !(d <= 1e-9*mat.Norm(want.covariance, math.Inf(1))) {
				t.Errorf("the covariance is %v away", d)
			}
			low, high, err := c.Intervals(t.Context(), want, x, .9)
			if err != nil {
				t.Fatal(err)
			}
			low2, high2, err := c.Intervals(t.Context(), got, x, .9)
			if err != nil {
				t.Fatal(err)
			}
			if !mat.EqualApprox(low, low2, 1e-9) || !mat.EqualApprox(high, high2, 1e-9) {
				t.Error("the intervals are others")
			}
		})
	}
}

// TestManyWeightsHaveIntervals: codewords that no row has change no interval, be there so many that blocks are kept,
// and their weights have the variance 1/λN of the penalty as a prior.
func TestManyWeightsHaveIntervals(t *testing.T) {
	c, rows := fittedBilinear(t)
	s := c.Base.Sizes()
	few, err := NewSandwich(t.Context(), Bilinear{}, c.weights, rows, s, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	s.Codewords = 1001
	w, err := Bilinear{}.Init(s, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range w.Names() {
		values := w.Float64s(name)
		copy(values, c.weights.Float64s(name))
		w.SetValues(name, values)
	}
	many, err := NewSandwich(t.Context(), Bilinear{}, w, rows, s, 1e-2)
	if err != nil {
		t.Fatal(err)
	}
	if many.blocks == nil {
		t.Fatal("matrices of the square of 6,009 weights are kept")
	}
	view, err := c.Base.View(blobs(20, 4))
	if err != nil {
		t.Fatal(err)
	}
	low, high, err := few.Intervals(t.Context(), view, .9)
	if err != nil {
		t.Fatal(err)
	}
	low2, high2, err := many.Intervals(t.Context(), view, .9)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(low, low2, 1e-9) || !mat.EqualApprox(high, high2, 1e-9) {
		t.Error("codewords that no row has move the intervals")
	}
	unit, last := mat.NewDense(1, w.Size(), nil), 1001*3-1 // a_k of the last codeword and class
	unit.Set(0, last, 1)
	if v := many.blocks.Times(unit).At(0, last); math.Abs(v-1/(1e-2*600)) > 1e-12 {
		t.Errorf("a weight that no row has has the variance %v", v)
	}
}
