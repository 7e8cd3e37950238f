package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// Benchmark compares all methods and the controls as experiments/benchmark/PROTOCOL.md has
// it, which was fixed before any of its cells was computed.
var Benchmark = Study{
	Name: "benchmark", Line: "all methods and controls, tuned alike, by a protocol fixed beforehand (experiments/benchmark/PROTOCOL.md)",
	Grid: func(*experiments.Origin) []experiments.Spec {
		var specs []experiments.Spec
		for _, m := range experiments.Methods {
			if !slices.Contains(notBenchmarked, m.Name) {
				specs = append(specs, experiments.Spec{Method: m.Name, Tune: true})
			}
		}
		return append(specs, experiments.Spec{Method: "vq"})
	},
	Vary:    []Field{ByMethod, ByTuning},
	Judging: experiments.Judging{Redraws: 20, Anchors: 4000},
	Views:   []View{BenchmarkNote, Scores, NamedPairs, MeanRanks, NoiseFloor, Sparsest, Results, TuningTable, TimeTable},
}

// notBenchmarked are methods under an optimizer that stops short, parts of stacked, and
// variants of vq's form.
var notBenchmarked = []string{"ts-published", "dc-published",
	"order-preserving", "anchored", "anchored-dirichlet", "anchored-head", "anchored-bilinear", "local-temperature", "gated",
	"vq-rank", "vq-diagonal", "vq-tied", "vq-squareplus", "vq-regional-prior"}

// ByTuning tells a method that chose among its candidates from the same at its defaults,
// and from one that has nothing to choose.
var ByTuning = Field{"Settings", func(s experiments.Spec) string {
	switch {
	case len(experiments.Candidates(s.Method)) == 0:
		return "–"
	case s.Tune:
		return "chosen"
	}
	return "default"
}}

// namedPairs are those that the protocol tests.
var namedPairs = [][2]string{
	{"vq", "nc"}, {"vq", "vq-nc"}, {"vq", "vq-dc"}, {"vq", "ts"}, {"vq", "sm"}, {"vq", "vq-random"},
	{"stacked", "nc"}, {"stacked", "ts"}, {"stacked", "sm"}, {"stacked", "new-head"},
	{"stacked", "stacked-random"}, {"stacked", "stacked-one"}, {"stacked", "stacked-shuffled"},
	{"vq-centred", "vq-nc"}, {"vq-centred", "vq"},
}

// BenchmarkNote says what was fixed beforehand.
func BenchmarkNote(context.Context, *Findings) (*report.Section, error) {
	return &report.Section{
		Title: "The protocol",
		Note:  "experiments/benchmark/PROTOCOL.md, committed before the first cell of seeds 100 to 109, fixes sources, methods, budgets, outcomes and tests. A report of other seeds or sources is a rehearsal of it and no result.",
	}, nil
}

// Scores are the primary outcomes: what each method gains on the classifier as it is.
func Scores(_ context.Context, f *Findings) (*report.Section, error) {
	var columns []quantity
	for _, m := range []metrics.Metric{metrics.NLL, metrics.Brier, metrics.Accuracy} {
		columns = append(columns, sharedMetric(m), f.gain(m))
	}
	return &report.Section{
		Title:  "Proper scores",
		Note:   "Mean and standard deviation over the seeds. A gain is against the classifier as it is (NC) on the same rows of the same seed, positive where the method is better.",
		Tables: []*report.Table{f.table("NLL, Brier score and accuracy, with the gain on the uncalibrated model.", columns)},
	}, nil
}

