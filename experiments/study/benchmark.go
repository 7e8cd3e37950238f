package study

import (
	"cmp"
	"fmt"
	"slices"

	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
)

const benchmarkName = "benchmark"

// benchmarkStudy compares methods, each with its default settings, and means of several fits on many sources, and tests
// some pairs with the sources as units.
var benchmarkStudy = Study{
	Name: benchmarkName, Line: "methods and means of several fits on many sources, and the tests of its protocol",
	Grid:    always(contenders()),
	Vary:    []Field{{byMethod.Head, contender}},
	Judging: run.Judging{Redraws: 20, Anchors: 4000},
	Views:   []View{across, gains, Results, noiseFloor, sparsest, forests, timeTable},
	Files:   append(slices.Clone(gridFiles), File{"tests.csv", writeTests}, File{"gains.csv", writeGains}),
}

// single are the methods that the benchmark fits once. Those of them that draw have a first fit like their mean's.
var single = []string{verdict.Classifier, "ts", "ets", "vector", "sm", "dc", "beta", "ir", "new-head", "local-ts", "vq", "corrected", "forest", "pool"}

// means are those of five fits.
var means = []run.Spec{fits("vq", 5), fits("corrected", 5)}

// pair is a comparison of two contenders.
type pair struct{ first, second run.Spec }

// asked are the pairs that are tested, in this order: each if all before it held.
var asked = []pair{
	{fits("pool", 1), fits("corrected", 5)},
	{fits("corrected", 5), fits("corrected", 1)},
	{fits("vq", 5), fits("vq", 1)},
}

// gainers are the contenders whose change of NLL is told source by source.
var gainers = []run.Spec{fits("vq", 1), fits("vq", 5), fits("corrected", 1), fits("corrected", 5), fits("forest", 1), fits("pool", 1)}

func contenders() (specs []run.Spec) {
	for _, name := range single {
		specs = append(specs, fits(name, 1))
	}
	return append(specs, means...)
}

// fits is the Spec of the mean of so many fits of the method, of one fit where it draws nothing.
func fits(name string, members int) run.Spec {
	s := run.Spec{Method: name}
	if m, err := s.Catalog.Find(name); err == nil && m.Averages() {
		s.Set = fmt.Sprintf("%s=%d", method.MembersKey, members)
	}
	return s
}

// members is of how many fits the Spec's method is the mean.
func members(s run.Spec) string { return cmp.Or(s.Value(method.MembersKey), "1") }

// contender is what the benchmark calls a Spec: "Corrected × 5".
func contender(s run.Spec) string {
	if m := members(s); m != "1" {
		return title(s) + " × " + m
	}
	return title(s)
}
