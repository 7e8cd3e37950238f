package layers

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Intervals that count the head's error hold the prediction, and are those of the same rows
// whether these are listed or counted; without an error of the head's they would be those of
// the map alone, and with it they are wider for most posteriors.
func TestTwoStageIntervals(t *testing.T) {
	c, rows := fittedBilinear(t)
	cal, x := blobs(600, 1), blobs(50, 4)
	alone, err := c.Sandwich(t.Context(), cal, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	both, err := c.TwoStage(t.Context(), cal, 1e-3, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	low, high, err := c.Intervals(t.Context(), alone, x, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	low2, high2, err := c.TwoStageIntervals(t.Context(), both, x, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	wider, all := 0, 0
	n, C := low.Dims()
	for i := range n {
		for j := range C {
			middle := (low.At(i, j) + high.At(i, j)) / 2
			if !(low2.At(i, j) >= 0 && high2.At(i, j) <= 1 && low2.At(i, j) < high2.At(i, j)) {
				t.Fatalf("row %d, class %d: %g … %g is no interval of a probability around %g", i, j, low2.At(i, j), high2.At(i, j), middle)
			}
			if high2.At(i, j)-low2.At(i, j) > high.At(i, j)-low.At(i, j) {
				wider++
			}
			all++
		}
	}
	if wider < all/2 {
		t.Errorf("%d of %d intervals are wider with the head's error in them", wider, all)
	}
	if _, err := NewTwoStage(t.Context(), Bilinear{}, c.weights, rows, mat.NewDense(3, 4, nil), c.Base.Sizes(), Ridges{}); err == nil {
		t.Error("features of three rows pass for those of all")
	}
}
