package data

import (
	"fmt"
	"math"
)

// form is a function x of probabilities that may be taken for logits. Its rows tell it: the p of each sum to 1.
type form struct {
	of, p string
	back  func(x float64) float64 // p, and NaN or a number outside 0…1 where x is no value of the form
}

var forms = [...]form{
	{"logarithms of base 2 of probabilities", "2^x", math.Exp2},
	{"logarithms of base 10 of probabilities", "10^x", func(x float64) float64 { return math.Pow(10, x) }},
	{"probabilities in decibels", "10^(x/10)", func(x float64) float64 { return math.Pow(10, x/10) }},
	{"negative logarithms of probabilities", "exp(−x)", func(x float64) float64 { return math.Exp(-x) }},
	{"negative logarithms of base 2 of probabilities", "2^−x", func(x float64) float64 { return math.Exp2(-x) }},
	{"negative logarithms of base 10 of probabilities", "10^−x", func(x float64) float64 { return math.Pow(10, -x) }},
	{"odds p/(1 − p)", "x/(1 + x)", func(x float64) float64 { return 1 / (1 + 1/x) }},
	{"odds (1 − p)/p against each class", "1/(1 + x)", func(x float64) float64 { return 1 / (1 + x) }},
	{"logarithms of odds p/(1 − p)", "1/(1 + exp(−x))", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"reciprocals 1/p of probabilities", "1/x", func(x float64) float64 { return 1 / x }},
	{"1 − p of probabilities p", "1 − x", func(x float64) float64 { return 1 - x }},
}

// told counts the rows that tell a form, and those that are none of it. Rows as sure as 1 and 0 are of several forms,
// and count as neither.
type told struct{ rows, others int }

// surely reports whether the rows are of the form: chance has few of them by none.
func (t told) surely() bool { return t.rows >= few && t.rows > t.others }

// add counts a row whose numbers are rounded so. It stops where the first rows have told.
func (t *told) add(f *form, row []float64, g *grain) {
	const furthest, sure = .05, .99
	if t.others > few+t.rows {
		return
	}
	sum, off, largest := 0.0, closest, 0.0
	for _, v := range row {
		p := f.back(v)
		if !(p >= 0 && p <= 1) {
			t.others++
			return
		}
		sum, largest = sum+p, max(largest, p)
		if unit := g.unit(v); unit > 0 && !math.IsInf(v, 0) {
			off += math.Abs(f.back(v+unit/2) - p)
		}
	}
	switch {
	case math.Abs(sum-1) > min(off, furthest):
		t.others++
	case largest < sure:
		t.rows++
	}
}

// form says of which form the rows are, and the way out; "" for none.
func (j *Judge) form() string {
	for k, f := range forms {
		if j.scale() == 0 && j.told[k].surely() {
			return fmt.Sprintf("seems to hold %s, since %s sums to 1 in each row; hand over %[2]s of each number%[3]s", f.of, f.p, orSayWhich)
		}
	}
	return ""
}
