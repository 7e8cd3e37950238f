package main

import (
	"fmt"
	"strconv"
	"strings"

	"calibra/experiments/bench"
)

// row is the measurement as a line of results.csv.
func (m *measured) row() []string {
	ended := "yes"
	if m.interrupted {
		ended = "no, interrupted"
	}
	return []string{
		m.command, strconv.Itoa(m.rows), strconv.Itoa(m.features), strconv.Itoa(m.classes), fmt.Sprintf("%.0f", m.file), fmt.Sprintf("%.0f", m.peak),
		fmt.Sprintf("%.1f", m.peak/m.file), fmt.Sprintf("%.1f", m.core), fmt.Sprintf("%.1f", m.wall), strconv.Itoa(m.cores), ended,
	}
}

// page is what is kept of the measurements, ordered by classes, rows and features.
var page = bench.Page{
	Intro: "# Memory and time\n\nWritten by `go run ./experiments/scale -table`, as `go doc ./experiments/scale` explains. The peak is of the\nprocess, as the system counts it; core seconds are those of all its threads. Where the machine was shared\nwith other work, seconds are more than the command needs.\n",
	Head:  []string{"command", "rows", "features", "classes", "input MB", "peak MB", "peak / input", "core seconds", "seconds", "cores", "ended"},
	Keys:  4, // command and size
	Order: func(a, b []string) int {
		for _, k := range []int{3, 1, 2} {
			x, _ := strconv.Atoi(a[k])
			y, _ := strconv.Atoi(b[k])
			if x != y {
				return x - y
			}
		}
		return strings.Compare(a[0], b[0])
	},
	Show: func(row []string) []string {
		command := "`" + strings.Replace(row[0], ", a model of ", "`, a model of `", 1) + "`"
		return append([]string{command}, row[1:]...)
	},
}
