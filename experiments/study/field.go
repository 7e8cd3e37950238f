package study

import (
	"fmt"
	"slices"
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

// MethodTitle is a method as tables write it: the paper's abbreviation, "VQ-DC", or
// for the methods beyond it their name, "Anchored Dirichlet".
func MethodTitle(name string) string {
	if !slices.Contains(experiments.Beyond, name) || strings.HasPrefix(name, "vq-") {
		return strings.ToUpper(name)
	}
	if title, ok := beyondTitles[name]; ok {
		return title
	}
	return strings.ToUpper(name[:1]) + strings.ReplaceAll(name[1:], "-", " ")
}

// beyondTitles are those that are not the name with a capital.
var beyondTitles = map[string]string{"anchored-dirichlet": "Anchored Dirichlet"}

// fraction is that of the calibration rows that are fitted on, 1 for all.
func fraction(s experiments.Spec) float64 {
	if s.Fraction == 0 {
		return 1
	}
	return s.Fraction
}
