package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	generated = regexp.MustCompile(`(?s)<!-- calibra:[a-z]+ .*?<!-- calibra:end -->`)
	code      = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`|(?m)^    .*$|\\]\\([^)]*\\)|Go 1\\.[0-9]+")
	decimal   = regexp.MustCompile(`[0-9]*\.[0-9]{2,}`)
)

// checkNumbers refuses a page whose text has a number of two decimals or more that none of
// its tables has. Numbers in code and in links are no results.
func checkNumbers(page []byte) error {
	tables := map[string]bool{}
	for _, part := range generated.FindAllString(string(page), -1) {
		for _, x := range decimal.FindAllString(part, -1) {
			tables[plain(x)] = true
		}
	}
	text := code.ReplaceAllString(generated.ReplaceAllString(string(page), ""), "")
	for _, x := range decimal.FindAllString(text, -1) {
		if !tables[plain(x)] {
			return fmt.Errorf("the text says %s, which no table of the page does; correct it, or show where it is from", x)
		}
	}
	return nil
}

// plain is a number without the 0 before its point.
func plain(x string) string { return strings.TrimLeft(x, "0") }
