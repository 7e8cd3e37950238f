package study

import (
	"math"

	"calibra/experiments"
)

// effort is what a fit to 10,000 calibration rows of 10 classes and 512 features takes on
// one core, in seconds, and the power of the classes by which that grows.
type effort struct{ seconds, classPower float64 }

// efforts of the methods that are not fitted in a moment, as times.csv of studies on
// CIFAR-10 features, letters and proximity100 has them.
var efforts = map[string]effort{
	"vq": {5, .5}, "vq-nc": {4, 0}, "vq-dc": {5, .5}, "vq-start": {5, .5}, "vq-centred": {5, .5}, "vq-tuned": {75, .5},
	"kc": {50, 0}, "kc-original": {40, 0}, "ln": {60, 0},
	"sm": {2, 1}, "dc": {3, 2}, "dc-odir": {65, 1.5}, "dc-published": {15, .5}, "ts-published": {15, 0},
	"auto": {60, 1}, "stacked": {60, 1}, "stacked-random": {60, 1}, "stacked-one": {60, 1}, "stacked-shuffled": {60, 1},
	"vq-random": {5, .5}, "vq-one": {5, .5}, "new-head": {10, 1},
	"anchored": {15, 1}, "anchored-dirichlet": {20, 1}, "anchored-head": {20, 1}, "anchored-bilinear": {20, 1},
	"gated": {15, 1}, "local-temperature": {5, 0}, "order-preserving": {5, 0},
}

// cost is about what a cell takes on one core, in seconds: the fit, half of which the
// features pay, and the metrics, which compare each test row with every other.
func cost(spec experiments.Spec, size experiments.Size) float64 {
	rows, classes := float64(size.Rows)/1e4, float64(size.Classes)/10
	metrics := 4 * rows * rows * (1 + classes/4)
	fit, ok := efforts[spec.Method]
	if !ok {
		return .3 + metrics
	}
	share := spec.Fraction
	if share == 0 {
		share = 1
	}
	seconds := fit.seconds * math.Pow(classes, fit.classPower)
	if spec.Tune { // each candidate is fitted to four fifths of the rows
		tried := efforts[experiments.TriedOn(spec.Method)]
		seconds += .8 * float64(len(experiments.Candidates(spec.Method))) * tried.seconds * math.Pow(classes, tried.classPower)
	}
	return .5 + metrics + seconds*rows*share*(1+float64(size.Features)/512)/2
}
