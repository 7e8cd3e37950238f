package synthetic

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
)

func TestPlantedLaws(t *testing.T) {
	for _, problem := range plantedProblems {
		name := problem.Name
		rng := seeded(3)
		g := NewPlanted(name, PlantedSettings{}, rng)
		set, q, said := g.Draw(500, rng)
		if n, m := set.Features.Dims(); n != 500 || m != g.Features || len(said) != len(g.Grades) {
			t.Fatalf("%s: features %d×%d, %d predictors of %d grades", name, n, m, len(said), len(g.Grades))
		}
		exact := slices.IndexFunc(g.Grades, func(g Grade) bool { return g.Name == "exact" })
		if exact < 0 {
			t.Fatalf("%s has no exact grade", name)
		}
		before := -1.
		for k, l := range said {
			var squared float64
			for i := range 500 {
				if s := floats.LogSumExp(l.RawRowView(i)); math.Abs(s) > 1e-9 {
					t.Fatalf("%s, %s: row %d sums to e^%v", name, g.Grades[k].Name, i, s)
				}
				for c, v := range l.RawRowView(i) {
					d := math.Exp(v) - q.At(i, c)
					squared += d * d / 500
				}
			}
			if (k == exact) != (squared < 1e-18) {
				t.Errorf("%s, %s: squared error %v", name, g.Grades[k].Name, squared)
			}
			if name == "global" || name == "rare" { // graded by one number
				if squared <= before {
					t.Errorf("%s, %s: squared error %v after %v", name, g.Grades[k].Name, squared, before)
				}
				before = squared
			}
		}
	}
}

// TestPlantedLocalErrorIsInvisible holds local to its promise, E[q | p] = p, for its worst classifier.
func TestPlantedLocalErrorIsInvisible(t *testing.T) {
	const n = 40000
	rng := seeded(4)
	g := NewPlanted("local", PlantedSettings{Features: 6}, rng)
	_, q, said := g.Draw(n, rng)
	worst := said[len(said)-1]
	for c := range g.Classes {
		var gap, square [10]float64
		var rows [10]float64
		for i := range n {
			p := math.Exp(worst.At(i, c))
			bin := min(int(10*p), 9)
			d := q.At(i, c) - p
			gap[bin] += d
			square[bin] += d * d
			rows[bin]++
		}
		for bin, m := range rows {
			// five standard errors of the bin's mean; 40 bins are looked at
			if m > 100 && math.Abs(gap[bin]) > 5*math.Sqrt(square[bin]) {
				t.Errorf("class %d, p near %.1f: the posterior is off by %v on average of %v rows", c, float64(bin)/10, gap[bin]/m, m)
			}
		}
	}
}
