package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
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

// TestOverSeeds: 400 rows of standard deviation .5, and three seeds; by scipy.stats.t of the degrees of freedom of Satterthwaite, SciPy 1.17.1.
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

// TestCompareGroups: groups of one row are rows, and rows that are in the file three times, each a group with its copies, say as much
// as one of them. Cross-fitting in five folds makes intervals 1.5 times as wide, √(1 + 5/4).
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
