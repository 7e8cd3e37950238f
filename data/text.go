package data

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text that a file brings (names of columns, groups, classes, files) is shown through here:
// a terminal, a spreadsheet and a reader get to see it, and none obeys it.

// Line is text as one line that a terminal may show. What it would obey, or what changes the
// order of letters, is written as \u001b is in JSON, so that JSON stays what it is.
func Line(text string) string { return shown(text, "") }

// Lines is Line of each line.
func Lines(text string) string { return shown(text, "\n\t") }

func shown(text, kept string) string {
	hidden := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsGraphic(r) && !strings.ContainsRune(kept, r)
	}
	if strings.IndexFunc(text, hidden) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, text[0])
		case r == utf8.RuneError || !hidden(r):
			b.WriteString(text[:n])
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&b, `\u%04x`, unit)
			}
		}
		text = text[n:]
	}
	return b.String()
}

// Printable is a name that a file gives, as a sentence may show it: cut off where it is
// long, and quoted where a terminal would obey it.
func Printable(name string) string {
	if quoted := fmt.Sprintf("%.40q", name); quoted != `"`+name+`"` || name == "" {
		return quoted
	}
	return name
}

// listed are the first names, up to most, and how many more there are.
func listed(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		names = append(names[:most:most], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// WriteCSV writes a csv file that a spreadsheet shows and does not run: a field that it would take for a formula gets a
// ' before it; a number stays one.
func WriteCSV(w io.Writer, records [][]string) error {
	return csv.NewWriter(w).WriteAll(Each(records, func(record []string) []string {
		return Each(record, func(field string) string {
			_, err := strconv.ParseFloat(field, 64)
			if err != nil && field != "" && strings.ContainsRune("=+-@\t\r", rune(field[0])) {
				return "'" + field
			}
			return field
		})
	}))
}
