package study

import "calibra/experiments/report"

func todo(*Findings) (*report.Section, error) { return nil, nil }

var Results, LocalBars, GlobalBars, NoiseFloor, ReliabilityDiagrams, Tessellation, CodewordMaps, Profiles, Sparsest, SizeMaps, CodebookCurves, SizeCurves, ShiftNote, UsageTable, UsageCurve, TimeTable View = todo, todo, todo, todo, todo, todo, todo, todo, todo, todo, todo, todo, todo, todo, todo, todo
