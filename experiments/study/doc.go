// Package study runs the paper's experiments as grids of [run.Spec].
//
// A [Study] says which Specs to run on an origin, and which tables and figures show them. [Study.Cells] lists its cells
// for given origins and seeds, [Plan.Run] computes the missing ones, and [Findings.Write] writes the report:
//
//	cells, _, err := s.Cells(ctx, origins, settings)
//	plan := study.NewPlan(store, cells)
//	err = plan.Run(ctx, jobs)
//	err = s.Findings(settings, plan).Write(ctx, dir)
//
// To add a study, write a file with a Study and add its name to [Studies]. [Compare] is the study behind calibra
// compare.
//
// # Cells
//
// A [Cell] is one unit of computation: one Spec on one origin. Its result is one file, which is written completely or
// not at all. The file, KEY.json, is named by a hash of the Spec and of the contents of the data. So an interrupted
// study goes on where it stopped, and studies that share a directory share their cells. The numbers of a cell depend
// only on its Spec and data, not on other cells or on the number of threads, so results.csv is always the same.
package study
