package source

import (
	"fmt"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/mat"
)

// Problem is a Source before its split, with what is known of it besides.
type Problem struct {
	Source *data.Source
	Truth  *mat.Dense // N×C, the true posterior of the test rows; nil where it is not known
	// Shifted are rows that the classifier was not made for, to be judged on in
	// place of the test rows, and Shift describes them; nil if there are none.
	Shifted *data.Set
	Shift   Shift
	// Corrupted are the test rows of images under a shift of [Corruptions], nil of other data.
	Corrupted func(Shift) (*data.Set, error)
	Beside    *rowcheck.Findings // what is found of a features file's test rows beside its calibration rows; nil of others
	Notice    string             // what is odd about the rows of raw data, "" if nothing is
}

// Shift names rows of another distribution than the rows of the fit.
type Shift string

const (
	// GivenShift takes the shifted rows that come with the data: another features file, or
	// other climates of the weather data (eval_out).
	GivenShift Shift = "given"
	// RegionShift is of the fifth of a raw table's rows that lie farthest along the first
	// principal component of its columns. Neither the classifier nor the calibrator sees
	// that region.
	RegionShift Shift = "region"
	// NoiseShift is of a raw table's test rows with N(0, (sd/2)²) added to each column.
	NoiseShift Shift = "noise"
	// ThinShift is of the half of the test rows where the calibration rows are thinnest in
	// the shared embedding. They are in distribution, but few rows were seen there.
	ThinShift Shift = "thin"
)

// Corruptions are the shifts of images: KIND-1 … KIND-5 for each of [data.Corruptions], and corrupt-1 … corrupt-5, in
// which the images have the kinds in turn.
var Corruptions = func() (all []Shift) {
	for _, kind := range append([]string{data.AnyCorruption}, data.Corruptions...) {
		for severity := range data.Severities {
			all = append(all, Shift(fmt.Sprintf("%s-%d", kind, severity+1)))
		}
	}
	return all
}()

// corruption is what a shift of corruptions does to images; kind is "" of another shift.
func (s Shift) corruption() (kind string, severity int) {
	if at := strings.LastIndex(string(s), "-"); at > 0 && slices.Contains(Corruptions, s) {
		return string(s)[:at], int(s[at+1] - '0')
	}
	return "", 0
}

// shiftNames are the names of shifts for a sentence.
func shiftNames(all []Shift) string {
	var names []string
	for _, s := range all {
		switch kind, severity := s.corruption(); {
		case severity == 1:
			names = append(names, fmt.Sprintf("%s-1 … %d", kind, data.Severities))
		case s != "" && kind == "":
			names = append(names, string(s))
		}
	}
	return strings.Join(names, ", ")
}

// Line describes in one sentence which rows the shift is of.
func (s Shift) Line() string {
	switch kind, severity := s.corruption(); kind {
	case "":
	case data.AnyCorruption:
		return fmt.Sprintf("%s: the test images at severity %d of %d, each by one of %d corruptions in turn: %s", s, severity, data.Severities, len(data.Corruptions), strings.Join(data.Corruptions, ", "))
	default:
		return fmt.Sprintf("%s: the test images with the corruption %s at severity %d of %d, as in CIFAR-10-C", s, kind, severity, data.Severities)
	}
	return map[Shift]string{
		GivenShift:  "given: the shifted rows that the data bring, of --shifted or of other climates",
		RegionShift: "region: the fifth of the rows farthest along the first principal component of the raw columns, which neither classifier nor calibrator saw",
		NoiseShift:  "noise: the test rows with half a standard deviation of Gaussian noise on each raw column",
		ThinShift:   "thin: the half of the test rows farthest from their tenth nearest calibration row in the shared embedding, which are in distribution",
	}[s]
}

// heldOut is the share of a table's rows in the region of RegionShift.
const heldOut = 0.2

// NoShift is the error of a problem that has other shifts than the one of that name.
func NoShift(path string, name Shift, has []Shift) error {
	hint := ""
	if kind, _ := name.corruption(); kind != "" {
		hint = "; corruptions are for raw images"
	}
	return data.Inputf(path, "has no rows shifted by %q; choose one of %s%s", string(name), shiftNames(has), hint)
}
