package main

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	generated = regexp.MustCompile(`(?s)<!-- calibra:[a-z]+ .*?<!-- calibra:end -->`)
	code      = regexp.MustCompile("(?s:```.*?```)|`[^`\n]*`|(?m:^    .*$)|\\]\\([^)]*\\)|(?:Go|PyTorch|JAX|driver)\\s[0-9.]+")
	decimal   = regexp.MustCompile(`[0-9]*\.[0-9]{2,}`)
)

// checkNumbers refuses a page whose text has a number of two decimals or more that none of
// its tables has. Numbers in code and in links, and versions of programs, are no results.
func checkNumbers(page []byte) error {
	tables := map[string]bool{}
	for _, part := range generated.FindAllString(string(page), -1) {
		for _, x := range decimal.FindAllString(part, -1) {
			tables[plain(x)] = true
		}
	}
	for _, x := range decimal.FindAllString(prose(page), -1) {
		if !tables[plain(x)] {
			return fmt.Errorf("the text says %s, which no table of the page does; correct it, or show where it is from", x)
		}
	}
	return nil
}

// prose is the text of a page that people wrote, without code, links and versions.
func prose(page []byte) string {
	return code.ReplaceAllString(generated.ReplaceAllString(string(page), ""), "")
}

// plain is a number without the 0 before its point.
func plain(x string) string { return strings.TrimLeft(x, "0") }
