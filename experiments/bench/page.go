package bench

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
)

// Page is figures that a program measures now and then: the rows of results.csv in a directory, and RESULTS.md, which
// shows them.
type Page struct {
	Intro string // of RESULTS.md
	Head  []string
	Keys  int // columns from the first that name what was measured
	// Order is how rows follow each other, and Show how one is written in RESULTS.md; nil: as it is.
	Order func(a, b []string) int
	Show  func(row []string) []string
}

// Keep puts rows into results.csv in dir, in place of earlier ones with the same keys, and all of them into RESULTS.md.
func (p Page) Keep(dir string, rows ...[]string) error {
	path := filepath.Join(dir, "results.csv")
	text, err := data.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all[min(1, len(all)):], func(old []string) bool {
		return slices.ContainsFunc(rows, func(row []string) bool { return slices.Equal(row[:p.Keys], old[:p.Keys]) })
	})
	all = append(all, rows...)
	slices.SortStableFunc(all, p.Order)
	var out bytes.Buffer
	if err := data.NewCSVWriter(&out).WriteAll(append([][]string{p.Head}, all...)); err != nil {
		return err
	}
	if err := disk.WriteBytes(path, out.Bytes()); err != nil {
		return err
	}
	return disk.WriteBytes(filepath.Join(dir, "RESULTS.md"), []byte(p.Table(all)))
}

// Table is rows in Markdown.
func (p Page) Table(rows [][]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n| %s |\n|---|%s---|\n", p.Intro, strings.Join(p.Head, " | "), strings.Repeat("--:|", len(p.Head)-2))
	for _, row := range rows {
		if p.Show != nil {
			row = p.Show(row)
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}
