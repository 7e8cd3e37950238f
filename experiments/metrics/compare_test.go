package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Of two methods alike in expectation, a p-value is uniform.
func TestCompareOfEquals(t *testing.T) {
	const repetitions = 100
	var p []float64
	for k := range repetitions {
		rng := rand.New(rand.NewPCG(1, uint64(k)))
		a, b := make([]float64, 100), make([]float64, 100)
		for i := range a {
			row := rng.NormFloat64()
			a[i], b[i] = row+.3*rng.NormFloat64(), row+.3*rng.NormFloat64()
		}
		c, err := Compare(a, b)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, c.PValue)
	}
	if p := kolmogorov(p, 1000); p < 0.01 {
		t.Errorf("p-values are not uniform: Kolmogorov–Smirnov p = %.4f", p)
	}
}

func TestCompareSeesADifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	a, b := make([]float64, 400), make([]float64, 400)
	for i := range a {
		row := rng.NormFloat64()
		a[i], b[i] = row, row+.1+.2*rng.NormFloat64()
	}
	c, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	// the rows' own spread of 1 cancels: standard error .2/√400
	if c.PValue > .001 || !(math.Abs(c.Difference+.1) <= .04) || !near(c.Interval.High-c.Interval.Low, 2*1.96*.01, .15) {
		t.Errorf("%+v", c)
	}
	if same, err := Compare(a, a); err != nil || same.PValue != 1 || same.Difference != 0 {
		t.Errorf("a method with itself: %+v, %v", same, err)
	}
	if _, err := Compare(a, b[1:]); err == nil {
		t.Error("scores of other rows were compared")
	}
}

// TestOverSeeds: 400 rows of standard deviation .5, and three seeds; by scipy.stats.t of the degrees of freedom of
// Satterthwaite, SciPy 1.17.1.
func TestOverSeeds(t *testing.T) {
	rows := &Comparison{Difference: 1, se: .025, df: 399}
	c := rows.OverSeeds([]float64{.8, 1, 1.5}, 1)
	if !near(c.Difference, 1.1, 1e-12) || !near(c.PValue, .032418632782373, 1e-9) || !near(c.Interval.Low, .221867885707945, 1e-9) {
		t.Errorf("%+v", c)
	}
	if one := rows.OverSeeds([]float64{1}, 1); !near(one.Interval.Low, 1-1.965927296*.025, 1e-6) {
		t.Errorf("one seed: %+v", one)
	}
}

// TestPairedT: scipy.stats.ttest_1samp(x, 0).pvalue, SciPy 1.17.1.
func TestPairedT(t *testing.T) {
	skewed, far := make([]float64, 150), make([]float64, 2500)
	for i := range skewed {
		skewed[i] = -math.Log((float64(i)+.5)/150) - 1 + .2 // quantiles of an exponential
	}
	for i := range far {
		far[i] = math.Sin(float64(i)) + .2
	}
	for _, c := range []struct {
		x    []float64
		want float64
	}{{[]float64{.1, -.2, .3, .4, .5, .2, -.1, .3, .2, .1, .3, .6}, .006066448864756193}, {skewed, .01550827801308442}, {far, 8.189527309829636e-44}} {
		got, err := Compare(c.x, make([]float64, len(c.x)))
		if err != nil || !near(got.PValue/c.want, 1, 1e-9) {
			t.Errorf("of %d differences p = %.12g, want %.12g; %v", len(c.x), got.PValue, c.want, err)
		}
	}
}

// One row tells nothing, three at most that they lean to one side: 2^(1−3).
func TestCompareOfFewRows(t *testing.T) {
	for n, want := range map[int]float64{1: 1, 2: .5, 3: .25, 11: 1. / 1024} {
		a, b := make([]float64, n), make([]float64, n)
		for i := range a {
			a[i] = 1 + float64(i)/100
		}
		c, err := Compare(a, b)
		if err != nil || c.PValue != want {
			t.Errorf("%d rows: p = %v (%v), want %v", n, c.PValue, err, want)
		}
	}
}

func TestHolm(t *testing.T) {
	// Holm 1979 by hand: .01·4, .02·3, max(.03·2, before), 1·.5
	got := Holm([]float64{.5, .01, .03, .02})
	for i, want := range []float64{.5, .04, .06, .06} {
		if !near(got[i], want, 1e-12) {
			t.Errorf("corrected %v", got)
			break
		}
	}
	if got := Holm([]float64{.9, .8}); got[0] != 1 || got[1] != 1 {
		t.Errorf("corrected %v, want 1 and 1", got)
	}
}

