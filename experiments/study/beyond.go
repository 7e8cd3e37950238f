package study

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// Beyond holds maps on the original logits against the paper's calibrator and the
// global maps, on what is left above the noise floor.
var Beyond = Study{
	Name: "beyond", Line: "anchored maps beside the published calibrator, judged against the noise floor",
	Grid: func(*experiments.Origin) []experiments.Spec {
		return each(known("auto", "order-preserving", "anchored", "anchored-dirichlet", "anchored-bilinear", "local-temperature", "gated",
			"vq", "sm", "dc", "ir", "ts", "nc"))
	},
	Vary:  []Field{ByMethod},
	Views: []View{MeanRanks, Acceptance, PairedNLL, BeyondTable, Choices, NoiseFloor, Profiles},
}

// excess is a metric less its noise floor.
func excess(m metrics.Metric) quantity {
	value, floor := sharedMetric(m), noiseOf(m)
	return quantity{metric: m, title: m.Title() + " − noise", of: func(r *Result) float64 { return value.of(r) - floor.of(r) }}
}

// sparseFifth is the local error of the fifth of the rows with the smallest
// effective sample size.
var sparseFifth = quantity{metric: metrics.LCE, title: "LCE sparsest fifth", of: func(r *Result) float64 {
	if r.ESS == nil {
		return math.NaN()
	}
	var sum, rows float64
	for k := range len(r.ESS.Count) / 5 {
		if n := float64(r.ESS.Count[k]); n > 0 {
			sum += n * r.ESS.LCE[k]
			rows += n
		}
	}
	return sum / rows
}}

// trueLCE is known of synthetic data alone.
var trueLCE = quantity{metric: metrics.LCE, title: "true LCE", of: func(r *Result) float64 {
	if r.Truth == nil {
		return math.NaN()
	}
	return r.Truth.LCE
}}

// BeyondTable is what the acceptance of an anchored map is read from.
func BeyondTable(f *Findings) (*report.Section, error) {
	return &report.Section{
		Title: "Anchored maps",
		Note:  "Local metrics in the embedding shared by all methods. Noise is the same metric of labels redrawn from the method's own predictions; true LCE is against the known posterior of synthetic data.",
		Tables: []*report.Table{f.table("Mean and standard deviation over the seeds.", []quantity{
			sharedMetric(metrics.NLL), sharedMetric(metrics.Accuracy), sharedMetric(metrics.LCE), excess(metrics.LCE), sparseFifth, trueLCE,
		})},
	}, nil
}

// MeanRanks ranks the methods by NLL and by LCE above noise over all data sets.
func MeanRanks(f *Findings) (*report.Section, error) {
	section := &report.Section{
		Title: "Mean ranks",
		Note:  "Methods are ranked on every data set by the mean over the seeds; methods without a result on all of them are left out. Bars are half of Nemenyi's critical difference at 5 %: methods whose bars meet are not told apart by the ranks alone.",
	}
	table := &report.Table{Caption: "Mean rank over the data sets, 1 the best.", Labels: []string{"Method"}}
	rows := map[string]int{}
	var block report.Block
	var panels []report.RankPanel
	for _, q := range []quantity{sharedMetric(metrics.NLL), excess(metrics.LCE), sparseFifth} {
		names, scores := f.scores(q)
		if len(scores) < 2 || len(names) < 2 {
			return nil, nil
		}
		r, err := metrics.Friedman(scores)
		if err != nil {
			return nil, err
		}
		table.Values = append(table.Values, report.Head{Text: q.title, Arrow: "↓"})
		panel := report.RankPanel{
			Title: fmt.Sprintf("%s on %d data sets: Friedman p = %.2g, critical difference %.2f", q.title, len(scores), r.PValue, r.CriticalDifference),
			Ranks: r.Ranks, Critical: r.CriticalDifference,
		}
		for i, name := range names {
			panel.Names = append(panel.Names, MethodTitle(name))
			panel.Ours = append(panel.Ours, slices.Contains(experiments.Beyond, name))
			if _, seen := rows[name]; !seen {
				rows[name] = len(block.Rows)
				block.Rows = append(block.Rows, report.Row{Labels: []string{MethodTitle(name)}, Ours: name == "vq"})
			}
			at := &block.Rows[rows[name]]
			at.Cells = append(at.Cells, report.Cell{Text: fmt.Sprintf("%.2f", r.Ranks[i])})
		}
		panels = append(panels, panel)
	}
	table.Blocks = []report.Block{block}
	figure, err := report.Ranks(panels)
	if err != nil {
		return nil, err
	}
	section.Tables = []*report.Table{table}
	section.Figures = []*report.Drawing{{Name: "ranks", Caption: "Mean ranks of the methods with Nemenyi's critical difference.", Figure: figure}}
	return section, nil
}

