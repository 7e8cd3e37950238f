package study

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// Pair is a method and another that it is tested against.
type Pair struct{ Method, Against string }

// test is the difference in NLL of two rows of a subject, a less b.
type test struct {
	subject *subject
	kind    string // what tables of the tests call b
	a, b    *row
	*paired // its corrected p is that of the family
}

// tests are those of a study, in two families.
type tests struct {
	pairs   map[Pair][]*test // a source each; for Holm's correction see Study.Compare
	against []*test          // every row against the classifier as it is; over all of them
}

// tuned is the row of the method that chose its settings, else any of it; nil if it has no
// results.
func (s *subject) tuned(method string) (found *row) {
	for _, r := range s.rows {
		if r.spec.Method == method && len(r.results) > 0 && (found == nil || r.spec.Tune) {
			found = r
		}
	}
	return found
}

// tests makes the tests of the study, once.
func (f *Findings) tests(ctx context.Context) (*tests, error) {
	if f.tested != nil {
		return f.tested, nil
	}
	out := &tests{pairs: map[Pair][]*test{}}
	for _, s := range f.subjects() {
		nc := s.tuned("nc")
		for _, r := range s.rows {
			out.against = append(out.against, s.test(r, nc)...)
		}
		for _, p := range f.Study.Pairs {
			out.pairs[p] = append(out.pairs[p], s.test(s.tuned(p.Method), s.tuned(p.Against))...)
		}
	}
	all := slices.Concat(out.against, out.named(f.Study.Pairs))
	together, compare := f.Study.Compare != nil, f.Study.Compare
	if !together {
		compare = overRows
	}
	errs := make([]error, len(all))
	if err := experiments.SideBySide(ctx, len(all), 0, func(i int) {
		all[i].paired, errs[i] = compare(ctx, all[i].a, all[i].b)
	}, nil); err != nil {
		return nil, err
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out.against = computed(out.against)
	correctTests(out.against)
	for p, family := range out.pairs {
		if out.pairs[p] = computed(family); !together {
			correctTests(out.pairs[p])
		}
	}
	if together {
		correctTests(out.named(f.Study.Pairs))
	}
	f.tested = out
	return out, nil
}

// test is that of a against b, not yet computed; none where one of them has no results, or they are one.
func (s *subject) test(a, b *row) []*test {
	if a == nil || b == nil || a == b || len(a.results) == 0 {
		return nil
	}
	return []*test{{subject: s, kind: MethodTitle(b.spec.Method), a: a, b: b}}
}

// overRows is the difference a − b in NLL with an interval over the test rows alone.
func overRows(ctx context.Context, a, b *row) (*paired, error) {
	return pairedLosses(ctx, a, b, sharedMetric(metrics.NLL))
}

// computed leaves out the tests of rows without a common seed.
func computed(family []*test) []*test {
	return slices.DeleteFunc(family, func(t *test) bool { return t.paired == nil })
}

// correctTests gives the tests of a family their corrected p.
func correctTests(family []*test) {
	all := make([]*paired, len(family))
	for i, t := range family {
		all[i] = t.paired
	}
	correct(all)
}

// named are the tests of the pairs, pair by pair.
func (t *tests) named(pairs []Pair) (out []*test) {
	for _, p := range pairs {
		out = append(out, t.pairs[p]...)
	}
	return out
}

// differences are those of the tests.
func differences(family []*test) (out []float64) {
	for _, t := range family {
		out = append(out, t.Difference)
	}
	return out
}

// testHeads are of the cells of a test.
var testHeads = report.Heads("difference ↓", "95 % interval", "p", "SD over seeds")

func (t *test) cells() []report.Cell {
	return report.Texts(metrics.Signed(t.Difference, 4), metrics.Signed(t.Interval.Low, 4)+" … "+metrics.Signed(t.Interval.High, 4), report.P(t.corrected), t.overSeeds())
}

// testNote is how intervals are to be read.
const testNote = "An interval and its p are of the rows for the models of these seeds; the standard deviation says how much another seed's models would differ."

// namedPairs tests each of the study's pairs on each source and over all of them.
func namedPairs(ctx context.Context, f *Findings) (*report.Section, error) {
	all, err := f.tests(ctx)
	if err != nil {
		return nil, err
	}
	each := &report.Table{
		Caption: "Difference of NLL, first method less second: mean over the seeds with its 95 % interval over the data's rows, p after Holm's correction over the sources of a pair, and the standard deviation of the difference over the seeds.",
		Labels:  []string{"Data"}, Values: testHeads,
	}
	over := &report.Table{
		Caption: "Over the sources: on how many the interval says that the first method is better, and on how many that it is worse, and the exact two-sided signed-rank test of the differences.",
		Labels:  []string{"Pair"}, Values: report.Heads("better", "worse", "of", "p"),
	}
	for _, pair := range f.Study.Pairs {
		family := all.pairs[pair]
		if len(family) == 0 {
			continue
		}
		name := MethodTitle(pair.Method) + " − " + MethodTitle(pair.Against)
		better, worse := 0, 0
		for _, t := range family {
			each.Add(name, report.Row{Labels: []string{t.subject.Title()}, Cells: t.cells()})
			if t.Interval.High < 0 {
				better++
			}
			if t.Interval.Low > 0 {
				worse++
			}
		}
		over.Add("", report.Row{Labels: []string{name}, Cells: report.Texts(better, worse, len(family), report.P(metrics.SignedRank(differences(family))))})
	}
	return &report.Section{Title: "Named pairs", Note: "The pairs that were named beforehand, and no others. " + testNote, Tables: []*report.Table{over, each}}, nil
}

// againstUncalibrated tests every method against the classifier as it is.
func againstUncalibrated(ctx context.Context, f *Findings) (*report.Section, error) {
	all, err := f.tests(ctx)
	if err != nil {
		return nil, err
	}
	t := &report.Table{
		Caption: "NLL less that of the classifier as it is (NC): mean over the seeds with its 95 % interval over the data's rows, p after Holm's correction over all of the table, and the standard deviation over the seeds.",
		Labels:  f.heads(), Values: testHeads,
	}
	for _, one := range all.against {
		t.Add(one.subject.Title(), report.Row{Labels: one.a.labels, Cells: one.cells(), Winner: one.a == one.subject.best(sharedMetric(metrics.NLL))})
	}
	return &report.Section{Title: "Against the classifier as it is", Note: "Below 0 the method helps, above 0 it harms. " + testNote, Tables: []*report.Table{t}}, nil
}

// writeTests writes a line a test, first those of the pairs, then those against the
// classifier as it is; or those against twins alone.
func (f *Findings) writeTests(ctx context.Context, w io.Writer) error {
	lines := [][]string{{"family", "data", "encoder", "method", "tuned", "against", "codes", "seeds", "difference", "low", "high", "p", "p_holm", "sd_over_seeds", "code"}}
	code := codeOf(f.Results)
	add := func(family string, tests []*test, codes func(*test) string) {
		for _, t := range tests {
			lines = append(lines, []string{
				family, t.subject.origin.Name, t.subject.encoder, t.a.spec.Method, strconv.FormatBool(t.a.spec.Tune), t.b.spec.Method, codes(t),
				strconv.Itoa(len(t.seeds)), number(t.Difference), number(t.Interval.Low), number(t.Interval.High), number(t.PValue), number(t.corrected), number(t.sd()), code,
			})
		}
	}
	if f.Study.Twins != nil {
		all, err := f.Study.Twins(ctx, f)
		if err != nil {
			return err
		}
		add("twin", all.tests, func(t *test) string { return t.kind })
	} else {
		all, err := f.tests(ctx)
		if err != nil {
			return err
		}
		unsaid := func(*test) string { return "" }
		add("pair", all.named(f.Study.Pairs), unsaid)
		add("uncalibrated", all.against, unsaid)
	}
	return data.NewCSVWriter(w).WriteAll(lines)
}
