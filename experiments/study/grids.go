package study

import (
	"fmt"
	"slices"

	"calibra/data"
	"calibra/experiments/run"
	"calibra/experiments/source"
)

// The studies whose views are those of others too.

// mainStudy compares all methods: the tables "Results …", "Weather" and, with the methods vq-dc and vq-nc, of the
// ablation, and the figures of Q1 and Q3.
var mainStudy = Study{
	Name: "main", Line: "all methods, locally and globally (figures Q1 and Q3, tables of results)",
	Paper: []string{"main", "convnext", "vit", "weather", "ablation"},
	Grid:  always(each(allMethods()...)),
	Vary:  []Field{byMethod},
	Views: []View{Results, forests, localBars, globalBars, noiseFloor, reliabilityDiagrams},
}

// essStudy shows the local error along the effective sample size of the neighbourhood:
// the figure of Q2.
var essStudy = Study{
	Name: "ess", Line: "local error along the effective sample size of the neighbourhood (figure Q2)",
	Paper: []string{"main", "weather"},
	Grid:  always(each(tableOrder...)),
	Vary:  []Field{byMethod},
	Views: []View{profiles, sparsest, Results, forests},
}

// slotsStudy varies w and |C| together.
var slotsStudy = Study{
	Name: "ablate-slots", Line: "slots w ∈ {16, 32, 64, 128, 256} by codewords |C| ∈ {32, 64}",
	Paper: []string{"slots"},
	Grid:  always(sizes([]int{16, 32, 64, 128, 256}, []int{32, 64})),
	Vary:  []Field{bySlots, byCodewords},
	Views: []View{Results}, Statements: smallestCodes,
}

// codebookStudy varies |C| at w = 64.
var codebookStudy = Study{
	Name: "ablate-codebook", Line: "|C| ∈ {16, 32, 64, 128, 256} codewords for w = 64 slots",
	Paper: []string{"codebook"},
	Grid:  always(sizes([]int{64}, []int{16, 32, 64, 128, 256})),
	Vary:  []Field{bySlots, byCodewords},
	Views: []View{Results}, Statements: smallestCodes,
}

// calibrationSizeStudy fits on 5 … 100 % of the calibration rows.
var calibrationSizeStudy = Study{
	Name: "calsize", Line: "LCE and NLL with 5 to 100 % of the calibration rows",
	Grid: func(*source.Origin) (specs []run.Spec) {
		for _, spec := range each("vq", "sm", "dc", "kc", "ln", "ts", "nc") {
			for _, spec.Fraction = range []float64{0.05, 1. / 16, 0.1, 0.2, 0.25, 0.4, 0.6, 0.8, 0} {
				specs = append(specs, spec)
			}
		}
		return specs
	},
	Vary:  []Field{byMethod, byFraction},
	Views: []View{sizeCurves, Results},
}

// shiftedStudy fits in distribution and judges on shifted rows.
var shiftedStudy = Study{
	Name: "ood", Line: "fitted on one distribution, tested on shifted rows",
	Paper: []string{"weather-ood"},
	Grid: func(o *source.Origin) []run.Spec {
		specs := each(allMethods()...)
		for i := range specs {
			specs[i].Shift = o.Shifts[0]
		}
		return specs
	},
	Vary:  []Field{byMethod},
	Views: []View{shiftNote, Results, forests, localBars, globalBars, profiles},
}

// usageStudy counts how often the test rows' slots are assigned to each codeword.
var usageStudy = Study{
	Name: "usage", Line: "codeword assignments of the test slots: fewest, most, spread, dead",
	Paper: []string{"usage"},
	Grid:  always(each("vq")),
	Vary:  []Field{byMethod},
	Views: []View{usageTable}, Statements: usageOf,
}

// timeStudy measures seconds per epoch of both stages.
var timeStudy = Study{
	Name: "time", Line: "seconds per epoch of the quantized head and of the calibrator",
	Paper: []string{"time"},
	Grid:  always(each("vq")),
	Vary:  []Field{byMethod},
	Views: []View{timeTable}, Statements: secondsOf,
}

// always is the same grid for every origin.
func always(specs []run.Spec) func(*source.Origin) []run.Spec {
	return func(*source.Origin) []run.Spec { return slices.Clone(specs) }
}

// each is one Spec a method.
func each(methods ...string) []run.Spec {
	return data.Each(methods, func(name string) run.Spec { return run.Spec{Method: name} })
}

// sizes is the paper's calibrator at every pair of w and |C|.
func sizes(slots, codewords []int) (specs []run.Spec) {
	for _, w := range slots {
		for _, k := range codewords {
			specs = append(specs, run.Spec{Method: "vq", Set: fmt.Sprintf("codebook.codewords=%d codebook.slots=%d", k, w)})
		}
	}
	return specs
}
