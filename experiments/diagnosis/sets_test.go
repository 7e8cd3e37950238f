package diagnosis_test

import (
	"math"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// TestSetsCoverWithinRegions: the planted cluster is wrong, so that marginal sets miss there.
func TestSetsCoverWithinRegions(t *testing.T) {
	const n, level = 4000, .9
	rng := newRand(1)
	cal, test := newClustered(n, .6, rng), newClustered(n, .6, rng)
	c, err := diagnosis.NewConformal(cal.logProbs, cal.labels, cal.embedding, metrics.Settings{}, level, rng)
	if err != nil {
		t.Fatal(err)
	}
	sets, marginal, cell := c.Sets(test.logProbs, test.embedding)
	covered, err := metrics.Covered(test.logProbs, sets, marginal, cell, test.labels, metrics.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	all, cells := covered.All, covered.Regions
	// A cell's coverage varies with its n ≥ 100 scores and its test rows: sd of about
	// √(.09/100 + .09/100) = .042 at most, four of which is .17; over all rows less than .02.
	if math.Abs(all.Coverage-level) > .03 || math.Abs(all.Marginal-level) > .03 {
		t.Errorf("over all rows the sets cover %v, the marginal ones %v", all.Coverage, all.Marginal)
	}
	least := 1.
	for k, cell := range cells {
		t.Logf("cell %d: %d rows, coverage %.3f ± %.3f, marginal %.3f", k, cell.Rows, cell.Coverage, cell.SE, cell.Marginal)
		if cell.Coverage < level-.17 {
			t.Errorf("cell %d of %d rows is covered by %.3f", k, cell.Rows, cell.Coverage)
		}
		least = min(least, cell.Marginal)
	}
	if len(cells) < 4 {
		t.Errorf("there are %d cells", len(cells))
	}
	// the planted cluster gets its label right two times in three
	var hit, rows float64
	for i, k := range test.cluster {
		if k == 0 {
			rows++
			hit += marginal.At(i, test.labels[i])
		}
	}
	if hit/rows > level-.03 {
		t.Errorf("marginal sets cover the wrong cluster by %.3f: the test shows nothing", hit/rows)
	}
}

// TestSetsOfWeights: sets cover by weight, only ratios of weights matter, and a row of weight 0 is not there.
func TestSetsOfWeights(t *testing.T) {
	const n, level = 4000, .9
	rng := newRand(1)
	cal, test := newClustered(n, .6, rng), newClustered(n, .6, rng)
	heavy := func(cluster []int, times float64) []float64 { // the rows that are wrong, and half of the others
		out := make([]float64, n)
		for i, k := range cluster {
			if out[i] = times * float64(i%2); k == 0 {
				out[i] = 10 * times
			}
		}
		return out
	}
	marginal := func(weights []float64) *mat.Dense {
		c, err := diagnosis.NewConformal(cal.logProbs, cal.labels, cal.embedding, metrics.Settings{Rows: weights}, level, newRand(4))
		if err != nil {
			t.Fatal(err)
		}
		_, sets, _ := c.Sets(test.logProbs, test.embedding)
		return sets
	}
	covered := func(sets *mat.Dense) float64 {
		c, err := metrics.Covered(test.logProbs, sets, sets, test.cluster, test.labels, metrics.Settings{Rows: heavy(test.cluster, 1)})
		if err != nil {
			t.Fatal(err)
		}
		return c.All.Coverage
	}
	weighed, plain := marginal(heavy(cal.cluster, 1)), marginal(nil)
	// the binomial deviation of the effective rows, some 1,000 on either side, is .01 each
	if c := covered(weighed); math.Abs(c-level) > .04 || covered(plain) > level-.04 {
		t.Errorf("sets of weighed rows cover %v by weight, those of all alike %v", c, covered(plain))
	}
	if !mat.Equal(weighed, marginal(heavy(cal.cluster, 7))) {
		t.Error("weights times 7 make other sets")
	}
	alike := make([]float64, n)
	for i := range alike {
		alike[i] = 2
	}
	if !mat.Equal(plain, marginal(alike)) {
		t.Error("a weight of 2 for all is not no weight")
	}
}

func TestSetsLaws(t *testing.T) {
	rng := newRand(2)
	c := newClustered(400, 0, rng)
	narrow, err := diagnosis.NewConformal(c.logProbs, c.labels, c.embedding, metrics.Settings{}, .5, newRand(3))
	if err != nil {
		t.Fatal(err)
	}
	wide, err := diagnosis.NewConformal(c.logProbs, c.labels, c.embedding, metrics.Settings{}, .99, newRand(3))
	if err != nil {
		t.Fatal(err)
	}
	small, smallMarginal, _ := narrow.Sets(c.logProbs, c.embedding)
	large, largeMarginal, _ := wide.Sets(c.logProbs, c.embedding)
	for i := range 400 {
		var size float64
		for y := range 3 {
			size += small.At(i, y)
			if small.At(i, y) > large.At(i, y) || smallMarginal.At(i, y) > largeMarginal.At(i, y) {
				t.Fatalf("row %d: class %d is in the set of level .5 and not in that of .99", i, y)
			}
		}
		if size == 0 {
			t.Fatalf("row %d has an empty set", i)
		}
	}
	for want, level := range map[string]float64{"level 1": 1, "level 0": 0} {
		if _, err := diagnosis.NewConformal(c.logProbs, c.labels, c.embedding, metrics.Settings{}, level, rng); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	few := mat.DenseCopyOf(c.logProbs.Slice(0, 150, 0, 3))
	if _, err := diagnosis.NewConformal(few, c.labels[:150], mat.DenseCopyOf(c.embedding.Slice(0, 150, 0, 4)), metrics.Settings{}, .9, rng); err == nil || !strings.Contains(err.Error(), "regions need 200") {
		t.Errorf("150 rows: %v", err)
	}
}
