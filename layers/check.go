package layers

import (
	"fmt"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/graphtest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// CheckMap compares the gradient of a Map's loss with central differences, at weights drawn
// away from its start, on 6 rows of 3 classes in a space of 4 slots with 5 codewords. It is
// nil for a right gradient and for a map that learns nothing. A map with inputs of another
// base is checked by [CheckMapOn], an op of its own in float32 too by graphtest.Op.
func CheckMap(m Map, rng *rand.Rand) error {
	const rows, c = 6, 3
	s := Sizes{Classes: c, Features: 8, Slots: 4, Codewords: 5, Counts: []float64{3, 2, 1}}
	v := &View{LogProbs: LogSoftmax(mat.NewDense(rows, c, graph.Normals(rows*c, 0, 2, rng)))}
	labels := make([]int, rows)
	for i := range labels {
		labels[i] = rng.IntN(c)
	}
	for range rows * s.Slots {
		v.Codes = append(v.Codes, int32(rng.IntN(s.Codewords)))
	}
	return CheckMapOn(m, v, labels, s, 0.3, rng)
}

// CheckMapOn is CheckMap on a view of labelled rows. Spread is how far from the start each
// weight is moved, as a standard deviation: at the start itself receivers and senders, or
// whatever a map starts alike, would have gradients alike.
func CheckMapOn(m Map, v *View, labels []int, s Sizes, spread float64, rng *rand.Rand) error {
	w, err := initial(m, s, rng)
	if err != nil || len(w.Learned()) == 0 {
		return err
	}
	w = w.As(tensor.Float64)
	for _, name := range w.Learned() {
		x := w.Tensor(name).Float64s()
		for i := range x {
			x[i] += spread * rng.NormFloat64()
		}
	}
	rows, err := v.RowsFor(m, w, s)
	if err != nil {
		return err
	}
	rows = rows.Labelled(graph.Labels(labels))
	err = graphtest.Gradient(w, len(labels), func(b *graph.Builder) *gorgonia.Node { return lossOf(b, m, rows.Batch(b), rows.n) })
	if err != nil {
		return fmt.Errorf("layers: %T: %w", m, err)
	}
	return nil
}
