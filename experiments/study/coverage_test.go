package study

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// law is rows of which the truth is known: true scores s of three classes are normal, labels are drawn from softmax(s +
// offset of class 2), and the classifier says s times a number, with that offset. Their embedding is the first two
// scores.
type law struct {
	name   string
	spread float64 // standard deviation of s
	offset float64
	times  float64
	pareto float64 // shape of the weights; 0: none
}

// lawRows are rows with their true log-probabilities.
type lawRows struct {
	*data.Set              // with Features, the embedding
	said, truth *mat.Dense // N×3 each, log-probabilities
}

func (l law) draw(n int, rng *rand.Rand) *lawRows {
	set := &data.Set{Features: mat.NewDense(n, 2, nil), Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	r := &lawRows{set, mat.NewDense(n, 3, nil), mat.NewDense(n, 3, nil)}
	if l.pareto > 0 {
		r.Weights = make([]float64, n)
	}
	for i := range n {
		truth, says := r.truth.RawRowView(i), r.said.RawRowView(i)
		for c := range truth {
			truth[c] = l.spread * rng.NormFloat64()
		}
		r.Set.Features.(*mat.Dense).SetRow(i, truth[:2])
		truth[2] += l.offset
		floats.ScaleTo(says, l.times, truth)
		floats.AddConst(-floats.LogSumExp(truth), truth)
		floats.AddConst(-floats.LogSumExp(says), says)
		r.Logits.SetRow(i, says)
		for u := rng.Float64() - math.Exp(truth[0]); u > 0 && r.Labels[i] < 2; u -= math.Exp(truth[r.Labels[i]]) {
			r.Labels[i]++
		}
		if l.pareto > 0 {
			r.Weights[i] = math.Exp(rng.ExpFloat64() / l.pareto)
		}
	}
	return r
}

// risk is the true NLL of log-probabilities for the rows.
func (r *lawRows) risk(logProbs *mat.Dense) (nll float64) {
	for i := range r.Labels {
		for c, q := range r.truth.RawRowView(i) {
			nll -= math.Exp(q) * logProbs.At(i, c) / float64(len(r.Labels))
		}
	}
	return nll
}

// covering is a share of draws, or of what stands in a draw, whose interval holds the truth.
type covering struct {
	interval, setting string
	rows              int
	covered, squares  float64 // over draws, sums of the share that is covered, and of its square
	of                float64
}

// coverage is a table of them, in the order in which they are first seen.
type coverage struct {
	order []*covering
	by    map[string]*covering
}

// add counts a draw: share is 1 or 0 of one interval, a share of several, and NaN of none.
func (c *coverage) add(interval, setting string, rows int, share float64) {
	key := fmt.Sprint(interval, setting, rows)
	if math.IsNaN(share) {
		return
	}
	if c.by[key] == nil {
		c.by[key] = &covering{interval: interval, setting: setting, rows: rows}
		c.order = append(c.order, c.by[key])
	}
	h := c.by[key]
	h.covered, h.squares, h.of = h.covered+share, h.squares+share*share, h.of+1
}

// holds is 1 where an interval holds a value, 0 where it does not, and NaN where there is none.
func holds(i metrics.Interval, value float64) float64 {
	switch {
	case math.IsNaN(i.Low):
		return math.NaN()
	case i.Low <= value && value <= i.High:
		return 1
	}
	return 0
}

func (h *covering) share() float64 { return h.covered / h.of }

// se is the standard error of the share.
func (h *covering) se() float64 { return math.Sqrt(max(0, h.squares/h.of-h.share()*h.share()) / h.of) }

// metricsOf adds the intervals of evaluate for draws of a law. The truth of accuracy, NLL and Brier score is that of
// the law. That of errors and of parts of scores, which few rows raise, is of two kinds: the mean of the same statistic
// over draws of as many rows, and the value of many rows, which is 0 of an error of calibrated predictions.
func (c *coverage) metricsOf(t *testing.T, l law, rows, draws int) {
	t.Helper()
	settings := metrics.Settings{SmallBin: metrics.NoSmallBin}
	measure := func(x *lawRows, u metrics.Uncertainty, k int) *metrics.Report {
		s := settings
		s.Rows = x.Weights
		r, err := metrics.Evaluate(t.Context(), x.said, x.Labels, x.Features, s, u, rand.New(rand.NewPCG(uint64(k), 1)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	many := l
	many.pareto = 0
	alone := metrics.Uncertainty{Replicates: metrics.None, Redraws: metrics.None}
	truth := measure(many.draw(20000, rand.New(rand.NewPCG(3, 3))), alone, 0)
	var drawn [][]metrics.Measured
	for k := range draws {
		r := measure(l.draw(rows, rand.New(rand.NewPCG(71, uint64(k)))), metrics.Uncertainty{}, k)
		drawn = append(drawn, append(r.Measured(), r.Decomposition.Measured()...))
	}
	for m, of := range append(truth.Measured(), truth.Decomposition.Measured()...) {
		name, mean := of.Title, 0.
		if m >= len(truth.Measured()) {
			name = partNames[m-len(truth.Measured())]
		}
		for _, d := range drawn {
			mean += d[m].Value / float64(draws)
		}
		for _, d := range drawn {
			switch {
			case m <= int(metrics.Brier) || strings.HasSuffix(name, "uncertainty"):
				c.add(name, l.name, rows, holds(d[m].Interval, of.Value))
			default:
				many := of.Value
				if part := m - len(truth.Measured()); l.times == 1 && (part < 0 || part%3 == 0) {
					many = 0
				}
				c.add(name+", mean of as many rows", l.name, rows, holds(d[m].Interval, mean))
				c.add(name+", of many rows", l.name, rows, holds(d[m].Many, many))
			}
		}
	}
}

// partNames are those of a decomposition's parts in the table.
var partNames = []string{
	"NLL: miscalibration", "NLL: discrimination", "NLL: uncertainty",
	"Brier: miscalibration", "Brier: discrimination", "Brier: uncertainty",
}

// posteriors adds the 90 % intervals of vector scaling's posteriors, fitted to draws of a law, at 200 other rows; of
// classes that are trusted and of the others each.
func (c *coverage) posteriors(t *testing.T, l law, rows, draws int) {
	t.Helper()
	for k := range draws {
		rng := rand.New(rand.NewPCG(72, uint64(k)))
		cal, test := l.draw(rows, rng), l.draw(200, rng)
		src := &data.Source{Classes: 3, Cal: cal.Set, Test: test.Set}
		run, err := run.Spec{Method: "vector", Split: data.NoValidation}.Fit(t.Context(), src, nil)
		if err != nil {
			t.Fatal(err)
		}
		model := run.Model.(layers.Bounded)
		lower, upper, err := model.Bounds(t.Context(), cal.ForFit(), test.Set, .9)
		trust := layers.Trusted(cal.Set, model.Sizes())
		for class, trusted := range trust {
			name, share := fmt.Sprintf("posterior of class %d", class), 0.
			if trusted == 0 {
				name += ", not trusted"
			}
			for i := range test.Labels {
				if err != nil { // the command says so
					share = math.NaN()
					break
				}
				p := math.Exp(test.truth.At(i, class))
				share += holds(metrics.Interval{Low: lower.At(i, class), High: upper.At(i, class)}, p) / float64(test.Len())
			}
			c.add(name, l.name, rows, share)
		}
	}
}

// crossFitted adds the intervals of the difference in NLL that temperature scaling makes, by fits to five folds of
// draws of a law. The truth is the mean over the folds' fits of their difference for 4,000 rows.
func (c *coverage) crossFitted(t *testing.T, l law, rows, draws int) {
	t.Helper()
	const folds = 5
	many := l.draw(4000, rand.New(rand.NewPCG(4, 4)))
	before := many.risk(many.said)
	for k := range draws {
		x := l.draw(rows, rand.New(rand.NewPCG(73, uint64(k))))
		a, b, truth := make([]float64, rows), make([]float64, rows), 0.
		for f := range folds {
			var fit, held []int
			for i := range rows {
				if i%folds == f {
					held = append(held, i)
				} else {
					fit = append(fit, i)
				}
			}
			src := &data.Source{Classes: 3, Cal: x.Set.Rows(fit), Test: x.Set.Rows(held)}
			fitted, err := run.Spec{Method: "ts", Split: data.NoValidation}.Fit(t.Context(), src, nil)
			if err != nil {
				t.Fatal(err)
			}
			for at, i := range held {
				b[i] = -x.said.At(i, x.Labels[i])
				a[i] = -fitted.Outcome.Predictions.LogProbs.At(at, x.Labels[i])
			}
			p, err := run.Predict(fitted.Model, many.Set)
			if err != nil {
				t.Fatal(err)
			}
			truth += (many.risk(p.LogProbs) - before) / folds
		}
		d, err := metrics.Ties{Folds: folds}.Compare(metrics.NLL, a, b)
		if err != nil {
			t.Fatal(err)
		}
		c.add("NLL difference by --folds 5", l.name, rows, holds(d.Interval, truth))
	}
}

// TestCoverage counts in how many draws the intervals that commands print hold the truth. None that is trusted holds it
// in less than .85 of them by more than chance, four standard errors, but those of maxima, whose bootstrap is not
// consistent. CALIBRA_CHECK=all draws 400 times, of up to 3,000 rows; with CALIBRA_UPDATE=1 it writes
// results/coverage.csv.
func TestCoverage(t *testing.T) {
	draws, sizes := 6, []int{30}
	if whole() {
		draws, sizes = 400, []int{30, 100, 300, 1000, 3000}
	}
	c := &coverage{by: map[string]*covering{}}
	for _, rows := range sizes {
		for _, l := range []law{
			{name: "calibrated", spread: 1.5, times: 1},
			{name: "overconfident by 2", spread: 1.5, times: 2},
			{name: "overconfident by 2, Pareto weights", spread: 1.5, times: 2, pareto: 1.5},
			{name: "accurate", spread: 8, times: 1},
		} {
			c.metricsOf(t, l, rows, draws)
		}
		for _, l := range []law{
			{name: "calibrated", spread: 1.5, times: 1},
			{name: "rare class, offset −6", spread: 1, offset: -6, times: 1},
		} {
			c.posteriors(t, l, rows, draws)
		}
		c.crossFitted(t, law{name: "overconfident by 1.2", spread: 1.5, times: 1.2}, rows, draws)
	}
	file := new(bytes.Buffer)
	file.WriteString("interval,setting,rows,draws,covered,share,standard_error\n")
	for _, h := range c.order {
		chance := math.Sqrt(.85 * .15 / h.of)
		ofMaximum := strings.HasPrefix(h.interval, "MCE") || strings.HasPrefix(h.interval, "MLCE")
		if !strings.HasSuffix(h.interval, "not trusted") && !ofMaximum && h.share()+4*max(chance, h.se()) < .85 {
			t.Errorf("%s, %s, %d rows: the interval holds the truth in %.3f of %.0f draws", h.interval, h.setting, h.rows, h.share(), h.of)
		}
		fmt.Fprintf(file, "%q,%q,%d,%.0f,%.1f,%.3f,%.3f\n", h.interval, h.setting, h.rows, h.of, h.covered, h.share(), h.se())
	}
	keep(t, "../results/coverage.csv", file.Bytes())
}

// whole reports whether a study is drawn as often as its table in results says.
func whole() bool { return os.Getenv("CALIBRA_CHECK") == "all" }

// keep compares a table with its file in results: with CALIBRA_CHECK=all, and with CALIBRA_UPDATE=1 besides it writes
// the file. Of fewer draws it is logged.
func keep(t *testing.T, path string, table []byte) {
	t.Helper()
	switch {
	case !whole():
		t.Logf("\n%s", table)
	case os.Getenv("CALIBRA_UPDATE") != "":
		if err := os.WriteFile(path, table, 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, table) {
			t.Errorf("%s is stale (%v):\n%s", path, err, table)
		}
	}
}
