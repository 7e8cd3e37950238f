package study

import (
	"fmt"
	"strconv"
	"strings"

	"calibra/experiments"
)

// Field is a part of a Spec that tells the rows of a table apart.
type Field struct {
	Head string // of the column
	Of   func(experiments.Spec) string
}

// The fields.
var (
	ByMethod    = Field{"Method", func(s experiments.Spec) string { return MethodTitle(s.Method) }}
	BySlots     = Field{"w", func(s experiments.Spec) string { return strconv.Itoa(s.Slots) }}
	ByCodewords = Field{"|C|", func(s experiments.Spec) string { return strconv.Itoa(s.Codewords) }}
	ByFraction  = Field{"calibration rows", func(s experiments.Spec) string { return fmt.Sprintf("%g %%", 100*fraction(s)) }}
)

// MethodTitle is a method as the paper writes it: "VQ-DC".
func MethodTitle(name string) string { return strings.ToUpper(name) }

// fraction is that of the calibration rows that are fitted on, 1 for all.
func fraction(s experiments.Spec) float64 {
	if s.Fraction == 0 {
		return 1
	}
	return s.Fraction
}