func TestSpreads(t *testing.T) {
	for _, test := range []struct {
		metric Metric
		values []float64
		want   string
	}{
		{LCE, []float64{.0046, .0053, .0060}, ".0053±.0007"},
		{NLL, []float64{.9403, .9461}, ".943±.004"},
		{NLL, []float64{1.1751}, "1.175"},
		{NLL, []float64{10.25}, "10.250"},
		{NLL, []float64{9.9999}, "10.000"},
		{NLL, []float64{-6, 23}, "8.500±20.506"},
		{LCE, []float64{math.NaN()}, "–"},
	} {
		if got := NewSpread(test.values).Format(test.metric); got != test.want {
			t.Errorf("%v of %v is printed %q, want %q", test.metric, test.values, got, test.want)
		}
	}
	column := []Spread{{Mean: .00531}, {Mean: .00534}, {Mean: math.NaN()}, {Mean: .0101}, {Mean: .0243}}
	if got, want := Marks(LCE, column), []Mark{Best, Best, Unmarked, Second, Unmarked}; !slices.Equal(got, want) {
		t.Errorf("marks %v, want %v", got, want)
	}
	if got, want := Marks(Accuracy, column), []Mark{Unmarked, Unmarked, Unmarked, Second, Best}; !slices.Equal(got, want) {
		t.Errorf("marks of accuracy %v, want %v", got, want)
	}
}

// TestCompareGroups: groups of one row are rows, and rows that are in the file three times, each a group with its
// copies, say as much as one of them. Cross-fitting in five folds makes intervals 1.5 times as wide, √(1 + 5/4).
func TestCompareGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var a, b, a3, b3 []float64
	var single, triple []int
	for i := range 50 {
		x, y := rng.NormFloat64(), rng.NormFloat64()+.2
		a, b, single = append(a, x), append(b, y), append(single, i)
		for range 3 {
			a3, b3, triple = append(a3, x), append(b3, y), append(triple, 7*i)
		}
	}
	rows, err := Compare(a, b)
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		a, b   []float64
		groups []int
	}{"single": {a, b, single}, "triple": {a3, b3, triple}} {
		c, err := CompareGroups(of.a, of.b, of.groups)
		if err != nil || !near(c.PValue, rows.PValue, 1e-9) || !near(c.Interval.Low, rows.Interval.Low, 1e-9) {
			t.Errorf("%s: %+v, want %+v (%v)", name, c, rows, err)
		}
	}
	wide := rows.CrossFitted(5)
	if got := (wide.Interval.High - wide.Interval.Low) / (rows.Interval.High - rows.Interval.Low); !near(got, 1.5, 1e-12) {
		t.Errorf("an interval is %v times as wide", got)
	}
	if _, err := CompareGroups(a, b, triple); err == nil {
		t.Error("groups of other rows are taken")
	}
}

// calibratedRows are N rows of C classes whose log-probabilities are true, at true scores of a standard deviation, with
// labels drawn from them; the first class is less likely by rare.
func calibratedRows(n, classes int, sd, rare float64, rng *rand.Rand) (logProbs *mat.Dense, labels []int) {
	logProbs, labels = mat.NewDense(n, classes, nil), make([]int, n)
	for i := range labels {
		row := logProbs.RawRowView(i)
		for c := range row {
			row[c] = sd * rng.NormFloat64()
		}
		row[0] -= rare
		floats.AddConst(-floats.LogSumExp(row), row)
		for u := rng.Float64() - math.Exp(row[0]); u > 0 && labels[i] < classes-1; u -= math.Exp(row[labels[i]]) {
			labels[i]++
		}
	}
	return logProbs, labels
}

