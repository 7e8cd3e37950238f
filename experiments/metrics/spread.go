package metrics

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/experiments/internal/checked"
)

// Spread is a metric over several runs, such as seeds.
type Spread struct {
	Mean float64 `json:"mean"`
	SD   float64 `json:"sd"` // sample standard deviation, 0 of a single run
	Runs int     `json:"-"`
}

// NewSpread summarizes one value per run.
func NewSpread(values []float64) Spread {
	s := Spread{Mean: checked.Mean(values), Runs: len(values)}
	if len(values) > 1 {
		for _, v := range values {
			s.SD += (v - s.Mean) * (v - s.Mean) / float64(len(values)-1)
		}
		s.SD = math.Sqrt(s.SD)
	}
	return s
}

// decimals is how many digits the paper's tables give a metric.
func (m Metric) decimals() int {
	switch m {
	case Accuracy, NLL, Brier:
		return 3
	}
	return 4
}

// Format writes the spread in the style of the paper's tables, ".0053±.0007". A single run, or runs that are equal in
// these digits, have no deviation.
func (s Spread) Format(m Metric) string {
	if math.IsNaN(s.Mean) {
		return "–"
	}
	number := func(x float64) string {
		text := strconv.FormatFloat(x, 'f', m.decimals(), 64)
		if s.Mean < 10 && math.Abs(x) < 1 { // "10.2" must not lose its 0
			text = strings.Replace(text, "0.", ".", 1)
		}
		return text
	}
	if sd := number(s.SD); s.Runs != 1 && strings.Trim(sd, ".0") != "" {
		return number(s.Mean) + "±" + sd
	}
	return number(s.Mean)
}

// Signed is a number of so many decimals with its sign, "+0.0012", and never −0.
func Signed(x float64, decimals int) string {
	text := Fixed(x, decimals)
	if text[0] != '-' {
		text = "+" + text
	}
	return text
}

// Fixed is a number of so many decimals, and never −0.
func Fixed(x float64, decimals int) string {
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return text
}

// Nats is a gain in four decimals, never −0.
func Nats(x float64) string { return strings.Replace(Fixed(x, 4), "-", "−", 1) }

// Mark is a method's place in a column of a table.
type Mark int

const (
	Unmarked Mark = iota // neither
	Best                 // bold
	Second               // underlined
)

// Marks finds the best and second of a column, one spread per method, by their
// means as printed: equal ones share a mark, and methods without a value get none.
func Marks(m Metric, column []Spread) []Mark {
	scale := math.Pow10(m.decimals())
	printed := func(s Spread) float64 {
		x := math.Round(s.Mean * scale)
		if m.HigherIsBetter() {
			return -x
		}
		return x
	}
	var places []float64
	for _, s := range column {
		if !math.IsNaN(s.Mean) {
			places = append(places, printed(s))
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	marks := make([]Mark, len(column))
	for i, s := range column {
		switch {
		case math.IsNaN(s.Mean):
		case printed(s) == places[0]:
			marks[i] = Best
		case printed(s) == places[1]:
			marks[i] = Second
		}
	}
	return marks
}

// Thousands is a whole number, "12,000".
func Thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
