package layers

import (
	"slices"
	"testing"

	"calibra/data"
	"calibra/graph"

	"gorgonia.org/tensor"
)

// TestPartOfRows: a part, and a part of a part, have the loss and the gradient of a view of
// their rows alone, for every map.
func TestPartOfRows(t *testing.T) {
	view, labels, sizes := region(1)
	outer, inner := []int{4, 0, 3, 2, 5, 1}, []int{5, 1, 2}
	n := len(labels)
	var alone []int
	for i := range outer {
		outer[i] %= n
	}
	for _, i := range inner {
		alone = append(alone, outer[i])
	}
	of := &View{LogProbs: data.RowsOf(view.LogProbs, alone)}
	var right []int
	for _, i := range alone {
		right = append(right, labels[i])
		of.Codes = append(of.Codes, view.Codes[i*sizes.Slots:(i+1)*sizes.Slots]...)
	}
	for name, variants := range allMaps {
		for _, m := range variants {
			w, err := m.Init(sizes, newRand(2))
			if err != nil {
				t.Fatal(err)
			}
			if len(w.Learned()) == 0 {
				continue
			}
			gradient := func(rows *Rows) (float64, [][]float64) {
				loss, gradients, err := Objective(m, w, rows).Gradient(graph.Rows(0, rows.Len()))
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				var values [][]float64
				for _, s := range gradients {
					values = append(values, graph.Float64s(s))
				}
				return loss, values
			}
			part := view.Rows(tensor.Float64, sizes).Labelled(graph.Labels(labels)).Of(outer).Of(inner)
			got, gradients := gradient(part)
			want, others := gradient(of.Rows(tensor.Float64, sizes).Labelled(graph.Labels(right)))
			if got != want || !slices.EqualFunc(gradients, others, slices.Equal[[]float64]) {
				t.Errorf("%s: the loss of a part is %v, of its rows alone %v", name, got, want)
			}
		}
	}
}