// scores are the mean over the seeds of each method on each data set, for the methods
// that have one on all.
func (f *Findings) scores(q quantity) (names []string, scores [][]float64) {
	subjects := f.subjects()
	if len(subjects) == 0 {
		return nil, nil
	}
	scores = make([][]float64, len(subjects))
	for _, first := range subjects[0].rows {
		column := make([]float64, 0, len(subjects))
		for _, s := range subjects {
			for _, r := range s.rows {
				if x := r.spread(q).Mean; r.spec.Method == first.spec.Method && !math.IsNaN(x) {
					column = append(column, x)
				}
			}
		}
		if len(column) != len(subjects) {
			continue
		}
		names = append(names, first.spec.Method)
		for i, x := range column {
			scores[i] = append(scores[i], x)
		}
	}
	return names, scores
}

// comparison is auto against another method on one data set.
type comparison struct {
	with                 *row
	difference, relative float64 // NLL of auto less the other's, mean over the seeds
	p                    float64 // after Holm's correction over the methods
}

// auto is the row of auto, nil if it was not run.
func (s *subject) auto() *row {
	return s.row("auto")
}

func (s *subject) row(method string) *row {
	if i := slices.IndexFunc(s.rows, func(r *row) bool { return r.spec.Method == method && len(r.results) > 0 }); i >= 0 {
		return s.rows[i]
	}
	return nil
}

// compared tells each method from auto on the same test rows of s. It is computed once.
func (f *Findings) compared(s *subject) ([]comparison, error) {
	auto := s.auto()
	if auto == nil {
		return nil, nil
	}
	if known, ok := f.comparisons[s.Title()]; ok {
		return known, nil
	}
	var out []comparison
	var ps []float64
	for _, r := range s.rows {
		if r == auto {
			continue
		}
		difference, p, err := pairedLosses(auto, r)
		if err != nil {
			return nil, err
		}
		if !math.IsNaN(p) {
			out = append(out, comparison{with: r, difference: difference, relative: difference / r.spread(sharedMetric(metrics.NLL)).Mean})
			ps = append(ps, p)
		}
	}
	for i, p := range metrics.Holm(ps) {
		out[i].p = p
	}
	if f.comparisons == nil {
		f.comparisons = map[string][]comparison{}
	}
	f.comparisons[s.Title()] = out
	return out, nil
}

// PairedNLL tells each method from auto on the same test rows.
func PairedNLL(f *Findings) (*report.Section, error) {
	t := &report.Table{
		Caption: "NLL of auto less that of each method: mean over the seeds, and p-value after Holm's correction over the methods of a data set.",
		Labels:  []string{"Method"},
		Values:  []report.Head{{Text: "auto − method"}, {Text: "relative"}, {Text: "p"}},
	}
	for _, s := range f.subjects() {
		all, err := f.compared(s)
		if err != nil {
			return nil, err
		}
		block := report.Block{Name: s.Title()}
		for _, c := range all {
			block.Rows = append(block.Rows, report.Row{Labels: c.with.labels, Ours: f.isOurs(c.with), Cells: []report.Cell{
				{Text: fmt.Sprintf("%+.4f", c.difference)}, {Text: percent(c.relative)}, {Text: fmt.Sprintf("%.3g", c.p)},
			}})
		}
		if block.Rows != nil {
			t.Blocks = append(t.Blocks, block)
		}
	}
	if t.Blocks == nil {
		return nil, nil
	}
	return &report.Section{
		Title:  "Paired differences",
		Note:   "A paired bootstrap over the test rows of each seed gives a p-value of no difference; the seeds share data, so they are combined by twice their median, which is a p-value whatever their dependence (Rüger 1978).",
		Tables: []*report.Table{t},
	}, nil
}

func percent(x float64) string { return fmt.Sprintf("%+.1f %%", 100*x) }

