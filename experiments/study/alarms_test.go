package study

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/verdict"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// madeRows are rows of which the truth is known: the true scores s of three classes are normal, labels are drawn from
// softmax(s), and the classifier says s times a number.
type madeRows struct {
	name  string
	times float64
	cal   int  // rows to fit on
	asBad bool // the methods are not fitted: they are predictions with other errors, as large as the classifier's
}

var allMade = []madeRows{
	{"calibrated, 300 rows to fit on", 1, 300, false},
	{"calibrated, 3,000 rows to fit on", 1, 3000, false},
	{"overconfident by 1.5, and the methods are wrong by as much", 1.5, 10, true},
	{"overconfident by 1.2, 300 rows to fit on", 1.2, 300, false},
	{"overconfident by 1.5, 300 rows to fit on", 1.5, 300, false},
	{"overconfident by 2, 300 rows to fit on", 2, 300, false},
}

// fourMethods are asked about: the first alone, as by fit, and all of them, as by compare.
var fourMethods = []string{"ts", "vector", "beta", "ir"}

const testRows = 300 // for test

// population is rows whose true scores are known, of which others are drawn.
type population struct {
	scores *mat.Dense // N×3, s
	p      *mat.Dense // N×3, softmax(s)
}

func newPopulation(n int, rng *rand.Rand) *population {
	x := &population{scores: mat.NewDense(n, 3, nil), p: mat.NewDense(n, 3, nil)}
	for i := range n {
		s := x.scores.RawRowView(i)
		for c := range s {
			s[c] = 1.5 * rng.NormFloat64()
		}
		for c, sum := 0, floats.LogSumExp(s); c < 3; c++ {
			x.p.Set(i, c, math.Exp(s[c]-sum))
		}
	}
	return x
}

// draw draws rows with their labels; the classifier says the scores times a number.
func (x *population) draw(n int, times float64, rng *rand.Rand) (set *data.Set, rows []int) {
	all, _ := x.p.Dims()
	set, rows = &data.Set{Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}, make([]int, n)
	for i := range rows {
		rows[i] = rng.IntN(all)
		floats.ScaleTo(set.Logits.RawRowView(i), times, x.scores.RawRowView(rows[i]))
		for u := rng.Float64() - x.p.At(rows[i], 0); u > 0 && set.Labels[i] < 2; u -= x.p.At(rows[i], set.Labels[i]) {
			set.Labels[i]++
		}
	}
	return set, rows
}

// risk is the true NLL of log-probabilities for all rows.
func (x *population) risk(logProbs *mat.Dense) (nll float64) {
	n, _ := x.p.Dims()
	for i := range n {
		nll -= floats.Dot(x.p.RawRowView(i), logProbs.RawRowView(i)) / float64(n)
	}
	return nll
}

