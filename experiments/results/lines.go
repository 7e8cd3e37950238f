package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// linesOf fills the mark lines: a csv file as the terminal prints it.
func linesOf(dir string, a arguments) (string, error) {
	lines, err := readLines(dir, a["file"])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("\n")
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, line := range lines {
		fmt.Fprintf(w, "    %s\n", strings.Join(line, "\t"))
	}
	w.Flush()
	return b.String() + "\n", nil
}