// Acceptance holds auto to what a map beyond the paper must show on every data set: an
// NLL below VQ's and TS's, none worse than the best baseline's, and no accuracy lost.
func Acceptance(f *Findings) (*report.Section, error) {
	t := &report.Table{
		Caption: "NLL of auto relative to VQ, to TS and to the best baseline, with p after Holm's correction; its accuracy less that of the uncalibrated model.",
		Labels:  []string{"Data"},
		Values: []report.Head{{Text: "against VQ"}, {Text: "p"}, {Text: "against TS"}, {Text: "p"}, {Text: "best baseline"}, {Text: "against it"}, {Text: "p"},
			{Text: "accuracy − NC"}, {Text: "s.e."}},
	}
	block := report.Block{}
	for _, s := range f.subjects() {
		all, err := f.compared(s)
		if err != nil {
			return nil, err
		}
		nll := sharedMetric(metrics.NLL)
		var vq, ts, best *comparison
		for i, c := range all {
			switch name := c.with.spec.Method; {
			case name == "vq":
				vq = &all[i]
			case name == "ts":
				ts = &all[i]
			}
			if !slices.Contains(experiments.Beyond, c.with.spec.Method) && (best == nil || c.with.spread(nll).Mean < best.with.spread(nll).Mean) {
				best = &all[i]
			}
		}
		nc := s.row("nc")
		if vq == nil || ts == nil || nc == nil {
			continue
		}
		accuracy := sharedMetric(metrics.Accuracy)
		base := nc.spread(accuracy).Mean
		p := func(c *comparison) report.Cell { return report.Cell{Text: fmt.Sprintf("%.3g", c.p)} }
		block.Rows = append(block.Rows, report.Row{Labels: []string{s.Title()}, Cells: []report.Cell{
			{Text: percent(vq.relative)}, p(vq), {Text: percent(ts.relative)}, p(ts),
			{Text: MethodTitle(best.with.spec.Method)}, {Text: percent(best.relative)}, p(best),
			{Text: fmt.Sprintf("%+.4f", s.auto().spread(accuracy).Mean-base)},
			{Text: fmt.Sprintf("%.4f", math.Sqrt(base*(1-base)/float64(nc.results[0].TestRows)))},
		}})
	}
	if block.Rows == nil {
		return nil, nil
	}
	t.Blocks = []report.Block{block}
	return &report.Section{
		Title:  "Auto against the baselines",
		Note:   "The baselines are the methods that others have published and the paper's own. The standard error is that of the uncalibrated model's accuracy on the test rows of one seed.",
		Tables: []*report.Table{t},
	}, nil
}

// Choices counts which map auto chose, seed by seed.
func Choices(f *Findings) (*report.Section, error) {
	t := &report.Table{Caption: "Maps that auto chose, with the number of seeds, and seconds of the choice.", Labels: []string{"Data"}, Values: []report.Head{{Text: "choices"}, {Text: "fit, s"}}}
	block := report.Block{}
	for _, s := range f.subjects() {
		r := s.auto()
		if r == nil {
			continue
		}
		seeds := map[string]int{}
		for _, res := range r.results {
			for _, stage := range res.Stages {
				seeds[stage.Name]++
			}
		}
		var words []string
		for _, name := range slices.Sorted(maps.Keys(seeds)) {
			words = append(words, fmt.Sprintf("%s %d", name, seeds[name]))
		}
		seconds := r.spread(quantity{of: func(r *Result) float64 { return r.Fit }})
		block.Rows = append(block.Rows, report.Row{Labels: []string{s.Title()}, Cells: []report.Cell{{Text: strings.Join(words, ", ")}, {Text: fmt.Sprintf("%.1f", seconds.Mean)}}})
	}
	if block.Rows == nil {
		return nil, nil
	}
	t.Blocks = []report.Block{block}
	return &report.Section{Title: "What auto chose", Tables: []*report.Table{t}}, nil
}

// pairedLosses compares two methods on the rows of the seeds that both have.
func pairedLosses(a, b *row) (difference, p float64, err error) {
	var ps []float64
	for _, x := range a.results {
		for _, y := range b.results {
			if x.Spec.Seed != y.Spec.Seed || len(x.Losses) == 0 || len(x.Losses) != len(y.Losses) {
				continue
			}
			c, err := metrics.Compare(float64s(x.Losses), float64s(y.Losses), rand.New(rand.NewPCG(x.Spec.Seed, 5)))
			if err != nil {
				return 0, 0, err
			}
			difference += c.Difference
			ps = append(ps, c.PValue)
		}
	}
	if ps == nil {
		return math.NaN(), math.NaN(), nil
	}
	slices.Sort(ps)
	n := len(ps)
	return difference / float64(n), combined(ps), nil
}

// combined is twice the median of sorted p-values, the p-value itself if it is one.
func combined(ps []float64) float64 {
	if len(ps) == 1 {
		return ps[0]
	}
	return min(1, 2*ps[len(ps)/2])
}

func float64s(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
