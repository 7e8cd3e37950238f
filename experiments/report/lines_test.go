package report

import (
	"slices"
	"testing"

	"gonum.org/v1/plot/plotter"
)

// Two predictions in one figure differ by dashes and by marks, also without colours.
func TestPredictionsDiffer(t *testing.T) {
	at := plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 1}}
	first, _ := Series{Kind: Prediction}.lineOf(at)
	second, marks := Series{Kind: Prediction, Style: 1}.lineOf(at)
	if slices.Equal(first.Dashes, second.Dashes) || marks.Shape == glyphs[0] {
		t.Errorf("two predictions have the dashes %v and %v, the second the mark %T", first.Dashes, second.Dashes, marks.Shape)
	}
}
