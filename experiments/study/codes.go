package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"

	"gonum.org/v1/gonum/stat/distuv"
)

// codesStudy tests for every kind of codes whether what it learns is worth more than its random twin,
// the same codes with codewords drawn from the slots, in the paper's calibrator, in the mixture
// of anchored maps and in the joint correction.
var codesStudy = Study{
	Name: "codes", Line: "every kind of codes beside its random twin, where codes have anything to find",
	Grid: func(*experiments.Origin) []experiments.Spec {
		specs := each("nc", headroomMethod)
		for _, m := range codedMethods {
			for _, c := range codeKinds {
				for _, v := range []experiments.Values{c.learned, c.twin} {
					if spec := (experiments.Spec{Method: m, Set: v.String()}); v != nil && !slices.Contains(specs, spec) {
						specs = append(specs, spec)
					}
				}
			}
		}
		return specs
	},
	Vary:    []Field{byMethod, byCodes},
	Tests:   func([]Pair) []family { return []family{{"twin", overSeedsAndRows, []plan{twins}}} },
	Judging: experiments.Judging{Redraws: 20, Anchors: 4000},
	Views:   []View{twinTables, scores, noiseFloor, timeTable},
}

// headroomMethod sees features and logits and has no codes: where neither it nor random codes find
// more than a method without codes, there is nothing for codes to find.
const headroomMethod = "boosted"

// codedMethods are those that the kinds of codes are tried in.
var codedMethods = []string{"vq", "stacked", "corrected"}

// codeKind is a kind of codes and its random twin; the first has no codes to speak of.
type codeKind struct {
	name          string
	learned, twin experiments.Values
}

var codeKinds = []codeKind{
	{withoutCodes, kindOf("one", "0", ""), nil},
	{"EMA", kindOf("ema", "0", ""), kindOf("random", "0", "")},
	{"k-means", kindOf("kmeans", "0", ""), kindOf("random", "0", "")},
	{"product", kindOf("product", "0", ""), kindOf("product", "0", "random")},
	{"residual", kindOf("residual", "0", ""), kindOf("residual", "0", "random")},
	{"leaf", kindOf("leaf", "0", ""), kindOf("leaf", "0", "random")},
	{"supervised metric", kindOf("supervised", "0", ""), kindOf("random", "0", "")},
	{"boosting", kindOf("boosting", "0", ""), kindOf("random", "0", "")},
	{"soft k-means", kindOf("kmeans", "1", ""), kindOf("random", "1", "")},
	{"soft, learned", kindOf("learned", "1", ""), kindOf("random", "1", "")},
	{"inducing points", kindOf("inducing", "1", ""), kindOf("inducing", "1", "random")},
}

const withoutCodes = "one codeword"

func kindOf(kind, softness, twin string) experiments.Values {
	v := experiments.Values{"codebook.kind": kind, "codebook.softness": softness}
	if twin != "" {
		v["codebook.twin"] = twin
	}
	return v
}

// byCodes is the kind of codes that a Spec names.
var byCodes = Field{"Codes", func(s experiments.Spec) string {
	for _, c := range codeKinds {
		switch {
		case has(s, c.learned):
			return c.name
		case has(s, c.twin):
			return "random, as " + c.name
		}
	}
	return none
}}

// none stands where a row has no value of the field.
const none = "–"

// has reports whether the Spec has these settings of its codes, and no others of them.
func has(s experiments.Spec, v experiments.Values) bool {
	if v == nil {
		return false
	}
	for _, key := range []string{"codebook.kind", "codebook.softness", "codebook.twin"} {
		if s.Value(key) != v[key] {
			return false
		}
	}
	return true
}

// coded is the row of a method with codes of these settings, nil without results.
func (s *subject) coded(method string, v experiments.Values) *row {
	for _, r := range s.rows {
		if r.spec.Method == method && len(r.results) > 0 && has(r.spec, v) {
			return r
		}
	}
	return nil
}

// overSeedsAndRows is the difference a − b in NLL with an interval that holds for other rows and
// for another seed: its variance is that over the rows, by the paired bootstrap, and that of the
// seeds' differences over their number, and its distribution Student's with the degrees of
// freedom of that sum (Satterthwaite 1946). Seeds that test other rows differ by these too, so
// that the interval is rather too wide. Of one seed it is of the rows alone; nil without a
// common seed.
func overSeedsAndRows(ctx context.Context, a, b *row) (*paired, error) {
	p, err := pairedLosses(ctx, a, b, sharedMetric(metrics.NLL))
	if err != nil || p == nil {
		return nil, err
	}
	ofRows := math.Pow((p.Interval.High-p.Interval.Low)/(2*distuv.UnitNormal.Quantile(0.975)), 2)
	ofSeeds, seeds, rows := 0.0, float64(len(p.seeds)), float64(a.results[0].TestRows)
	if sd := p.sd(); !math.IsNaN(sd) {
		ofSeeds = sd * sd / seeds
	}
	t := distuv.StudentsT{Sigma: 1, Nu: rows - 1}
	if ofSeeds > 0 {
		t.Nu = math.Pow(ofRows+ofSeeds, 2) / (ofRows*ofRows/(rows-1) + ofSeeds*ofSeeds/(seeds-1))
	}
	p.variance, p.between, p.nu = ofRows+ofSeeds, ofSeeds*seeds, t.Nu
	deviation := math.Sqrt(p.variance)
	p.Interval = metrics.Interval{Low: p.Difference - deviation*t.Quantile(0.975), High: p.Difference + deviation*t.Quantile(0.975)}
	p.PValue = 1
	if deviation > 0 {
		p.PValue = 2 * t.CDF(-math.Abs(p.Difference)/deviation)
	}
	return p, nil
}