// tempered is softmax(ℓ/T).
func tempered(logProbs *mat.Dense, t float64) *mat.Dense {
	out := mat.DenseCopyOf(logProbs)
	out.Scale(1/t, out)
	for i := range out.RawMatrix().Rows {
		row := out.RawRowView(i)
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return out
}

// TestNoBetterThanTheTruth: predictions that sharpen true ones show no gain in more than 5 % of the draws, though the
// labels that would speak against them are rare: expected 60, 3, 1 and .3 times in a draw. The t test alone finds a
// gain wherever none occurs.
func TestNoBetterThanTheTruth(t *testing.T) {
	const draws = 400
	for _, test := range []struct{ rare, sharp float64 }{{1, .9}, {4, .8}, {5, .5}, {7, .3}} {
		claimed, alone := 0, 0
		for k := range draws {
			b, labels := calibratedRows(300, 2, .5, test.rare, rand.New(rand.NewPCG(66, uint64(k))))
			a := tempered(b, test.sharp)
			var losses [2][]float64
			for m, p := range []*mat.Dense{a, b} {
				for i, y := range labels {
					losses[m] = append(losses[m], -p.At(i, y))
				}
			}
			law, err := NewLaw(a, b, labels, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			c, err := Ties{Law: law}.Compare(NLL, losses[0], losses[1])
			if err != nil {
				t.Fatal(err)
			}
			if c.Difference < 0 && c.PValue < .05 {
				claimed++
			}
			if t, err := Compare(losses[0], losses[1]); err == nil && t.Difference < 0 && t.PValue < .05 {
				alone++
			}
			if (c.PValue < .05) != (c.Interval.Low > 0 || c.Interval.High < 0) {
				t.Fatalf("draw %d: p = %v beside %v", k, c.PValue, c.Interval)
			}
		}
		if most := .05 + 2*math.Sqrt(.05*.95/draws); float64(claimed)/draws > most {
			t.Errorf("rare by %v: a gain in %d of %d draws", test.rare, claimed, draws)
		}
		t.Logf("rare by %v: %d of %d draws, %d by the t test alone", test.rare, claimed, draws, alone)
	}
}

// TestLaw: its logarithms are those of means over all labels of three rows, written out, and the bound holds the exact
// chance.
func TestLaw(t *testing.T) {
	rng := rand.New(rand.NewPCG(66, 1))
	b, labels := calibratedRows(3, 3, 1.5, 0, rng)
	a, _ := calibratedRows(3, 3, 1.5, 0, rng)
	weights := []float64{2, .5, .5}
	law, err := NewLaw(a, b, labels, Settings{Rows: weights})
	if err != nil {
		t.Fatal(err)
	}
	var means [len(tilts)]float64
	var sums, chances []float64
	for y := range 27 {
		sum, log := 0., 0.
		for i, c := range []int{y % 3, y / 3 % 3, y / 9} {
			sum += weights[i] * (b.At(i, c) - a.At(i, c))
			log += b.At(i, c)
		}
		sums, chances = append(sums, sum), append(chances, math.Exp(log))
		for k, lambda := range tilts {
			means[k] += math.Exp(log - lambda*sum)
		}
	}
	for k, mean := range means {
		if !near(law.Better.Logs[k], math.Log(mean), 1e-12) {
			t.Errorf("λ = %v: %v, want %v", tilts[k], law.Better.Logs[k], math.Log(mean))
		}
	}
	for _, s := range sums {
		exact := 0.
		for k, x := range sums {
			if x <= s {
				exact += chances[k]
			}
		}
		if s < 0 && law.chance(s, 1) < exact {
			t.Errorf("a chance of %v is bounded by %v", exact, law.chance(s, 1))
		}
	}
}

// Predictions that are equal but for rounding do not differ: 0, without an interval, and p = 1.
func TestCompareOfEqualPredictions(t *testing.T) {
	a := []float64{.1, .2, .3}
	b := []float64{.1 + 1e-17, .2, .3 + 1e-13}
	for _, ties := range []Ties{{}, {Folds: 5}, {Groups: []int{0, 0, 1}}, {Seeds: []float64{1e-18}, Tests: 3}} {
		c, err := ties.Compare(NLL, a, b)
		if err != nil || c.Difference != 0 || c.PValue != 1 || c.Interval.Low == c.Interval.Low {
			t.Errorf("%+v: %+v, %v", ties, c, err)
		}
	}
}

// TestSigns: of ten rows that one method alone has wrong, nine are the first's: p = 22/1024 (the binomial), where the t
// test has .012 of 30 rows.
func TestSigns(t *testing.T) {
	a, b := make([]float64, 30), make([]float64, 30)
	for i := range 9 {
		a[i] = 1
	}
	b[9] = 1
	c, err := Ties{}.Compare(Accuracy, a, b)
	if err != nil || !near(c.PValue, 22./1024, 1e-12) || c.Interval.Low <= 0 {
		t.Errorf("%+v, %v", c, err)
	}
}
