package experiments

import (
	"calibra/data"
	"calibra/layers"
)

// Beside is what is found of the rows before a fit, of test rows beside calibration rows above all; nil or "" where
// that is nothing.
type Beside struct {
	layers.Comparison
	Misplaced string        `json:"-"` // see [data.Misplaced], of the calibration rows
	Training  *SeenRows     `json:"training_rows,omitempty"`
	Repeated  *RepeatedRows `json:"repeated_rows,omitempty"`
}

// Hold holds the test rows to the calibration rows.
func Hold(src *data.Source) (beside Beside) {
	if src.Cal == nil {
		return beside
	}
	beside.Misplaced = data.Misplaced(src.Cal.Logits, src.Cal.Labels)
	if src.Test == nil {
		return beside
	}
	cal, test := src.Cal, src.Test
	sample := layers.NewSample(test.Len())
	sample.Add(test)
	beside.Comparison = *layers.ProfileOf(cal).Compare(sample)
	if exchanged := layers.ExchangedClasses(cal, test); exchanged != "" && len(beside.Wrong) == 0 {
		beside.Wrong = append(beside.Wrong, exchanged)
	}
	beside.Training, beside.Repeated = TrainingRows(cal, test), Repeated(cal, test)
	return beside
}