// headroom reports whether random codes, or boosted residuals, find anything that a method without
// codes does not, on any of the methods that were run both ways: at 5 %, not corrected, so that a
// source is rather asked than left out.
func (s *subject) headroom(ctx context.Context) (found, asked bool, err error) {
	for _, method := range codedMethods {
		without := s.coded(method, codeKinds[0].learned)
		if without == nil {
			continue
		}
		rivals := []*row{s.row(headroomMethod)}
		for _, c := range codeKinds[1:] {
			rivals = append(rivals, s.coded(method, c.twin))
		}
		for _, rival := range rivals {
			if rival == nil {
				continue
			}
			t, err := overSeedsAndRows(ctx, rival, without)
			if err != nil {
				return false, false, err
			}
			if t != nil {
				asked = true
				found = found || t.Interval.High < 0
			}
		}
	}
	return found || !asked, asked, nil
}

// twins are the tests of each method's kinds of codes against their random twins, on a source with something to find.
func twins(ctx context.Context, s *subject) (tests []*test, leftOut bool, err error) {
	if room, _, err := s.headroom(ctx); err != nil || !room {
		return nil, true, err
	}
	for _, method := range codedMethods {
		for _, c := range codeKinds[1:] {
			for _, t := range s.test(s.coded(method, c.learned), s.coded(method, c.twin)) {
				t.codes = c.name
				tests = append(tests, t)
			}
		}
	}
	return tests, false, nil
}

// twinTables are the tables of these tests.
func twinTables(ctx context.Context, f *Findings) (*report.Section, error) {
	all, err := f.tests(ctx)
	if err != nil {
		return nil, err
	}
	note := "Below 0 the learned codewords are better than those drawn from the slots. Intervals are over seeds and rows; Holm's correction is over the table."
	if len(all.left) > 0 {
		note += fmt.Sprintf(" Left out, since neither random codes nor boosted residuals, as far as they were run, find anything there that the method without codes does not: %v.", all.left)
	}
	section := &report.Section{Title: "Codes against their random twins", Note: note}
	if all.all == nil {
		if all.left == nil {
			return nil, nil
		}
		return section, nil
	}
	say := wording{
		list: "NLL on each kind of codes and on its random twin.", other: "twin's", head: byCodes.Head,
		count: "On how many sources a kind of codes is better and worse than its twin at 5 %, after Holm's correction.",
	}
	section.Tables = []*report.Table{countTwins(all.all, say), listTwins(all.all, say)}
	return section, nil
}

// wording is the text of tables of tests.
type wording struct{ list, count, head, other string }

// listTwins is a row for each test.
func listTwins(tests []*test, say wording) *report.Table {
	table := &report.Table{
		Caption: say.list, Labels: []string{byMethod.Head, say.head},
		Values: report.Heads("NLL ↓", say.other+" ↓", "difference ↓", "95 % interval", "p", "seeds"),
	}
	nll := sharedMetric(metrics.NLL)
	for _, t := range tests {
		table.Add(t.subject.Title(), report.Row{Labels: []string{MethodTitle(t.a.spec.Method), t.against()}, Cells: report.Texts(
			fmt.Sprintf("%.4f", t.a.spread(nll).Mean), fmt.Sprintf("%.4f", t.b.spread(nll).Mean),
			metrics.Signed(t.Difference, 4), metrics.Signed(t.Interval.Low, 4)+" … "+metrics.Signed(t.Interval.High, 4), report.P(t.corrected), len(t.seeds))})
	}
	return table
}

// countTwins is on how many sources each kind is told from its twin.
func countTwins(tests []*test, say wording) *report.Table {
	table := &report.Table{
		Caption: say.count,
		Labels:  []string{byMethod.Head, say.head}, Values: report.Heads("better", "worse", "of"),
	}
	sorted := slices.Clone(tests)
	slices.SortStableFunc(sorted, func(x, y *test) int {
		return cmp.Or(cmp.Compare(x.a.spec.Method, y.a.spec.Method), cmp.Compare(x.against(), y.against()))
	})
	for i := 0; i < len(sorted); {
		better, worse, of, method, kind := 0, 0, 0, sorted[i].a.spec.Method, sorted[i].against()
		for ; i < len(sorted) && sorted[i].a.spec.Method == method && sorted[i].against() == kind; i++ {
			of++
			switch {
			case sorted[i].corrected < 0.05 && sorted[i].Difference < 0:
				better++
			case sorted[i].corrected < 0.05:
				worse++
			}
		}
		table.Add("", report.Row{Labels: []string{MethodTitle(method), kind}, Cells: report.Texts(better, worse, of)})
	}
	return table
}
