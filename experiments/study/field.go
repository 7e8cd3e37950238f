package study

import (
	"fmt"
	"strconv"

	"calibra/experiments/method"
	"calibra/experiments/run"
)

// Field is a part of a Spec that distinguishes the rows of a table.
type Field struct {
	Head string // of the column
	Of   func(run.Spec) string
}

// The fields.
var (
	byMethod    = Field{"Method", func(s run.Spec) string { return title(s) }}
	bySlots     = Field{"w", func(s run.Spec) string { return strconv.Itoa(s.Slots()) }}
	byCodewords = Field{"|C|", func(s run.Spec) string { return strconv.Itoa(s.Codewords()) }}
	byFraction  = Field{"calibration rows", func(s run.Spec) string { return fmt.Sprintf("%g %%", 100*fraction(s)) }}
)

// MethodTitle is a method of method.All as tables write it.
func MethodTitle(name string) string { return (*method.Catalog)(nil).Title(name) }

// title is the Spec's method as tables write it.
func title(s run.Spec) string { return s.Catalog.Title(s.Method) }

// fraction is that of the calibration rows that are fitted on, 1 for all.
func fraction(s run.Spec) float64 {
	if s.Fraction == 0 {
		return 1
	}
	return s.Fraction
}
