package study

import "calibra/experiments"

// cost is about what a cell takes on one core, in seconds: the fit, and the metrics, which
// compare each test row, or each of the anchors, with every other.
func cost(spec experiments.Spec, method experiments.Method, size experiments.Size) float64 {
	rows, classes := float64(size.Rows), float64(size.Classes)/10
	judged := rows // there are about as many test rows
	if anchors := spec.Judging.Anchors; anchors > 0 {
		judged = min(rows, float64(anchors))
	}
	metrics := 4 * judged / 1e4 * rows / 1e4 * (1 + classes/4)
	fitted := rows
	if spec.Fraction > 0 {
		fitted *= spec.Fraction
	}
	fit := method.Cost.Of(fitted, size.Features, size.Classes)
	if spec.Judging.HeldOut {
		fit += method.Cost.Of(.8*fitted, size.Features, size.Classes)
	}
	return .3 + metrics + fit
}
