// Package graphtest checks derivatives against finite differences. A check that
// has nothing to check fails.
package graphtest

import (
	"math"
	"testing"

	"calibra/graph"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Step is the relative step of the central differences: the cube root of
// float64's rounding error balances the O(h²) truncation against the O(ε/h)
// rounding.
const Step = 6e-6

// Tolerance is what a correct gradient keeps to, relative to the largest entry of
// its weight's gradient: both errors at Step are near 4e-11 times the loss's
// third derivative or value, and 1e-7 leaves room for losses of size 1000.
const Tolerance = 1e-7

// Gradient compares the gradient of loss by each learned weight of w, which must
// be float64, with central differences in every entry. The loss is over rows
// 0…rows−1.
func Gradient(t testing.TB, w *graph.Weights, rows int, loss func(*graph.Builder) *gorgonia.Node) {
	t.Helper()
	if w.Dtype() != tensor.Float64 {
		t.Fatalf("graphtest: gradients are checked in float64, not %v", w.Dtype())
	}
	learned := w.Learned()
	if len(learned) == 0 {
		t.Fatal("graphtest: there is no learned weight to check")
	}
	o := graph.NewObjective(w, loss)
	batch := graph.Rows(0, rows)
	value := func() float64 {
		l, _, err := o.Gradient(batch)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	_, got, err := o.Gradient(batch)
	if err != nil {
		t.Fatal(err)
	}
	analytic := make([][]float64, len(got))
	for i, g := range got {
		analytic[i] = graph.Float64s(g)
	}
	for i, name := range learned {
		x := w.Tensor(name).Float64s()
		numeric := make([]float64, len(x))
		var size float64
		for j, at := range x {
			h := Step * math.Max(1, math.Abs(at))
			x[j] = at + h
			up := value()
			x[j] = at - h
			down := value()
			x[j] = at
			numeric[j] = (up - down) / (2 * h)
			size = math.Max(size, math.Abs(numeric[j]))
		}
		if size == 0 {
			t.Errorf("graphtest: the loss does not change with %s: nothing is checked", name)
		}
		for j := range x {
			if d := math.Abs(analytic[i][j] - numeric[j]); !(d <= Tolerance*math.Max(size, 1e-3)) {
				t.Errorf("graphtest: ∂loss/∂%s[%d] is %.12g, central differences say %.12g", name, j, analytic[i][j], numeric[j])
			}
		}
	}
}
