package rowcheck

import (
	"strings"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/stat/distuv"
)

// Findings are the findings about the rows before a fit, mainly about test rows beside calibration rows; nil or "" if
// there are none.
type Findings struct {
	layers.Comparison
	Labels     string        `json:"-"` // see [OtherLabels], of the calibration rows
	TestLabels string        `json:"-"`
	Features   string        `json:"-"` // see [OtherFeatures]
	Training   *SeenRows     `json:"training_rows,omitempty"`
	Repeated   *RepeatedRows `json:"repeated_rows,omitempty"`
	Copies     *Copies       `json:"copies,omitempty"` // among the rows that are tested
}

// Doubts are the findings by which the rows are of other classes, other rows or seen in training, or most test rows are
// calibration rows, so that nothing they show is to be used; "" of what is not found. Features matter to methods that
// read them.
func (f *Findings) Doubts(features bool) []string {
	doubts := []string{f.Labels, f.TestLabels}
	if of := func(rows string) string { return strings.Replace(f.Labels, "calibration rows", rows, 1) }; f.TestLabels == of("test rows") {
		doubts = []string{of("calibration rows and the test rows")}
	}
	if features {
		doubts = append(doubts, f.Features)
	}
	if f.Training != nil {
		doubts = append(doubts, f.Training.String())
	}
	if f.Repeated != nil && 2*f.Repeated.Rows > f.Repeated.Of {
		doubts = append(doubts, f.Repeated.String())
	}
	return doubts
}

// alarm is the chance of a notice on rows of which it is not true, where chance alone could be the reason, and
// alarmDeviation as many standard deviations.
const alarm = 1e-3

var alarmDeviation = distuv.UnitNormal.Quantile(1 - alarm)

// Find holds the test rows to the calibration rows. Rows of weight 0 are no matter.
func Find(src *data.Source) (beside Findings) {
	cal, test := src.Cal.ForFit(), src.Test.ForFit()
	if cal == nil {
		return beside
	}
	beside.Labels = OtherLabels("calibration rows", cal)
	beside.Features = OtherFeatures(cal, test)
	if test == nil {
		return beside
	}
	otherOrder := false
	beside.TestLabels, otherOrder = otherLabels("test rows", test)
	sample := layers.NewSample(test.Len())
	sample.Add(test)
	beside.Comparison = *layers.ProfileOf(cal).Compare(sample)
	if otherOrder && beside.Labels == "" && len(beside.Wrong) == 0 { // not that of the fit
		beside.Wrong = []string{beside.TestLabels}
	}
	beside.Repeated = Repeated(cal, test)
	_, beside.Copies = CountCopies(test)
	if beside.Labels == "" && beside.TestLabels == "" { // which predictions are worse by
		beside.Training = TrainingRows(cal, test, beside.Comparison)
	}
	return beside
}
