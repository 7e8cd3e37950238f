package synthetic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// klRows is KL(posterior ‖ softmax(logits)) of each row.
func klRows(set *data.Set, posterior *mat.Dense) []float64 {
	kl := make([]float64, set.Len())
	for i := range kl {
		u := set.Logits.RawRowView(i)
		logSum := floats.LogSumExp(u)
		for k, p := range posterior.RawRowView(i) {
			if p > 0 {
				kl[i] += p * (math.Log(p) - u[k] + logSum)
			}
		}
	}
	return kl
}

func worlds() map[string]*Problem {
	return map[string]*Problem{
		"cubic":     NewCubic(Settings{}, seeded(1)),
		"proximity": NewProximity(Settings{}, seeded(1)),
	}
}

func TestSyntheticLaws(t *testing.T) {
	const n = 20000
	for name, world := range worlds() {
		set, posterior := world.Draw(n, seeded(2))
		observed, expected := make([]float64, 4), make([]float64, 4)
		for i, y := range set.Labels {
			observed[y]++
			floats.Add(expected, posterior.RawRowView(i))
			if s := floats.Sum(posterior.RawRowView(i)); !scalar.EqualWithinAbs(s, 1, 1e-14) {
				t.Fatalf("%s: a posterior sums to %v", name, s)
			}
		}
		for k := range observed {
			// The variance of a count is Σ p(1−p) ≤ n/4: sd ≤ 71. Five of them.
			if d := observed[k] - expected[k]; !(math.Abs(d) <= 355) {
				t.Errorf("%s: class %d has %v labels, its posterior says %.0f", name, k, observed[k], expected[k])
			}
		}
		// The classifier is overconfident: its mean top probability exceeds its
		// accuracy, by far more than the sd of the latter, 0.004.
		right, confidence := 0.0, 0.0
		for i, y := range set.Labels {
			u := set.Logits.RawRowView(i)
			if floats.MaxIdx(u) == y {
				right++
			}
			confidence += math.Exp(floats.Max(u) - floats.LogSumExp(u))
		}
		if confidence/n < right/n+0.03 {
			t.Errorf("%s: accuracy %.3f, confidence %.3f", name, right/n, confidence/n)
		}
		if mean := stat.Mean(klRows(set, posterior), nil); !(mean > 0.01) {
			t.Errorf("%s: mean KL to the true posterior %v", name, mean)
		}

		again, _ := world.Draw(50, seeded(3))
		twice, _ := world.Draw(50, seeded(3))
		if !mat.Equal(again.Logits, twice.Logits) || fmt.Sprint(again.Labels) != fmt.Sprint(twice.Labels) {
			t.Errorf("%s: one seed gave two samples", name)
		}
	}
}

// The cubic classifier's logits are a function of the true ones alone, undone by
// Cardano's formula.
func TestCubicUndone(t *testing.T) {
	set, posterior := NewCubic(Settings{Classes: 3, Strength: 2}, seeded(5)).Draw(200, seeded(6))
	for i := range 200 {
		u := make([]float64, 3)
		for k, v := range set.Logits.RawRowView(i) {
			// u³/2 + u = v ⟺ u³ + 2u − 2v = 0
			root := math.Sqrt(v*v + 8./27)
			u[k] = math.Cbrt(v+root) + math.Cbrt(v-root)
		}
		logSum := floats.LogSumExp(u)
		for k, p := range posterior.RawRowView(i) {
			if !scalar.EqualWithinAbs(math.Exp(u[k]-logSum), p, 1e-8) { // v − root loses digits
				t.Fatalf("row %d: posterior %v, from the logits %v", i, p, math.Exp(u[k]-logSum))
			}
		}
	}
}

// Proximity bias: the rows in the thinnest fifth of the data are further from
// their true posterior than those in the densest, and no error without strength.
func TestProximityGrowsWhereSparse(t *testing.T) {
	s := Settings{Features: 8}
	world := NewProximity(s, seeded(7))
	set, posterior := world.Draw(1500, seeded(8))
	kl := klRows(set, posterior)
	// Density by the distance to the 20th nearest row, which knows nothing of f.
	distance := make([]float64, set.Len())
	for i := range distance {
		d := make([]float64, set.Len())
		for j := range d {
			d[j] = floats.Distance(data.Dense(set.Features).RawRowView(i), data.Dense(set.Features).RawRowView(j), 2)
		}
		sort.Float64s(d)
		distance[i] = d[20]
	}
	order := make([]int, set.Len())
	floats.Argsort(distance, order)
	mean := func(rows []int) (sum float64) {
		for _, r := range rows {
			sum += kl[r] / float64(len(rows))
		}
		return sum
	}
	dense, sparse := mean(order[:300]), mean(order[1200:])
	if !(sparse > 2*dense) {
		t.Errorf("mean KL %v where dense, %v where sparse", dense, sparse)
	}
	s.Strength = 1e-12
	set, posterior = NewProximity(s, seeded(7)).Draw(100, seeded(8))
	if worst := floats.Max(klRows(set, posterior)); worst > 1e-10 {
		t.Errorf("without strength KL is %v", worst)
	}
}

func ExampleNewProximity() {
	world := NewProximity(Settings{Classes: 5}, rand.New(rand.NewPCG(1, 0)))
	cal, _ := world.Draw(1000, rand.New(rand.NewPCG(2, 0)))
	test, posterior := world.Draw(500, rand.New(rand.NewPCG(3, 0)))
	rows, classes := posterior.Dims()
	fmt.Println(cal.Len(), test.Len(), rows, classes)
	// Output: 1000 500 500 5
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
