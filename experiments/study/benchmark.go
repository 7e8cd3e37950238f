package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// benchmarkStudy compares all methods and the controls as experiments/results/benchmark-protocol.md has
// it, which was fixed before any of its cells was computed.
var benchmarkStudy = Study{
	Name: "benchmark", Line: "all methods and controls, tuned alike, by a protocol fixed beforehand (experiments/results/benchmark-protocol.md)",
	Grid: func(*experiments.Origin) []experiments.Spec {
		var specs []experiments.Spec
		for _, m := range experiments.Methods {
			if !slices.Contains(notBenchmarked, m.Name) {
				specs = append(specs, experiments.Spec{Method: m.Name, Tune: true})
			}
		}
		return append(specs, experiments.Spec{Method: "vq"})
	},
	Vary:    []Field{byMethod, byTuning},
	Judging: experiments.Judging{Redraws: 20, Anchors: 4000},
	Pairs: []Pair{
		{"vq", "nc"}, {"vq", "vq-nc"}, {"vq", "vq-dc"}, {"vq", "ts"}, {"vq", "sm"}, {"vq", "vq-random"},
		{"stacked-learned", "nc"}, {"stacked-learned", "ts"}, {"stacked-learned", "sm"}, {"stacked-learned", "new-head"},
		{"stacked-learned", "stacked"}, {"stacked-learned", "stacked-one"},
		{"vq-centred", "vq-nc"}, {"vq-centred", "vq"},
	},
	Tests: eachPair,
	Views: []View{
		protocol("experiments/results/benchmark-protocol.md, committed before the first cell of seeds 100 to 109, fixes sources, methods, budgets, outcomes and tests."),
		scores, forests, againstUncalibrated, namedPairs, noiseFloor, sparsest, Results, tuningTable, timeTable,
	},
}

// notBenchmarked are methods under an optimizer that stops short, parts of stacked, variants of
// vq's form, and those that came after the protocol.
var notBenchmarked = []string{"ts-published", "dc-published",
	"order-preserving", "anchored", "anchored-dirichlet", "anchored-head", "anchored-bilinear", "local-temperature", "gated",
	"vq-rank", "vq-diagonal", "vq-tied",
	"sv", "boosted"}

// byTuning distinguishes a method that chose among its candidates from the same at its defaults,
// and from one that has nothing to choose.
var byTuning = Field{"Settings", func(s experiments.Spec) string {
	switch {
	case !tunable(s):
		return "–"
	case s.Tune:
		return "chosen"
	}
	return "default"
}}

// tunable reports whether the Spec's method has settings to choose among.
func tunable(s experiments.Spec) bool {
	m, err := s.Catalog.Find(s.Method)
	return err == nil && len(m.Candidates) > 0
}

// protocol states what was fixed beforehand.
func protocol(note string) View {
	return tables("The protocol", note+" A report of other seeds or sources is a rehearsal of it and no result.", func(*Findings) []*report.Table { return nil })
}

// scores are the primary outcomes: what each method gains on the classifier as it is.
var scores = tables("Proper scores",
	"Mean and standard deviation over the seeds. A gain is against the classifier as it is (NC) on the same rows of the same seed, positive where the method is better.",
	func(f *Findings) []*report.Table {
		var columns []quantity
		for _, m := range []metrics.Metric{metrics.NLL, metrics.Brier, metrics.Accuracy} {
			columns = append(columns, sharedMetric(m), f.gain(m))
		}
		return []*report.Table{f.table("NLL, Brier score and accuracy, with the gain on the uncalibrated model.", columns)}
	})

// gain is how much better a result is than the uncalibrated model of its source and seed.
func (f *Findings) gain(m metrics.Metric) quantity {
	type place struct {
		data, encoder string
		seed          uint64
	}
	base := map[place]float64{}
	for _, r := range f.Results {
		if r != nil && r.Spec.Method == "nc" {
			base[place{r.Spec.Data, r.Spec.Encoder, r.Spec.Seed}] = at(r.Shared, m.String())
		}
	}
	return quantity{metric: m, title: "gain in " + m.Title(), unranked: true, value: func(r *Result) float64 {
		nc, ok := base[place{r.Spec.Data, r.Spec.Encoder, r.Spec.Seed}]
		if !ok {
			return math.NaN()
		}
		if m.HigherIsBetter() {
			return at(r.Shared, m.String()) - nc
		}
		return nc - at(r.Shared, m.String())
	}}
}

// tuningTable counts what was chosen, seed by seed.
var tuningTable = tables("Which settings were chosen", "", func(f *Findings) []*report.Table {
	t := &report.Table{Caption: "Settings chosen, with the number of seeds.", Labels: []string{"Method"}, Values: report.Heads("chosen")}
	for _, s := range f.subjects() {
		for _, r := range s.rows {
			if !r.spec.Tune {
				continue
			}
			if words := r.counted(func(res *Result) []string { return []string{chosen(res.Spec)} }); words != "" {
				t.Add(s.Title(), report.Row{Labels: []string{title(r.spec)}, Cells: report.Texts(words)})
			}
		}
	}
	return []*report.Table{t}
})

// counted is the words of the row's seeds with the number of seeds that have each: "anchored 3, gated 2".
func (r *row) counted(words func(*Result) []string) string {
	counts := map[string]int{}
	for _, res := range r.results {
		for _, word := range words(res) {
			counts[word]++
		}
	}
	return strings.Join(data.Each(slices.Sorted(maps.Keys(counts)), func(word string) string { return fmt.Sprintf("%s %d", word, counts[word]) }), ", ")
}

// chosen is the settings of a fitted Spec in words.
func chosen(s experiments.Spec) string {
	text := s.Others()
	if w := s.Slots(); w > 0 {
		text = fmt.Sprintf("w=%d K=%d %s", w, s.Codewords(), text)
	}
	if text == "" {
		return "defaults"
	}
	return text
}
