package study

import (
	"strings"
	"testing"

	"calibra/experiments/source"
)

// made are a study's findings on one seed whose results are as result says.
func made(t *testing.T, s *Study, result func(Cell) *Result) *Findings {
	t.Helper()
	one := settings
	one.Seeds = one.Seeds[:1]
	cells, skipped, err := s.Cells(t.Context(), []*source.Origin{origin(t, features(t, 300, 8))}, one)
	if err != nil {
		t.Fatal(err)
	}
	f := &Findings{Study: s, Settings: one, Cells: cells, Skipped: skipped}
	for _, c := range cells {
		f.Results = append(f.Results, result(c))
	}
	return f
}

// The report gives the class shares of the most calibration rows, not of a part.
func TestClassSharesAreOfTheMostRows(t *testing.T) {
	f := made(t, &calibrationSizeStudy, func(c Cell) *Result {
		if fraction(c.Spec) < 1 {
			return &Result{CalibrationRows: int(300 * c.Spec.Fraction), Classes: 2, Priors: []float64{.9, .1}}
		}
		return &Result{CalibrationRows: 300, Classes: 2, Priors: []float64{.75, .25}}
	})
	for _, fact := range f.facts() {
		if fact.Name == "Class shares" && !strings.Contains(fact.Value, "0.250") {
			t.Errorf("the class shares are %q", fact.Value)
		}
	}
}

// An epoch of a small set takes milliseconds, which the table of times shows.
func TestTimesOfSmallSets(t *testing.T) {
	f := made(t, &timeStudy, func(Cell) *Result {
		return &Result{Stages: []Stage{{Name: "divide", Seconds: .5, Epochs: 100}, {Name: "calibrate", Seconds: .03, Epochs: 50}}}
	})
	row := timeTable(f).Tables[0].Blocks[0].Rows[0]
	if row.Cells[0].Text != "0.0050" || row.Cells[2].Text != "0.0006" {
		t.Errorf("seconds an epoch are %q and %q, not 0.0050 and 0.0006", row.Cells[0].Text, row.Cells[2].Text)
	}
}
