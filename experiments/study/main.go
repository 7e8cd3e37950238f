package study

import "calibra/experiments"

// Main compares the methods: the tables "Results … ResNet" and "Weather" and the
// figures of Q1 and Q3.
var Main = Study{
	Name: "main", Line: "the methods compared, locally and globally (figures Q1 and Q3, tables of results)",
	Paper: []string{"main", "weather"},
	Grid:  func(_ *experiments.Origin, set Settings) []experiments.Spec { return each(compared(set.Methods)) },
	Vary:  []Field{ByMethod},
	Views: []View{Results, LocalBars, GlobalBars, NoiseFloor, ReliabilityDiagrams, Tessellation, CodewordMaps},
}
