package study

import (
	"cmp"
	"fmt"
	"slices"

	"calibra/experiments"
	"calibra/experiments/verdict"
)

const benchmarkName = "benchmark"

// benchmarkStudy compares methods, each with its default settings, and means of several fits on many sources, and takes
// the tests of the protocol before the present one (experiments/results/benchmark.md).
var benchmarkStudy = Study{
	Name: benchmarkName, Line: "methods and means of several fits on many sources, and the tests of its protocol",
	Grid:    always(contenders()),
	Vary:    []Field{{byMethod.Head, contender}},
	Judging: experiments.Judging{Redraws: 20, Anchors: 4000},
	Views:   []View{across, gains, Results, noiseFloor, sparsest, forests, timeTable},
	Files:   append(slices.Clone(gridFiles), File{"tests.csv", writeTests}, File{"gains.csv", writeGains}),
}

// single are the methods that the benchmark fits once. Those of them that draw have a first fit like their mean's.
var single = []string{verdict.Classifier, "ts", "ets", "vector", "sm", "dc", "beta", "ir", "new-head", "boosted", "local-ts", "vq", "mixture", "corrected"}

// means are those of five fits.
var means = []experiments.Spec{fits("vq", 5), fits("corrected", 5)}

// pair is a comparison that the benchmark's protocol names.
type pair struct{ first, second experiments.Spec }

// asked are the protocol's tests in its order: each is taken if all before it held.
var asked = []pair{
	{fits("corrected", 5), fits("mixture", 1)},
	{fits("corrected", 5), fits("corrected", 1)},
	{fits("vq", 5), fits("vq", 1)},
}

// gainers are the contenders whose change of NLL is told source by source.
var gainers = []experiments.Spec{fits("vq", 1), fits("vq", 5), fits("mixture", 1), fits("corrected", 1), fits("corrected", 5)}

func contenders() (specs []experiments.Spec) {
	for _, name := range single {
		specs = append(specs, fits(name, 1))
	}
	return append(specs, means...)
}

// fits is the Spec of the mean of so many fits of the method, of one fit where it draws nothing.
func fits(method string, members int) experiments.Spec {
	s := experiments.Spec{Method: method}
	if m, err := s.Catalog.Find(method); err == nil && m.Averages() {
		s.Set = fmt.Sprintf("%s=%d", experiments.MembersKey, members)
	}
	return s
}

// members is of how many fits the Spec's method is the mean.
func members(s experiments.Spec) string { return cmp.Or(s.Value(experiments.MembersKey), "1") }

// contender is what the benchmark calls a Spec: "Corrected × 5".
func contender(s experiments.Spec) string {
	if m := members(s); m != "1" {
		return title(s) + " × " + m
	}
	return title(s)
}
