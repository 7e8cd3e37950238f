package study

import (
	"testing"

	"calibra/data"
	"calibra/experiments"

	"gonum.org/v1/gonum/mat"
)

// A picture of rows that a file has sorted by class shows each class by its share.
func TestPictureShowsRowsOfAllTheFile(t *testing.T) {
	const n, classes = 5 * shownRows, 3
	x := &data.Set{Features: mat.NewDense(n, 2, nil), Labels: make([]int, n)}
	for i := range n {
		data.Dense(x.Features).Set(i, 0, float64(i))
		data.Dense(x.Features).Set(i, 1, float64(i*i%7))
		x.Labels[i] = i * classes / n
	}
	embed, err := data.FitEmbedding(x.Features, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &experiments.Prepared{Source: &data.Source{Cal: x, Test: x}, Embed: embed, Shared: embed.Apply(x.Features)}
	points := newFrame(p).points
	var shown [classes]int
	for _, point := range points {
		shown[point.Class]++
	}
	if want := shownRows / classes; shown != [classes]int{want, want, want} {
		t.Errorf("of %d rows of each class the picture shows %v, not %d of each", n/classes, shown, want)
	}
}
