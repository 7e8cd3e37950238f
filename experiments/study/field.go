package study

import (
	"fmt"
	"strconv"

	"calibra/experiments"
)

// Field is a part of a Spec that distinguishes the rows of a table.
type Field struct {
	Head string // of the column
	Of   func(experiments.Spec) string
}

// The fields.
var (
	byMethod    = Field{"Method", func(s experiments.Spec) string { return title(s) }}
	bySlots     = Field{"w", func(s experiments.Spec) string { return strconv.Itoa(s.Slots()) }}
	byCodewords = Field{"|C|", func(s experiments.Spec) string { return strconv.Itoa(s.Codewords()) }}
	byFraction  = Field{"calibration rows", func(s experiments.Spec) string { return fmt.Sprintf("%g %%", 100*fraction(s)) }}
)

// MethodTitle is a method of experiments.Methods as tables write it.
func MethodTitle(name string) string { return (*experiments.Catalog)(nil).Title(name) }

// title is the Spec's method as tables write it.
func title(s experiments.Spec) string { return s.Catalog.Title(s.Method) }

// fraction is that of the calibration rows that are fitted on, 1 for all.
func fraction(s experiments.Spec) float64 {
	if s.Fraction == 0 {
		return 1
	}
	return s.Fraction
}