// gain is how much better a result is than the uncalibrated model of its source and seed.
func (f *Findings) gain(m metrics.Metric) quantity {
	type place struct {
		data, encoder string
		seed          uint64
	}
	base := map[place]float64{}
	for _, r := range f.Results {
		if r != nil && r.Spec.Method == "nc" {
			base[place{r.Spec.Data, r.Spec.Encoder, r.Spec.Seed}] = at(r.Shared, m)
		}
	}
	return quantity{metric: m, title: "gain in " + m.Title(), unranked: true, value: func(r *Result) float64 {
		nc, ok := base[place{r.Spec.Data, r.Spec.Encoder, r.Spec.Seed}]
		if !ok {
			return math.NaN()
		}
		if m.HigherIsBetter() {
			return at(r.Shared, m) - nc
		}
		return nc - at(r.Shared, m)
	}}
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

// NamedPairs tests the pairs of the protocol.
func NamedPairs(ctx context.Context, f *Findings) (*report.Section, error) {
	return f.pairs(ctx, namedPairs, "The pairs that the protocol names, and no others.")
}

// pairs tests each pair of methods on each source and over all of them.
func (f *Findings) pairs(ctx context.Context, named [][2]string, note string) (*report.Section, error) {
	t := &report.Table{
		Caption: "Difference of NLL, first method less second: mean over the seeds with its 95 % interval over the data's rows, p after Holm's correction over the sources of a pair, and the standard deviation of the difference over the seeds.",
		Labels:  []string{"Data"}, Values: []report.Head{{Text: "difference", Arrow: "↓"}, {Text: "95 % interval"}, {Text: "p"}, {Text: "SD over seeds"}},
	}
	sources := &report.Table{
		Caption: "Over the sources: how many the first method is better on, and the exact two-sided signed-rank test of the differences.",
		Labels:  []string{"Pair"}, Values: []report.Head{{Text: "better on"}, {Text: "of"}, {Text: "p"}},
	}
	var pairs report.Block
	for _, pair := range named {
		name := MethodTitle(pair[0]) + " − " + MethodTitle(pair[1])
		block := report.Block{Name: name}
		var ps, differences []float64
		for _, s := range f.subjects() {
			a, b := s.tuned(pair[0]), s.tuned(pair[1])
			if a == nil || b == nil {
				continue
			}
			c, err := pairedLosses(ctx, a, b)
			if err != nil {
				return nil, err
			}
			if c == nil {
				continue
			}
			ps, differences = append(ps, c.PValue), append(differences, c.Difference)
			block.Rows = append(block.Rows, report.Row{Labels: []string{s.Title()}, Cells: []report.Cell{
				{Text: fmt.Sprintf("%+.4f", c.Difference)}, {Text: fmt.Sprintf("%+.4f … %+.4f", c.Interval.Low, c.Interval.High)}, {}, {Text: c.overSeeds()},
			}})
		}
		if block.Rows == nil {
			continue
		}
		better := 0
		for i, p := range metrics.Holm(ps) {
			block.Rows[i].Cells[2].Text = pValue(p)
			if differences[i] < 0 {
				better++
			}
		}
		t.Blocks = append(t.Blocks, block)
		pairs.Rows = append(pairs.Rows, report.Row{Labels: []string{name}, Cells: []report.Cell{
			{Text: fmt.Sprint(better)}, {Text: fmt.Sprint(len(differences))}, {Text: pValue(metrics.SignedRank(differences))},
		}})
	}
	if t.Blocks == nil {
		return nil, nil
	}
	sources.Blocks = []report.Block{pairs}
	return &report.Section{
		Title:  "Named pairs",
		Note:   note + " An interval and its p are of the rows for the models of these seeds; the standard deviation says how much another seed's models would differ.",
		Tables: []*report.Table{sources, t},
	}, nil
}

// TuningTable counts what was chosen, seed by seed.
func TuningTable(_ context.Context, f *Findings) (*report.Section, error) {
	t := &report.Table{Caption: "Settings chosen, with the number of seeds.", Labels: []string{"Method"}, Values: []report.Head{{Text: "chosen"}}}
	for _, s := range f.subjects() {
		block := report.Block{Name: s.Title()}
		for _, r := range s.rows {
			if !r.spec.Tune {
				continue
			}
			seeds := map[string]int{}
			for _, res := range r.results {
				seeds[chosen(res.Spec)]++
			}
			if words := counted(seeds); words != "" {
				block.Rows = append(block.Rows, report.Row{Labels: []string{MethodTitle(r.spec.Method)}, Cells: []report.Cell{{Text: words}}})
			}
		}
		if block.Rows != nil {
			t.Blocks = append(t.Blocks, block)
		}
	}
	if t.Blocks == nil {
		return nil, nil
	}
	return &report.Section{Title: "Which settings were chosen", Tables: []*report.Table{t}}, nil
}

// chosen is the settings of a fitted Spec in words.
func chosen(s experiments.Spec) string {
	text := s.Set
	if s.Slots > 0 {
		text = fmt.Sprintf("w=%d K=%d %s", s.Slots, s.Codewords, text)
	}
	if text == "" {
		return "defaults"
	}
	return text
}
