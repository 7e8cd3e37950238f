package rowcheck

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/sampleuv"
)

// says draws a row's class from the log-probabilities that it writes to to.
type says func(rng *rand.Rand, to []float64) (label int)

// calibrated are n rows of three classes, whose labels are drawn from what is said of them, with their features.
func calibrated(rng *rand.Rand, n int, say says, features func() []float64) *data.Set {
	x := &data.Set{Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := range n {
		if features != nil {
			row := features()
			if x.Features == nil {
				x.Features = mat.NewDense(n, len(row), nil)
			}
			x.Features.(*mat.Dense).SetRow(i, row)
		}
		x.Labels[i] = say(rng, x.Logits.RawRowView(i))
	}
	return x
}

// drawn is a class drawn from odds, whose log-probabilities are written to to.
func drawn(rng *rand.Rand, odds, to []float64) int {
	var sum float64
	for _, v := range odds {
		sum += v
	}
	for k, v := range odds {
		to[k] = math.Log(v / sum)
	}
	k, _ := sampleuv.NewWeighted(odds, rng).Take()
	return k
}

// normals are odds of logits from N(0, 1), that of one class raised by margin.
func normals(rng *rand.Rand, margin float64) []float64 {
	odds := make([]float64, 3)
	for k := range odds {
		odds[k] = math.Exp(rng.NormFloat64())
	}
	odds[rng.IntN(3)] *= math.Exp(margin)
	return odds
}

func continuousScores(margin float64) says {
	return func(rng *rand.Rand, to []float64) int { return drawn(rng, normals(rng, margin), to) }
}

// votes are shares of 100 votes.
func votes(rng *rand.Rand, to []float64) int {
	odds, counts := normals(rng, 2), make([]float64, 3)
	for range 100 {
		counts[drawn(rng, odds, to)]++
	}
	return drawn(rng, counts, to)
}

// cellular says of a cell, one of so many with chances in proportion to 1/(1 + number), real numbers that belong to it.
func cellular(cells int, margin float64, function bool) says {
	return func(rng *rand.Rand, to []float64) int {
		cell := int(math.Exp(rng.Float64()*math.Log(float64(cells)))) - 1
		own := rand.New(rand.NewPCG(uint64(cell), 3))
		odds := normals(own, margin)
		if function { // the label is one of the cell
			rng = own
		}
		return drawn(rng, odds, to)
	}
}

// leaves are the smoothed shares of pure leaves: 1/(m + 3) of the classes that no row has.
func leaves(rng *rand.Rand, to []float64) int {
	m := float64(1 + rng.IntN(60))
	drawn(rng, []float64{m + 1, 1, 1}, to)
	return 0
}

// The ways in which rows are copied.
var copying = map[string]func(rng *rand.Rand, n int) []int{
	"each four times": func(_ *rand.Rand, n int) []int { return slices.Repeat(data.UpTo(n), 4) },
	"drawn with replacement": func(rng *rand.Rand, n int) (rows []int) {
		for range 4 * n {
			rows = append(rows, rng.IntN(n))
		}
		return rows
	},
	"a half twice": func(_ *rand.Rand, n int) []int { return slices.Concat(data.UpTo(n), data.UpTo(n/2)) },
	"a half five times": func(_ *rand.Rand, n int) []int {
		return slices.Concat(data.UpTo(n), slices.Repeat(data.UpTo(n/2), 4))
	},
}

// TestCopiesFound: copies of rows are found in at least 99 % of draws, with features and without, whatever their error.
// Of scores of few values only those that all rows have can be told from chance.
func TestCopiesFound(t *testing.T) {
	const draws, n = 100, 150
	for how, copies := range copying {
		for name, say := range map[string]says{"uncertain": continuousScores(1), "accurate": continuousScores(5), "votes": votes} {
			for _, featured := range []bool{false, true} {
				if name == "votes" && how != "each four times" || name == "accurate" && how == "drawn with replacement" && !featured {
					continue
				}
				missed := 0
				for seed := range uint64(draws) {
					rng := rand.New(rand.NewPCG(seed, 1))
					var features func() []float64
					if featured {
						features = func() []float64 { return []float64{rng.NormFloat64(), rng.NormFloat64()} }
					}
					x := calibrated(rng, n, say, features)
					rows := copies(rng, n)
					if _, c := CountCopies(x.Rows(rows)); c == nil || c.Of != len(rows) || name != "votes" && c.Counted != len(slices.Compact(slices.Sorted(slices.Values(rows)))) {
						missed++
					}
				}
				if missed > draws/100 {
					t.Errorf("%s, %s, features %v: %d of %d missed", how, name, featured, missed, draws)
				}
			}
		}
	}
}

// TestCopiesByChance: rows of few values, which agree by chance, are taken for copies in at most 1 % of draws.
func TestCopiesByChance(t *testing.T) {
	const draws = 100
	constant := func(rng *rand.Rand, to []float64) int { return drawn(rng, []float64{998, 1, 1}, to) }
	for name, say := range map[string]says{
		"continuous": continuousScores(1), "votes": votes, "constant": constant, "pure leaves": leaves,
		"20 cells": cellular(20, 2, false), "1000 cells": cellular(1000, 2, false), "1000 cells, accurate": cellular(1000, 7, false),
	} {
		taken := 0
		for seed := range uint64(draws) {
			if _, c := CountCopies(calibrated(rand.New(rand.NewPCG(seed, 2)), 600, say, nil)); c != nil {
				taken++
			}
		}
		if taken > draws/100 {
			t.Errorf("%s: %d of %d are taken for copies", name, taken, draws)
		}
	}
}

// TestCopiesOfFunctions: rows of equal features whose label is a function of these count once.
func TestCopiesOfFunctions(t *testing.T) {
	x := calibrated(rand.New(rand.NewPCG(1, 2)), 600, cellular(1000, 2, true), nil)
	if _, c := CountCopies(x); c == nil || c.Counted+c.Rows != 600 {
		t.Errorf("%v", c)
	}
}

// TestCopiesCount: a row has the weight of its copies; labels, soft labels and groups tell rows apart, and rows of
// weight 0 are none.
func TestCopiesCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	x := calibrated(rng, 100, continuousScores(1), nil).Rows(slices.Repeat(data.UpTo(100), 3))
	x.Weights = make([]float64, 300)
	for i := range x.Weights {
		x.Weights[i] = float64(i / 100) // the first copies have 0
	}
	counts, c := CountCopies(x)
	if c == nil || *c != (Copies{Rows: 100, Of: 200, Counted: 100}) || counts[0] != 0 || counts[100] != 3 || counts[200] != 0 {
		t.Fatalf("%v: %v, %v, %v", c, counts[0], counts[100], counts[200])
	}
	if want := "100 of 200 rows are copies; tests count 100 rows"; c.String() != want {
		t.Errorf("%q is not %q", c, want)
	}
	x.Weights = nil
	x.Groups = data.Groups{Of: make([]int, 300), Names: []string{"a", "b"}}
	for i := range 100 {
		x.Groups.Of[i] = 1
	}
	if _, c = CountCopies(x); c == nil || c.Counted != 200 {
		t.Errorf("with groups: %v", c)
	}
	x.Soft = mat.NewDense(300, 3, nil)
	for i := range 300 {
		q := rng.Float64()
		x.Soft.SetRow(i, []float64{q, 1 - q, 0})
	}
	if _, c = CountCopies(x); c != nil {
		t.Errorf("with soft labels of their own: %v", c)
	}
}
