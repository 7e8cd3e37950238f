package op_test

import (
	"testing"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/tensor"
)

// TestBackgroundDrawsEachRowAlike: 3 of 5 rows of class 0 and both of class 1, over
// 3,000 steps. A row of class 0 is drawn with probability 3/5, so 1,800 times with a
// standard deviation of 27; five of those are allowed.
func TestBackgroundDrawsEachRowAlike(t *testing.T) {
	sorted, begins := graph.Labels([]int{10, 11, 12, 13, 14, 20, 21}), graph.Labels([]int{0, 5, 7})
	classes := graph.Labels([]int{0, 0, 0, 1, 1})
	drawn := map[int32]int{}
	step := graph.Tensor(tensor.Float64, []float64{0}, 1)
	for range 3000 {
		out, err := op.Background(3).Do(sorted, begins, classes, step)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[int32]bool{}
		for i, r := range out.(*tensor.Dense).Int32s() {
			if seen[r] || (r < 20) != (i < 3) {
				t.Fatalf("step %v draws %v", step, out)
			}
			seen[r] = true
			drawn[r]++
		}
		step.Float64s()[0]++
	}
	for r := int32(10); r < 15; r++ {
		if n := drawn[r]; n < 1800-135 || n > 1800+135 {
			t.Errorf("row %d is drawn %d times of 3000", r, n)
		}
	}
}

// TestDropoutKeepsTheMean: of 40,000 ones a share of 0.3 is dropped, standard
// deviation 0.0023, and the rest is 1/0.7; another step drops others.
func TestDropoutKeepsTheMean(t *testing.T) {
	x := make([]float64, 40000)
	for i := range x {
		x[i] = 1
	}
	mask := func(step float64) []float64 {
		out, err := op.Dropout(0.3, 1).Do(graph.Tensor(tensor.Float64, x, 200, 200), graph.Tensor(tensor.Float64, []float64{step}, 1))
		if err != nil {
			t.Fatal(err)
		}
		return graph.Float64s(out)
	}
	first, second := mask(1), mask(2)
	dropped, same := 0, 0
	for i, v := range first {
		if v == 0 {
			dropped++
		} else if v != 1/0.7 {
			t.Fatalf("a kept one is %v", v)
		}
		if v == second[i] {
			same++
		}
	}
	if share := float64(dropped) / 40000; share < 0.29 || share > 0.31 {
		t.Errorf("a share of %v is dropped, not 0.3", share)
	}
	// Two independent masks agree with probability 0.3² + 0.7² = 0.58.
	if share := float64(same) / 40000; share < 0.57 || share > 0.59 {
		t.Errorf("two steps agree on a share of %v, not 0.58", share)
	}
}

// TestGaussianInFloat32 agrees with float64 to the rounding of squared distances of
// order 10.
func TestGaussianInFloat32(t *testing.T) {
	values := func(dt tensor.Dtype) []float64 {
		x := make([]float64, 70*4)
		for i := range x {
			x[i] = float64(i%13)/5 - 1
		}
		w := graph.Tensor(dt, x, 70, 4)
		out, err := op.Gaussian(0.3).Do(w, w)
		if err != nil {
			t.Fatal(err)
		}
		return graph.Float64s(out)
	}
	want := values(tensor.Float64)
	for i, v := range values(tensor.Float32) {
		if d := v - want[i]; !(d <= 5e-6 && d >= -5e-6) {
			t.Fatalf("entry %d is %.8f in float32, %.8f in float64", i, v, want[i])
		}
	}
}
