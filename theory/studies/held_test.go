package studies

import (
	"math"
	"strings"
	"testing"

	"calibra/theory"
)

func TestHeld(t *testing.T) {
	row := func(value float64) theory.Row {
		return theory.Row{Study: "rate", Quantity: "slope", Estimate: theory.Estimate{Value: value}, Band: &theory.Band{Low: -1, High: 0}}
	}
	free := theory.Row{Quantity: "free", Estimate: theory.Estimate{Value: math.Pi}}
	for want, rows := range map[string][]theory.Row{
		"All 2 bands hold.":                            {row(-.5), row(-.2), free},
		"The one band holds.":                          {row(-.5)},
		"1 of 2 bands fail.|rate: slope is 2, outside": {row(-.5), row(2)},
		"No quantity has a band":                       {free},
		"7 of 7 bands fail.":                           {row(1), row(1), row(1), row(1), row(1), row(1), row(1)},
	} {
		lines := Held([]*theory.Report{{Study: "rate", Rows: rows}})
		if got := strings.Join(lines, "|"); !strings.HasPrefix(got, want) || len(lines) > 7 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
