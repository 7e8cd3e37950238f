package study

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
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

// newRatio is nil where no source has both.
func newRatio(first, second string, sources []float64) (*ratio, error) {
	if len(sources) == 0 {
		return nil, nil
	}
	p, err := metrics.SignFlip(sources)
	if err != nil {
		return nil, fmt.Errorf("%s against %s: %w", first, second, err)
	}
	r := &ratio{first: first, second: second, sources: sources, p: p, low: math.Inf(-1), high: math.Inf(1)}
	mean, sd := stat.MeanStdDev(sources, nil)
	r.mean = mean
	if n := float64(len(sources)); n > 1 {
		half := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(.975) * sd / math.Sqrt(n)
		r.low, r.high = mean-half, mean+half
	}
	return r, nil
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

// nlls are the contender's on a source by seed, nil where it has none.
func (s *subject) nlls(name string) map[uint64]float64 {
	for _, r := range s.rows {
		if contender(r.spec) == name && len(r.results) > 0 {
			by := map[uint64]float64{}
			for _, result := range r.results {
				by[result.Spec.Seed] = at(result.Shared, metrics.NLL.String())
			}
			return by
		}
	}
	return nil
}

// ratio is that of two contenders over all sources.
func (f *Findings) ratio(p pair) (*ratio, error) {
	first, second := contender(p.first), contender(p.second)
	return newRatio(first, second, f.bySource(first, func(s *subject) map[uint64]float64 { return s.nlls(second) }))
}

// toBest is the ratio of a contender to that single method which has the lowest mean NLL on each source's test rows, in hindsight.
func (f *Findings) toBest(spec experiments.Spec) (*ratio, error) {
	return newRatio(contender(spec), "the best single method in hindsight", f.bySource(contender(spec), func(s *subject) (best map[uint64]float64) {
		least := math.Inf(1)
		for _, name := range single {
			if by := s.nlls(contender(fits(name, 1))); by != nil {
				if mean := meanOf(by); mean < least {
					best, least = by, mean
				}
			}
		}
		return best
	}))
}

func meanOf(by map[uint64]float64) (mean float64) {
	for _, seed := range slices.Sorted(maps.Keys(by)) {
		mean += by[seed] / float64(len(by))
	}
	return mean
}

// bySource are r_s of the first contender and what each source's second one has by seed.
func (f *Findings) bySource(first string, second func(*subject) map[uint64]float64) (sources []float64) {
	for _, s := range f.subjects() {
		a, b := s.nlls(first), second(s)
		var logs []float64
		for _, seed := range f.Settings.Seeds {
			x, one := a[seed]
			if y, other := b[seed]; one && other {
				logs = append(logs, math.Log(x/y))
			}
		}
		if logs != nil {
			sources = append(sources, stat.Mean(logs, nil))
		}
	}
	return sources
}

// ratios are the protocol's tests, and after them what is told besides: the means against the classifier and against
// the best single method of each source.
func (f *Findings) ratios() (tests, besides []*ratio, err error) {
	for _, p := range asked {
		r, err := f.ratio(p)
		if err != nil {
			return nil, nil, err
		}
		if r != nil {
			tests = append(tests, r)
		}
	}
	add := func(r *ratio, failed error) {
		if r != nil {
			besides = append(besides, r)
		}
		if err == nil {
			err = failed
		}
	}
	for _, one := range gainers {
		add(f.ratio(pair{one, fits(report.Classifier, 1)}))
		add(f.toBest(one))
	}
	return tests, besides, err
}

// across is the section of the comparisons with sources as units.
func across(_ context.Context, f *Findings) (*report.Section, error) {
	tests, besides, err := f.ratios()
	if err != nil || tests == nil {
		return nil, err
	}
	table := func(caption string, all []*ratio) *report.Table {
		t := &report.Table{Caption: caption, Labels: []string{"First", "Second"}, Values: report.Heads("change of NLL", "95 % interval", "lower on", "p")}
		for _, r := range all {
			t.Add("", report.Row{Labels: []string{r.first, r.second}, Cells: report.Texts(
				percent(r.mean), percent(r.low)+" to "+percent(r.high), fmt.Sprintf("%d of %d", r.lower(), len(r.sources)), report.P(r.p))})
		}
		return t
	}
	return &report.Section{Title: "Across sources",
		Note: "The mean over the sources of the log-ratio of NLL on test rows, the seeds averaged within a source, as a change in percent: below 0 the first is better. p is of the exact sign-flip test over the sources.",
		Tables: []*report.Table{table("The tests of the protocol, in their order.", tests),
			table("What is told besides.", besides)},
	}, nil
}

// percent writes the change that a log-ratio stands for.
func percent(logRatio float64) string { return metrics.Signed(100*math.Expm1(logRatio), 1) + " %" }

// writeTests writes the comparisons with sources as units.
func writeTests(_ context.Context, f *Findings, out io.Writer) error {
	tests, besides, err := f.ratios()
	if err != nil {
		return err
	}
	lines := [][]string{{"test", "first", "second", "sources", "lower_on", "log_ratio", "low", "high", "p"}}
	for i, r := range slices.Concat(tests, besides) {
		test := ""
		if i < len(tests) {
			test = fmt.Sprint(i + 1)
		}
		lines = append(lines, []string{test, r.first, r.second, fmt.Sprint(len(r.sources)), fmt.Sprint(r.lower()), number(r.mean), number(r.low), number(r.high), number(r.p)})
	}
	w := csv.NewWriter(out)
	return w.WriteAll(lines)
}
