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

// OpenCSV is [CSV.Open] with nothing known of the file but the name of its label column, "" where
// that is the last.
func OpenCSV(path, label string) (*Table, error) { return CSV{Label: label}.Open(path) }

// CSV says what is known of a csv file of raw rows.
type CSV struct {
	Label  string // name of the label column; "": the last
	Header Header
}

// Header says whether the first row of a csv file has names. The zero value finds out.
type Header string

// What may be known of a header.
const (
	NamedHeader Header = "yes"
	NoHeader    Header = "no"
)

// Open reads a labelled table, such as those of the UCI repository, from the csv file at path,
// gzipped if it ends in .gz. Every column but the label is a number. A first row in which
// some feature is not a number is the header; where it may be one or a row, somebody must say.
// Whatever is wrong with the file, a row without a label and a label that is a quantity
// included, is an *InputError.
func (c CSV) Open(path string) (*Table, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := uncompressed(path, f)
	if err != nil {
		return nil, err
	}
	return c.read(path, r)
}

// UnmarshalText reads yes or no.
func (h *Header) UnmarshalText(text []byte) error {
	if *h = Header(text); *h != "" && *h != NamedHeader && *h != NoHeader {
		return Inputf("", "a header is yes or no, not %q", text)
	}
	return nil
}

// uncompressed is r, of a file that is gzipped if its name ends so.
func uncompressed(path string, r io.Reader) (io.Reader, error) {
	if !strings.HasSuffix(path, ".gz") {
		return r, nil
	}
	z, err := gzip.NewReader(r)
	if err != nil {
		return nil, Inputf(path, "is not a gzip file: %w", err)
	}
	return z, nil
}

func (c CSV) read(path string, r io.Reader) (*Table, error) {
	records := newCSV(r)
	records.ReuseRecord = true
	records.TrimLeadingSpace = true

	t := &Table{Name: path}
	labelColumn := -1
	var values []float64
	var names, first []string // labels, and a first row that is taken for one of them
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
			var header bool
			if labelColumn, header, err = c.columns(path, record); err != nil {
				return nil, err
			}
			if header {
				t.label = record[labelColumn]
				t.Columns = without(slices.Clone(record), labelColumn)
				continue
			}
			if c.Header == "" {
				first = slices.Clone(record)
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
	if err := t.checkLabels(path, c.Label != ""); err != nil {
		return nil, err
	}
	if first != nil && t.doubtful(first) {
		return nil, Inputf(path, "begins with %.60q, which may be a header or a row; say --header yes or --header no, or give the columns names that are no numbers", strings.Join(first, ","))
	}
	return t, nil
}

// columns finds the label column in the first row, and whether that is a header.
func (c CSV) columns(path string, row []string) (label int, header bool, err error) {
	if label = len(row) - 1; c.Label != "" {
		if label = slices.Index(row, c.Label); label < 0 {
			return 0, false, Inputf(path, "has no column %q; it has %s", c.Label, strings.Join(row, ", "))
		}
		if c.Header == NoHeader {
			return 0, false, Inputf(path, "--label names a column of the header, and --header no says that there is none; move the label to the end")
		}
		return label, true, nil
	}
	return label, c.Header == NamedHeader || c.Header == "" && !numeric(row[:label]), nil
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
