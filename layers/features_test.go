package layers

import (
	"math"
	"slices"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
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

// TestPlane: the codeword that a place of the plane belongs to is the nearest in the space of slots, and slots that
// have another than the nearest have no plane.
func TestPlane(t *testing.T) {
	for _, d := range []int{2, 4} {
		x := mat.DenseCopyOf(data.Dense(blobs(60, 5).Features).Slice(0, 60, 0, 2*d))
		q := &Quantized{Codewords: make([]float64, 7*d), Slots: 2, Width: d, CodesOf: 1, Centre: make([]float64, 2*d)}
		rng := newRand(3)
		for j := range q.Codewords {
			q.Codewords[j] = rng.NormFloat64()
		}
		nearest := func(slot []float64) (best int32) {
			for k := range int32(7) {
				if floats.Distance(slot, q.Codewords[int(k)*d:][:d], 2) < floats.Distance(slot, q.Codewords[int(best)*d:][:d], 2) {
					best = k
				}
			}
			return best
		}
		for i := range 60 {
			q.Codes = append(q.Codes, nearest(x.RawRowView(i)[:d]), nearest(x.RawRowView(i)[d:]))
		}
		p := q.Plane(x)
		if p == nil || p.Features != (d == 2) {
			t.Fatalf("slots of %d features have the plane %v", d, p)
		}
		slots := mat.NewDense(120, d, slices.Clone(x.RawMatrix().Data))
		middle, axes := make([]float64, d), mat.NewDense(2, 2, []float64{1, 0, 0, 1})
		if d > 2 {
			middle, axes = principal(slots)
		}
		for range 200 {
			a, b := 2*rng.NormFloat64(), 2*rng.NormFloat64()
			place, best := slices.Clone(middle), 0
			floats.AddScaled(place, a, mat.Col(nil, 0, axes))
			floats.AddScaled(place, b, mat.Col(nil, 1, axes))
			far := func(k int) float64 {
				return math.Pow(a-p.Codewords.At(k, 0), 2) + math.Pow(b-p.Codewords.At(k, 1), 2) + p.Off[k]
			}
			for k := range 7 {
				if far(k) < far(best) {
					best = k
				}
			}
			if want := nearest(place); int(want) != best {
				t.Errorf("the place %v, %v belongs to codeword %d, not %d", a, b, want, best)
			}
		}
		q.Codes[0] = (q.Codes[0] + 1) % 7
		if q.Plane(x) != nil {
			t.Error("a slot of another codeword than the nearest has a plane")
		}
	}
}
