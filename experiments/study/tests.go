package study

import (
	"cmp"
	"context"
	"errors"
	"io"
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
	family  string // in tests.csv
	codes   string // that a learns and b does not, "" of other tests
	a, b    *row
	*paired // its corrected p is that of the family
}

// against is what tables call b.
func (t *test) against() string { return cmp.Or(t.codes, MethodTitle(t.b.spec.Method)) }

// compare makes the difference of two rows, nil where they have no seed in common.
type compare func(ctx context.Context, a, b *row) (*paired, error)

// plan returns the tests of a subject, not yet computed, and whether they leave the subject out.
type plan func(context.Context, *subject) (tests []*test, leftOut bool, err error)

// family is tests whose p are corrected together (Holm).
type family struct {
	name    string // in tests.csv
	compare compare
	plans   []plan // each of every subject
}

// The names of two families.
const pairName, uncalibratedName = "pair", "uncalibrated"

// eachPair are families of the pairs, each for itself, and of every row against the classifier as it is.
func eachPair(pairs []Pair) []family {
	named := data.Each(pairs, func(p Pair) family { return family{pairName, overRows, []plan{p.plan}} })
	return append(named, family{uncalibratedName, overRows, []plan{uncalibrated}})
}

func (p Pair) plan(_ context.Context, s *subject) ([]*test, bool, error) {
	return s.test(s.tuned(p.Method), s.tuned(p.Against)), false, nil
}

// uncalibrated tests every row against the classifier as it is.
func uncalibrated(_ context.Context, s *subject) (tests []*test, _ bool, _ error) {
	nc := s.tuned("nc")
	for _, r := range s.rows {
		tests = append(tests, s.test(r, nc)...)
	}
	return tests, false, nil
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

// tests are those of a study's families, in the order of tests.csv, and the subjects that a family leaves out.
type tests struct {
	all  []*test
	left []string
}

// tests makes the tests of the study, once.
func (f *Findings) tests(ctx context.Context) (*tests, error) {
	if f.tested != nil || f.Study.Tests == nil {
		return cmp.Or(f.tested, &tests{}), nil
	}
	out, subjects := &tests{}, f.subjects()
	for _, family := range f.Study.Tests(f.Study.Pairs) {
		var asked []*test
		for _, plan := range family.plans {
			for _, s := range subjects {
				of, leftOut, err := plan(ctx, s)
				if err != nil {
					return nil, err
				}
				if leftOut {
					out.left = append(out.left, s.Title())
				}
				asked = append(asked, of...)
			}
		}
		made, errs := make([]*paired, len(asked)), make([]error, len(asked))
		err := experiments.SideBySide(ctx, len(asked), 0, func(i int) {
			made[i], errs[i] = family.compare(ctx, asked[i].a, asked[i].b)
		}, nil)
		if err = cmp.Or(err, errors.Join(errs...)); err != nil {
			return nil, err
		}
		correct(made)
		for i, t := range asked {
			if t.family, t.paired = family.name, made[i]; t.paired != nil { // of rows with a common seed
				out.all = append(out.all, t)
			}
		}
	}
	f.tested = out
	return out, nil
}

// test is that of a against b, not yet computed; none where one of them has no results, or they are one.
func (s *subject) test(a, b *row) []*test {
	if a == nil || b == nil || a == b || len(a.results) == 0 {
		return nil
	}
	return []*test{{subject: s, a: a, b: b}}
}

// overRows is the difference a − b in NLL with an interval over the test rows alone.
func overRows(ctx context.Context, a, b *row) (*paired, error) {
	return pairedLosses(ctx, a, b, sharedMetric(metrics.NLL))
}

// named are the tests of the pairs, pair by pair.
func (t *tests) named(pairs ...Pair) (out []*test) {
	for _, p := range pairs {
		for _, one := range t.all {
			if one.family == pairName && one.a.spec.Method == p.Method && one.b.spec.Method == p.Against {
				out = append(out, one)
			}
		}
	}
	return out
}

// differences are those of the tests.
func differences(family []*test) []float64 {
	return data.Each(family, func(t *test) float64 { return t.Difference })
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
		family := all.named(pair)
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
	for _, one := range all.all {
		if one.family != uncalibratedName {
			continue
		}
		t.Add(one.subject.Title(), report.Row{Labels: one.a.labels, Cells: one.cells(), Winner: one.a == one.subject.best(sharedMetric(metrics.NLL))})
	}
	return &report.Section{Title: "Against the classifier as it is", Note: "Below 0 the method helps, above 0 it harms. " + testNote, Tables: []*report.Table{t}}, nil
}

// writeTests writes a line a test, family by family.
func (f *Findings) writeTests(ctx context.Context, w io.Writer) error {
	all, err := f.tests(ctx)
	if err != nil {
		return err
	}
	lines := [][]string{{"family", "data", "encoder", "method", "tuned", "against", "codes", "seeds", "difference", "low", "high", "p", "p_holm", "sd_over_seeds", "commit"}}
	code := commitsOf(f.Results)
	for _, t := range all.all {
		lines = append(lines, []string{
			t.family, t.subject.origin.Name, t.subject.encoder, t.a.spec.Method, strconv.FormatBool(t.a.spec.Tune), t.b.spec.Method, t.codes,
			strconv.Itoa(len(t.seeds)), number(t.Difference), number(t.Interval.Low), number(t.Interval.High), number(t.PValue), number(t.corrected), number(t.sd()), code,
		})
	}
	return data.NewCSVWriter(w).WriteAll(lines)
}
