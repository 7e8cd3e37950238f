package study

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/verdict"

	"gonum.org/v1/gonum/stat"
)

// ratio is the comparison of two contenders by NLL with the sources as units:
//
//	r_s = mean over the seeds of log(NLL_first / NLL_second) on the test rows of source s
type ratio struct {
	first, second string
	sources       []float64 // r_s
	mean          float64
	low, high     float64 // 95 % interval of the mean by Student's t with one degree of freedom less than sources
	p             float64 // of the exact sign-flip test
}

// newRatio is nil where no source has both, or where they are too many for the test.
func (f *Findings) newRatio(first, second string, sources []float64) *ratio {
	if len(sources) == 0 {
		return nil
	}
	p, err := metrics.SignFlip(sources)
	c, failed := metrics.Compare(sources, make([]float64, len(sources)))
	if err = cmp.Or(err, failed); err != nil {
		f.err = fmt.Errorf("%s against %s: %w", first, second, err)
		return nil
	}
	r := &ratio{first: first, second: second, sources: sources, mean: c.Difference, p: p, low: math.Inf(-1), high: math.Inf(1)}
	if len(sources) > 1 {
		r.low, r.high = c.Interval.Low, c.Interval.High
	}
	return r
}

// lower is on how many sources the first has the lower NLL.
func (r *ratio) lower() (n int) {
	for _, v := range r.sources {
		if v < 0 {
			n++
		}
	}
	return n
}

// contender is its row, nil where it has no results.
func (s *subject) contender(spec run.Spec) *row {
	if i := slices.IndexFunc(s.rows, func(r *row) bool { return contender(r.spec) == contender(spec) && len(r.results) > 0 }); i >= 0 {
		return s.rows[i]
	}
	return nil
}

// ratio is that of two contenders over all sources.
func (f *Findings) ratio(p pair) *ratio {
	sources := f.bySource(p.first, func(s *subject) *row { return s.contender(p.second) })
	return f.newRatio(contender(p.first), contender(p.second), sources)
}

// toBest is the ratio of a contender to that single method which has the lowest mean NLL on each source's test rows, in hindsight.
func (f *Findings) toBest(spec run.Spec) *ratio {
	return f.newRatio(contender(spec), "the best single method in hindsight", f.bySource(spec, func(s *subject) (best *row) {
		least := math.Inf(1)
		for _, name := range single {
			if r := s.contender(fits(name, 1)); r != nil {
				if mean := r.spread(sharedMetric(metrics.NLL)).Mean; mean < least {
					best, least = r, mean
				}
			}
		}
		return best
	}))
}

// bySource are r_s of the first contender and a second row of each source.
func (f *Findings) bySource(first run.Spec, second func(*subject) *row) (sources []float64) {
	nll := sharedMetric(metrics.NLL).value
	for _, s := range f.subjects() {
		a, b := s.contender(first), second(s)
		if a == nil || b == nil {
			continue
		}
		var logs []float64
		x, y := common(a, b)
		for k := range x {
			logs = append(logs, math.Log(nll(x[k])/nll(y[k])))
		}
		if logs != nil {
			sources = append(sources, stat.Mean(logs, nil))
		}
	}
	return sources
}

// ratios are the protocol's tests, and what is told besides: the means against the classifier, and against the best
// single method of each source. Those of which no source has both contenders are nil.
func (f *Findings) ratios() (tests, besides []*ratio) {
	for _, one := range gainers {
		besides = append(besides, f.ratio(pair{one, fits(verdict.Classifier, 1)}), f.toBest(one))
	}
	return data.Each(asked, f.ratio), besides
}

// across is the section of the comparisons with sources as units.
func across(f *Findings) *report.Section {
	tests, besides := f.ratios()
	table := func(caption string, all []*ratio) *report.Table {
		t := &report.Table{Caption: caption, Labels: []string{"First", "Second"}, Values: report.Heads("change of NLL", "95 % interval", "lower on", "p")}
		for _, r := range all {
			if r == nil {
				continue
			}
			t.Add("", report.Row{Labels: []string{r.first, r.second}, Cells: report.Texts(
				percent(r.mean), percent(r.low)+" to "+percent(r.high), fmt.Sprintf("%d of %d", r.lower(), len(r.sources)), verdict.P(r.p))})
		}
		return t
	}
	return &report.Section{Title: "Across sources",
		Note: "The log-ratio of NLL on test rows, averaged over the seeds of a source and then over the sources, as a change in percent: below 0 the first is better. p comes from the exact sign-flip test over the sources.",
		Tables: []*report.Table{table("The tests of the protocol, in their order.", tests),
			table("What is told besides.", besides)},
	}
}

// percent writes the change that a log-ratio stands for.
func percent(logRatio float64) string { return metrics.Signed(100*math.Expm1(logRatio), 1) + " %" }

// writeTests writes the comparisons with sources as units.
func writeTests(f *Findings, out io.Writer) error {
	tests, besides := f.ratios()
	lines := [][]string{{"test", "first", "second", "sources", "lower_on", "log_ratio", "low", "high", "p"}}
	for i, r := range slices.Concat(tests, besides) {
		if r == nil {
			continue
		}
		test := ""
		if i < len(tests) {
			test = fmt.Sprint(i + 1)
		}
		lines = append(lines, []string{test, r.first, r.second, fmt.Sprint(len(r.sources)), fmt.Sprint(r.lower()), number(r.mean), number(r.low), number(r.high), number(r.p)})
	}
	return data.WriteCSV(out, lines)
}
