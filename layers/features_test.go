package layers

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestEntropiesAndDistances by hand: three slots of width 1, two codewords 0 and 2, the centre 1.
func TestEntropiesAndDistances(t *testing.T) {
	q := &Quantized{Codes: []int32{0, 0, 0, 0, 1, 1}, Codewords: []float64{0, 2}, Slots: 3, Width: 1, CodesOf: 1, Centre: []float64{1, 1, 1}}
	x := mat.NewDense(2, 3, []float64{1, 2, 3, 1, 3, 0})
	entropy, distance := q.Entropies(), q.Distances(x)
	for i, want := range [][2]float64{{0, (0. + 1 + 4) / 3}, {math.Log(3) - 2*math.Log(2)/3, (0. + 0 + 9) / 3}} {
		if math.Abs(entropy[i]-want[0]) > 1e-15 || math.Abs(distance[i]-want[1]) > 1e-15 { // a few rounding errors
			t.Errorf("row %d has the entropy %v and the distance %v, want %v", i, entropy[i], distance[i], want)
		}
	}
}
