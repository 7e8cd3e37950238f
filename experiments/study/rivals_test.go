package study

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/experiments"
	"calibra/experiments/metrics"
)

// drawnRows are two methods on three seeds, 400 rows each: the losses of the first are lower by
// each seed's shift, with some noise.
func drawnRows(shifts ...float64) (a, b *row) {
	a, b = &row{}, &row{}
	rng := rand.New(rand.NewPCG(1, 0))
	for seed, shift := range shifts {
		x, y := &Result{TestRows: 400}, &Result{TestRows: 400}
		for i := range 400 {
			loss := rng.Float64()
			x.Losses, y.Losses = append(x.Losses, float32(loss-shift+0.01*rng.NormFloat64())), append(y.Losses, float32(loss))
			number := seed*400 + i
			x.Rows, y.Rows = append(x.Rows, number), append(y.Rows, number)
		}
		for _, r := range []*Result{x, y} {
			var sum float64
			for _, l := range r.Losses {
				sum += float64(l) / 400
			}
			r.Shared = map[string]float64{metrics.NLL.String(): sum}
			r.Spec = experiments.Spec{Seed: uint64(seed)}
		}
		a.results, b.results = append(a.results, x), append(b.results, y)
	}
	return a, b
}

// TestLeftOutSeeds: seeds that agree lie in the intervals of the others; one far off lies outside
// of what two that agree say, and makes their own intervals, with it among them, too wide to miss.
func TestLeftOutSeeds(t *testing.T) {
	a, b := drawnRows(0.1, 0.1, 0.1)
	if inside, of, err := leftOut(t.Context(), a, b); err != nil || inside != 3 || of != 3 {
		t.Errorf("%d of %d seeds that agree are inside: %v", inside, of, err)
	}
	a, b = drawnRows(0.1, 0.101, 0.9)
	if inside, of, err := leftOut(t.Context(), a, b); err != nil || inside != 2 || of != 3 {
		t.Errorf("%d of %d seeds are inside, one of which is far off: %v", inside, of, err)
	}
	a, b = drawnRows(0.1, 0.1)
	if _, of, err := leftOut(t.Context(), a, b); err != nil || of != 0 {
		t.Errorf("of two seeds %d are judged by one: %v", of, err)
	}
}

// TestVarianceOfADifference is that over the rows and that of the seeds.
func TestVarianceOfADifference(t *testing.T) {
	a, b := drawnRows(0.1, 0.2, 0.3)
	d, err := overSeedsAndRows(t.Context(), a, b)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(d.Difference+0.2) > 0.002 || math.Abs(d.between-0.01) > 0.001 { // the noise of 400 rows is 0.0005
		t.Errorf("difference %v, variance between seeds %v, want −0.2 and 0.01", d.Difference, d.between)
	}
	if !(d.Interval.Low < -0.4 && d.Interval.High > 0) { // 4.3 standard errors of 0.058, of two degrees of freedom
		t.Errorf("interval %v … %v of three seeds that differ so", d.Interval.Low, d.Interval.High)
	}
}

// drawnFindings are two sources with three seeds of the methods of Rivals' pairs. The losses of
// corrected-learned are lower than those of the others by gain, give or take the seed.
func drawnFindings(gain float64) *Findings {
	f := &Findings{Study: &rivalsStudy}
	rng := rand.New(rand.NewPCG(2, 0))
	for _, name := range []string{"one", "two"} {
		origin := &experiments.Origin{Name: name}
		for seed := range uint64(3) {
			off := 0.001 * float64(seed)
			for _, method := range []string{"nc", "stacked-learned", "corrected", "rival", "corrected-learned"} {
				r := &Result{TestRows: 300, Spec: experiments.Spec{Method: method, Seed: seed}, Shared: map[string]float64{}}
				for i := range 300 {
					loss := 1 + 0.1*rng.NormFloat64()
					if method == "corrected-learned" {
						loss -= gain + off
					}
					r.Losses, r.Rows = append(r.Losses, float32(loss)), append(r.Rows, int(seed)*300+i)
					r.Shared[metrics.NLL.String()] += loss / 300
				}
				f.Cells, f.Results = append(f.Cells, SpecCell{Origin: origin, Spec: r.Spec}), append(f.Results, r)
			}
		}
	}
	return f
}

// TestRivalsAreTestedTogether: the file's tests of pairs are those over seeds and rows, wider than
// over the rows alone, and their p is corrected over the pairs of all sources.
func TestRivalsAreTestedTogether(t *testing.T) {
	f := drawnFindings(0.05)
	all, err := f.tests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	named := all.named(rivalsStudy.Pairs...)
	if len(named) != 6 {
		t.Fatalf("%d tests of three pairs on two sources", len(named))
	}
	var p []float64
	for _, n := range named {
		rows, err := pairedLosses(t.Context(), n.a, n.b, sharedMetric(metrics.NLL))
		if err != nil {
			t.Fatal(err)
		}
		if !(n.Interval.High-n.Interval.Low > rows.Interval.High-rows.Interval.Low) {
			t.Errorf("%s against %s: the interval %v is not wider than %v of the rows alone", n.a.spec.Method, n.against(), n.Interval, rows.Interval)
		}
		p = append(p, n.PValue)
	}
	for i, want := range metrics.Holm(p) {
		if named[i].corrected != want {
			t.Errorf("test %d: p is %v after correction over all, want %v", i, named[i].corrected, want)
		}
	}
	var file strings.Builder
	if err := f.writeTests(t.Context(), &file); err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(file.String(), "\npair,"); got != 6 {
		t.Errorf("tests.csv has %d named pairs, want 6:\n%s", got, file.String())
	}
}
