package data

import (
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// OpenCSV reads a labelled table, such as those of the UCI repository, from the
// csv file at path, gzipped if it ends in .gz. The label column is the one named
// label, or the last if label is ""; every other column is a number. A first row
// in which some feature is not a number is the header. Whatever is wrong with the
// file, a row without a label included, is an *InputError.
func OpenCSV(path, label string) (*Table, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readCSV(path, f, strings.HasSuffix(path, ".gz"), label)
}

func readCSV(path string, r io.Reader, gzipped bool, label string) (*Table, error) {
	if gzipped {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, Inputf(path, "is not a gzip file: %w", err)
		}
		r = z
	}
	records := newCSV(r)
	records.ReuseRecord = true
	records.TrimLeadingSpace = true

	t := &Table{Name: path}
	labelColumn := -1
	var values []float64
	var names []string
	for row := 1; ; row++ {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if errors.Is(err, io.ErrUnexpectedEOF) {
			return nil, Inputf(path, "%w", truncated(err))
		}
		if err != nil {
			return nil, Inputf(path, "cannot be read: %w", err)
		}
		if row == 1 {
			if len(record) < 2 {
				return nil, Inputf(path, "has one column; it needs features and a label")
			}
			labelColumn = len(record) - 1
			header := !numeric(record[:labelColumn])
			if label != "" {
				if labelColumn = slices.Index(record, label); labelColumn < 0 {
					return nil, Inputf(path, "has no column %q; it has %s", label, strings.Join(record, ", "))
				}
				header = true
			}
			if header {
				t.Columns = without(slices.Clone(record), labelColumn)
				continue
			}
		}
		for j, field := range record {
			if j == labelColumn {
				name := strings.TrimSpace(field)
				if name == "" {
					return nil, Inputf(path, "has no label in row %d, column %d; give it one or leave the row out", row, j+1)
				}
				names = append(names, strings.Clone(name))
				continue
			}
			v, err := strconv.ParseFloat(strings.TrimSpace(field), 64)
			if err != nil || v-v != 0 {
				return nil, Inputf(path, "has %.40q in row %d, column %d, where a finite number should be; if that column is the label, move it to the end or, where the command has the flag, name it by --label", field, row, j+1)
			}
			values = append(values, v)
		}
		if row%(1<<16) == 0 {
			if err := CheckRoom(path, "the table", row, 8*float64(len(record)), "rows"); err != nil {
				return nil, err
			}
		}
	}
	if len(names) == 0 {
		return nil, Inputf(path, "has no rows")
	}
	t.Features = mat.NewDense(len(names), len(values)/len(names), values)
	t.Classes, t.Labels = encode(names)
	return t, nil
}

func numeric(fields []string) bool {
	for _, f := range fields {
		if _, err := strconv.ParseFloat(strings.TrimSpace(f), 64); err != nil {
			return false
		}
	}
	return true
}

func without(s []string, i int) []string { return slices.Delete(s, i, i+1) }

// encode numbers the distinct names in ascending order, as numbers if all are.
func encode(names []string) (classes []string, labels []int) {
	number := make(map[string]int)
	for _, s := range names {
		number[s] = 0
	}
	classes = slices.Sorted(maps.Keys(number))
	if numeric(classes) {
		slices.SortStableFunc(classes, func(a, b string) int {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return cmp.Compare(x, y)
		})
	}
	for i, s := range classes {
		number[s] = i
	}
	labels = make([]int, len(names))
	for i, s := range names {
		labels[i] = number[s]
	}
	return classes, labels
}
