package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/report"
)

// benchmarkStudy compares all methods and the controls with their settings chosen alike, as the tables of
// experiments/results/benchmark.md have them.
var benchmarkStudy = Study{
	Name: "benchmark", Line: "all methods and controls, with the same tuning",
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
	Views:   []View{forests, noiseFloor, sparsest, Results, tuningTable, timeTable},
}

// notBenchmarked are methods under an optimizer that stops short, parts of mixture, variants of
// vq's form, and those that came after it.
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