// says are the log-probabilities of scores times a number, to which one class has an addition.
func (x *population) says(times float64, class int, more float64) *mat.Dense {
	out := mat.NewDense(1, 1, nil)
	out.CloneFrom(x.scores)
	n, _ := out.Dims()
	for i := range n {
		row := out.RawRowView(i)
		floats.Scale(times, row)
		row[class] += more
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return out
}

// asBad are four predictions for all rows, each wrong in its own way and with the true NLL of the classifier that says
// the scores times a number: too cautious, or right but for one class that is too likely.
func (x *population) asBad(times float64) (all []*mat.Dense) {
	want := x.risk(x.says(times, 0, 0))
	for k := range 4 {
		say := func(wrong float64) *mat.Dense { return x.says(1, max(k-1, 0), wrong) }
		if k == 0 {
			say = func(wrong float64) *mat.Dense { return x.says(1-wrong, 0, 0) }
		}
		low, high := 0., 3. // the risk grows with the wrong
		if k == 0 {
			high = 1
		}
		for range 40 {
			if middle := (low + high) / 2; x.risk(say(middle)) < want {
				low = middle
			} else {
				high = middle
			}
		}
		all = append(all, say(low))
	}
	return all
}

// said is how often verdicts of draws said what.
type said struct {
	draws             int
	of                map[verdict.Say]int
	useless, harmless int // to use what gains nothing, and not to use what does no harm
	better            int // where the paired t test of the first method shows a gain that matters
}

// add counts a verdict. gains are the true ones of methods, whose losses of rows are beside the classifier's.
func (s *said) add(v *verdict.Verdict, gains map[string]float64, before, after []float64) {
	s.draws++
	s.of[v.Say]++
	matters := 1e-3 * stat.Mean(before, nil) // as the verdict has it
	if v.Say == verdict.Use && gains[v.Method] <= 0 {
		s.useless++
	}
	if slices.ContainsFunc(v.Avoid, func(name string) bool { return gains[name] > -matters }) {
		s.harmless++
	}
	d := floats.SubTo(make([]float64, len(before)), before, after)
	mean, sd := stat.MeanStdDev(d, nil)
	n := float64(len(d))
	if t := mean / sd * math.Sqrt(n); mean > matters && t > (distuv.StudentsT{Sigma: 1, Nu: n - 1}).Quantile(.975) {
		s.better++
	}
}

// draw asks for the verdicts on draw k of the rows, bad being the predictions of methods that are not fitted: of one
// method, of four, and of corrections by cross-fits, as evaluate has them.
func (d madeRows) draw(t *testing.T, x *population, bad []*mat.Dense, k int, one, four, corrections *said) {
	t.Helper()
	rng := rand.New(rand.NewPCG(53, uint64(k)))
	test, rows := x.draw(testRows, d.times, rng)
	src := &data.Source{Classes: 3, Test: test}
	src.Cal, _ = x.draw(d.cal, d.times, rng)
	all := &data.Set{Logits: mat.NewDense(1, 1, nil)}
	all.Logits.CloneFrom(x.scores)
	all.Logits.Scale(d.times, all.Logits)
	before, gains := x.risk(x.says(d.times, 0, 0)), map[string]float64{}
	var runs []Weighed
	for m, name := range slices.Concat([]string{verdict.Classifier}, fourMethods) {
		spec := run.Spec{Method: name, Split: data.NoValidation}
		var r *run.Run
		var err error
		if m > 0 && bad != nil {
			p := &data.Predictions{LogProbs: mat.NewDense(testRows, 3, nil), Labels: test.Labels}
			for i, row := range rows {
				p.LogProbs.SetRow(i, bad[m-1].RawRowView(row))
			}
			r, err = spec.JudgePredictions(t.Context(), p, nil, nil)
		} else if r, err = spec.Fit(t.Context(), src, nil); err == nil {
			var p *data.Predictions
			if p, err = run.Predict(r.Model, all); err == nil {
				gains[name] = before - x.risk(p.LogProbs)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, Weighed{Run: r, Title: r.Spec.Method})
	}
	losses := func(m int) []float64 { return runs[m].Outcome.Metrics.NLL }
	for n, s := range map[int]*said{2: one, 1 + len(fourMethods): four} {
		s.add(Weigh(runs[:n]), gains, losses(0), losses(1))
	}
	if bad != nil {
		return
	}
	p := runs[0].Outcome.Predictions
	recovered, err := diagnosis.Recover(t.Context(), p.LogProbs, p.Labels, nil, diagnosis.Recovery{}, rng)
	if err != nil {
		t.Fatal(err)
	}
	v := verdict.JudgeCorrections(testRows, runs[0].Outcome.Metrics.Values[metrics.NLL], 0, recovered)
	corrections.add(v, map[string]float64{verdict.Corrections[1]: d.times - 1}, losses(0), floats.SubTo(make([]float64, testRows), losses(0), recovered.GlobalNLL))
}

// TestFalseAlarms draws predictions whose errors are known. No method is said to help, or to harm, that does not, in
// more than the 5 % of draws that Holm allows, and what one method gains is found as often as the paired t test finds
// it. CALIBRA_CHECK=all draws 400 times, which the guide tells by results/verdict-alarms.csv (CALIBRA_UPDATE=1 writes
// it).
func TestFalseAlarms(t *testing.T) {
	draws := 12
	if whole() {
		draws = 400
	}
	// Alarms in 5 % of the draws are more than most once in a thousand times.
	chance, most := distuv.Binomial{N: float64(draws), P: .05}, 0
	for chance.CDF(float64(most)) < 1-1e-3 {
		most++
	}
	x := newPopulation(4000, rand.New(rand.NewPCG(53, 0)))
	file := new(bytes.Buffer)
	file.WriteString("predictions,draws,use,leave,do_not_use,cannot_tell,useless,harmless,t_test\n")
	for _, d := range allMade {
		var bad []*mat.Dense
		if d.asBad {
			bad = x.asBad(d.times)
		}
		one, four, corrections := &said{of: map[verdict.Say]int{}}, &said{of: map[verdict.Say]int{}}, &said{of: map[verdict.Say]int{}}
		for k := range draws {
			d.draw(t, x, bad, k+1, one, four, corrections)
		}
		for _, of := range []struct {
			asked string
			*said
		}{{"one method", one}, {"four methods", four}, {"corrections", corrections}} {
			if of.draws == 0 {
				continue
			}
			name := d.name + ": " + of.asked
			fmt.Fprintf(file, "%q,%d,%d,%d,%d,%d,%d,%d,%d\n", name, draws, of.of[verdict.Use], of.of[verdict.Leave], of.of[verdict.DoNotUse], of.of[verdict.CannotTell], of.useless, of.harmless, of.better)
			if of.useless+of.harmless > most {
				t.Errorf("%s: of %d draws %d say to use what gains nothing, and %d not to use what does no harm; chance allows %d", name, draws, of.useless, of.harmless, most)
			}
			if of.said == one && of.of[verdict.Use] != of.better {
				t.Errorf("%s: the paired t test finds a gain %d times, and the verdict %d times", name, of.better, of.of[verdict.Use])
			}
		}
	}
	keep(t, "../results/verdict-alarms.csv", file.Bytes())
}
