package baselines

import (
	"math"
	"slices"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// TestProximityAgainstSorting: the search in blocks finds the neighbours that sorting
// all distances does, for more rows than a block holds, with duplicates, and with
// fewer rows than neighbours.
func TestProximityAgainstSorting(t *testing.T) {
	rng := newRand(12)
	draw := func(n int) *mat.Dense {
		z := mat.NewDense(n, 3, nil)
		z.Apply(func(_, _ int, _ float64) float64 { return math.Round(4*rng.NormFloat64()) / 4 }, z)
		return z
	}
	points, queries := draw(150), draw(100)
	for _, k := range []int{1, 7, 50, 400} {
		of := unitRows(points)
		check := func(got []float64, rows *mat.Dense, own bool) {
			for i, x := range rowsOf(unitRows(rows)) {
				var distances []float64
				for j, y := range rowsOf(of) {
					if !own || i != j {
						d := floats.Distance(x, y, 2)
						distances = append(distances, d*d)
					}
				}
				slices.Sort(distances)
				distances = distances[:min(k, len(distances))]
				want := math.Exp(-floats.Sum(distances) / float64(len(distances)))
				if !scalar.EqualWithinAbs(got[i], want, 1e-12) { // |x|² + |y|² − 2xy against |x − y|²
					t.Fatalf("k = %d, row %d: proximity %v, by sorting %v", k, i, got[i], want)
				}
			}
		}
		check(proximity(t.Context(), of, unitRows(queries), k, nil), queries, false)
		check(proximity(t.Context(), of, of, k, data.UpTo(150)), points, true)
	}
}

// TestKernelMemoryAgainstTheFormula in float64, with and without folds.
func TestKernelMemoryAgainstTheFormula(t *testing.T) {
	rng := newRand(13)
	const n, d, classes, c = 90, 4, 3, 0.2
	points, labels, folds := make([]float32, n*d), make([]int, n), make([]int, n)
	for i := range points {
		points[i] = float32(rng.NormFloat64())
	}
	for i := range labels {
		labels[i], folds[i] = rng.IntN(classes), i%5
	}
	m := newMemory(points, d, &data.Set{Labels: labels}, classes)
	for _, fold := range [][]int{nil, folds} {
		got := m.estimate(points, c, fold)
		for i := range n {
			want, sum := make([]float64, classes), 0.0
			for j := range n {
				if fold != nil && fold[i] == fold[j] {
					continue
				}
				var square float64
				for l := range d {
					delta := float64(points[i*d+l]) - float64(points[j*d+l])
					square += delta * delta
				}
				want[labels[j]] += math.Exp(-c * square)
				sum += math.Exp(-c * square)
			}
			floats.Scale(1/sum, want)
			// Squared distances of order 10 in float32, times c.
			if !floats.EqualApprox(got.RawRowView(i), want, 1e-5) {
				t.Fatalf("row %d: %v, by the formula %v", i, got.RawRowView(i), want)
			}
		}
	}
	far := m.estimate([]float32{1e3, 1e3, 1e3, 1e3}, c, nil)
	if !floats.EqualApprox(far.RawRowView(0), m.prior, 1e-15) {
		t.Errorf("far from all points %v is predicted, not the prior %v", far.RawRowView(0), m.prior)
	}
}

// TestFailedRestoreKeepsTheParts of the model that was there.
func TestFailedRestoreKeepsTheParts(t *testing.T) {
	cal, _ := problems()["temperature"].draw(200, 1)
	m, other := &ProCal{}, &ProCal{Neighbours: 5}
	fit(t, m, cal, nil)
	fit(t, other, cal, nil)
	want := predict(t, m, cal)
	damaged, err := other.State()
	if err != nil {
		t.Fatal(err)
	}
	damaged.Weights = damaged.Weights.Clone()
	damaged.Weights.Tensor("proximity/neighbours").Float64s()[0] = 0
	if err := m.Restore(damaged); err == nil {
		t.Error("a model of no neighbours is accepted")
	}
	if !mat.Equal(want.LogProbs, predict(t, m, cal).LogProbs) {
		t.Error("after a failed Restore the model predicts something else")
	}
}
