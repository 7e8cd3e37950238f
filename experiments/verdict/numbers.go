package verdict

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/metrics"
)

// count is a number of rows, whole or of two digits.
func count(x float64) string {
	if x == math.Trunc(x) && x < 1e6 {
		return metrics.Thousands(int(x))
	}
	return fmt.Sprintf("%.2g", x)
}

// twoDigits is the number of rows, rounded up to two significant digits.
func twoDigits(rows float64) int {
	unit := math.Pow(10, max(math.Floor(math.Log10(rows))-1, 0))
	return int(math.Ceil(rows/unit) * unit)
}

// names are those of the methods.
func names(of []*Judged) []string {
	return append([]string{}, data.Each(of, func(j *Judged) string { return j.Name })...)
}

// titles are those of the methods, six at most.
func titles(of []*Judged) string {
	const most = 6
	out := data.Each(of, func(j *Judged) string { return j.Title })
	if len(out) > most {
		out = append(out[:most], fmt.Sprintf("%d more", len(out)-most))
	}
	return listed(out)
}

// upper is a title at the beginning of a sentence. Names of methods stay as they are: what begins with an article is
// none.
func upper(title string) string {
	if strings.HasPrefix(title, "a ") || strings.HasPrefix(title, "the ") {
		return strings.ToUpper(title[:1]) + title[1:]
	}
	return title
}

// upperFirst is a text as a sentence begins.
func upperFirst(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// listed is "a", "a and b", "a, b and c".
func listed(words []string) string {
	if n := len(words); n > 1 {
		return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
	}
	return strings.Join(words, "")
}

// nats is a number of four decimals, or of two digits where it is below .001, without its leading 0.
func nats(x float64) string { return fixed(x, decimals(x)) }

// arrow is how a number changes, ".3000 → .2050", with the decimals that show it, or "stays .3000" where four do not
// and it is by less than a thousandth.
func arrow(from, to float64) string {
	const fourDecimals = 5e-5
	if math.Abs(from-to) < fourDecimals && math.Abs(from-to) < tooSmall*math.Abs(from) {
		return "stays " + nats(to)
	}
	digits := decimals(from - to)
	return fixed(from, digits) + " → " + fixed(to, digits)
}

// nothing is what rounds to 0 in nine decimals.
const nothing = 5e-10

// decimals are four, or as many as show two digits of the largest of some numbers.
func decimals(x ...float64) int {
	const four, most = 4, 9
	largest := 0.0
	for _, v := range x {
		largest = max(largest, math.Abs(v))
	}
	if !(largest >= nothing && largest < 1) {
		return four
	}
	return min(max(four, 1-int(math.Floor(math.Log10(largest)))), most)
}

// fixed is a number of so many decimals without its leading 0, with a minus sign of its own.
func fixed(x float64, digits int) string {
	text := strings.TrimPrefix(strconv.FormatFloat(math.Abs(x), 'f', digits, 64), "0")
	if x < 0 && strings.Trim(text, ".0") != "" {
		return "−" + text
	}
	return text
}

// leastP is below what a p-value is written as a bound: no test of so many rows knows it better.
const leastP = 1e-6

// P writes a p-value by two digits, .017 or 8e-6, and below a millionth as a bound.
func P(p float64) string {
	if p < leastP {
		return "≤ 1e-6"
	}
	text := strings.TrimPrefix(fmt.Sprintf("%.2g", p), "0")
	return strings.Replace(text, "e-0", "e-", 1)
}

// pEquals is P with its letter: "p = .03", "p ≤ 1e-6".
func pEquals(p float64) string { return equals(P(p)) }

// equals is a p-value, or its bound, with its letter.
func equals(text string) string {
	if strings.HasPrefix(text, "≤") {
		return "p " + text
	}
	return "p = " + text
}

// PAmong is the p-value of a test by so many redraws, the least it can show as a bound: "≤ 1/51".
func PAmong(p float64, redraws int) string {
	if least := 1 / float64(redraws+1); p <= least*(1+1e-9) {
		return fmt.Sprintf("≤ 1/%d", redraws+1)
	}
	return fixed(p, 3)
}
