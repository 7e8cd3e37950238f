package main

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
)

var head = []string{"command", "rows", "features", "classes", "input MB", "peak MB", "peak / input", "core seconds", "seconds", "cores", "ended"}

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

// keys are the columns that tell what was measured.
const keys = 4

// keep puts m into results.csv in dir, in place of an earlier line of the same command and
// size, and all lines into RESULTS.md.
func keep(dir string, m *measured) error {
	path := filepath.Join(dir, "results.csv")
	var rows [][]string
	text, err := data.ReadFile(path)
	if err == nil {
		rows, err = csv.NewReader(bytes.NewReader(text)).ReadAll()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	rows = slices.DeleteFunc(rows[min(1, len(rows)):], func(row []string) bool { return slices.Equal(row[:keys], m.row()[:keys]) })
	rows = append(rows, m.row())
	slices.SortStableFunc(rows, func(a, b []string) int {
		for _, k := range []int{3, 1, 2} { // classes, rows, features
			x, _ := strconv.Atoi(a[k])
			y, _ := strconv.Atoi(b[k])
			if x != y {
				return x - y
			}
		}
		return strings.Compare(a[0], b[0])
	})
	var out bytes.Buffer
	if err := data.NewCSVWriter(&out).WriteAll(append([][]string{head}, rows...)); err != nil {
		return err
	}
	if err := data.WriteBytes(path, out.Bytes()); err != nil {
		return err
	}
	return data.WriteBytes(filepath.Join(dir, "RESULTS.md"), []byte(table(rows)))
}

// table is the rows in Markdown.
func table(rows [][]string) string {
	var b strings.Builder
	b.WriteString("# Memory and time\n\nWritten by `go run ./experiments/scale -table`, as `go doc ./experiments/scale` explains. The peak is of the\nprocess, as the system counts it; core seconds are those of all its threads. Where the machine was shared\nwith other work, seconds are more than the command needs.\n\n")
	for i, row := range append([][]string{head}, rows...) {
		cells := slices.Clone(row)
		if i > 0 {
			cells[0] = "`" + strings.Replace(cells[0], ", a model of ", "`, a model of `", 1) + "`"
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|---|%s---|\n", strings.Repeat("--:|", len(head)-2))
		}
	}
	return b.String()
}
