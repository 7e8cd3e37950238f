package data

import (
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestTogetherKeepsRowsInOrder, with the weights and soft labels that some of the sets lack, and without the arrays
// that one lacks.
func TestTogetherKeepsRowsInOrder(t *testing.T) {
	x, l := mat.NewDense(2, 2, []float64{1, 2, 3, 4}), mat.NewDense(2, 2, []float64{-1, -2, -3, -4})
	a := &Set{Features: x, Logits: l, Labels: []int{0, 1}, Weights: []float64{2, 3}, Resolution: 1e-7}
	b := &Set{Features: NewSingles([]float32{5, 6}, 2), Logits: mat.NewDense(1, 2, []float64{-5, -6}), Labels: []int{1}, Soft: mat.NewDense(1, 2, []float64{.25, .75}), Resolution: 1e-6}
	all := Together(a, b)
	if want := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6}); !mat.Equal(all.Features, want) {
		t.Errorf("the features are %v", mat.Formatted(all.Features))
	}
	if want := mat.NewDense(3, 2, []float64{-1, -2, -3, -4, -5, -6}); !mat.Equal(all.Logits, want) {
		t.Errorf("the logits are %v", mat.Formatted(all.Logits))
	}
	if want := mat.NewDense(3, 2, []float64{1, 0, 0, 1, .25, .75}); !mat.Equal(all.Soft, want) {
		t.Errorf("the soft labels are %v", mat.Formatted(all.Soft))
	}
	if !slices.Equal(all.Labels, []int{0, 1, 1}) || !slices.Equal(all.Weights, []float64{2, 3, 1}) || all.Resolution != 1e-6 {
		t.Errorf("labels %v, weights %v, resolution %g", all.Labels, all.Weights, all.Resolution)
	}
	if all = Together(b, &Set{Logits: l, Labels: []int{0, 0}}); all.Features != nil || all.Logits == nil || all.Weights != nil {
		t.Error("rows without features have some, or without weights")
	}
	if s, ok := Together(b, b).Features.(*Singles); !ok || s.Single(1)[1] != 6 {
		t.Error("single precision is lost")
	}
}
