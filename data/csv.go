package data

import (
	"cmp"
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

// CSV is what is known of a csv file of raw rows.
type CSV struct {
	Label  string // name of the label column; "": the last
	Header Header
}

// Header reports whether the first row of a csv file has names. The zero value finds out.
type Header string

// What may be known of a header.
const (
	NamedHeader Header = "yes"
	NoHeader    Header = "no"
)

// Open reads a labelled table, such as those of the UCI repository, from the csv file at path.
// Every column but the label is a number. A first row in which
// some feature is not a number is the header; where it may be one or a row, Header must be set.
// Whatever is wrong with the file, a row without a label and a label that is a quantity
// included, is an *InputError.
func (c CSV) Open(path string) (*Table, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return c.read(path, f)
}

// UnmarshalText reads yes or no.
func (h *Header) UnmarshalText(text []byte) error {
	if *h = Header(text); *h != "" && *h != NamedHeader && *h != NoHeader {
		return Inputf("", "a header is yes or no, not %q", text)
	}
	return nil
}

func (c CSV) read(path string, r io.Reader) (*Table, error) {
	records, err := newRecords(path, r, nil)
	if err != nil {
		return nil, err
	}
	rows := rawRows{CSV: c, path: path, table: &Table{Name: path}, numbers: numbers{commas: records.Comma != ','}}
	err = records.each(8, func(n int, record []string) error {
		if n == 1 {
			if header, err := rows.begin(record); header || err != nil {
				return err
			}
		}
		return rows.add(n, record)
	})
	if err != nil {
		return nil, err
	}
	return rows.whole()
}

// rawRows are the rows of a csv file that have been read.
type rawRows struct {
	CSV
	path          string
	table         *Table // without the rows
	labelColumn   int
	numbers       numbers
	values        []float64
	labels, first []string // and a first row that may be a header
}

// begin finds the label column by the first row, and reports whether it is the header.
func (t *rawRows) begin(record []string) (header bool, err error) {
	if len(record) < 2 {
		return false, Inputf(t.path, "has one column; it needs features and a label")
	}
	if t.labelColumn, header, err = t.CSV.columns(t.path, record); err != nil {
		return false, err
	}
	if header {
		if name := twice(record); name != "" {
			return false, Inputf(t.path, "has two columns %s; give each its own name, or leave one out", Printable(name))
		}
		t.table.label = record[t.labelColumn]
		t.table.Columns = slices.Delete(slices.Clone(record), t.labelColumn, t.labelColumn+1)
	} else if t.Header == "" {
		t.first = slices.Clone(record)
	}
	return header, nil
}

// add appends row n of the file.
func (t *rawRows) add(n int, record []string) error {
	for j, field := range record {
		field := strings.TrimSpace(field)
		if j == t.labelColumn {
			if field == "" {
				return Inputf(t.path, "has no label in row %d, column %d; give it one or leave the row out", n, j+1)
			}
			t.labels = append(t.labels, strings.Clone(plainName(field)))
			continue
		}
		v, err := t.numbers.parse(field)
		if err != nil || v-v != 0 {
			return Inputf(t.path, "has %.40q in row %d, column %d, where a finite number should be; if that column is the label, move it to the end or, where the command has the flag, name it by --label", record[j], n, j+1)
		}
		t.values = append(t.values, v)
	}
	return nil
}

// whole is the table of all rows.
func (t *rawRows) whole() (*Table, error) {
	n, out := len(t.labels), t.table
	if n == 0 {
		return nil, Inputf(t.path, "has no rows")
	}
	if err := t.numbers.check(t.path); err != nil {
		return nil, err
	}
	out.Features = mat.NewDense(n, len(t.values)/n, t.values)
	out.Classes, out.Labels = encode(t.labels)
	if err := out.checkLabels(t.path, t.Label != ""); err != nil {
		return nil, err
	}
	if t.first != nil && out.doubtful(t.first) {
		return nil, Inputf(t.path, "begins with %.60q, which may be a header or a row; say --header yes or --header no, or give the columns names that are no numbers", strings.Join(t.first, ","))
	}
	return out, nil
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

// twice is the first name that stands twice, "" if none does.
func twice(names []string) string {
	seen := map[string]bool{}
	for _, name := range names {
		name = plainName(name)
		if seen[name] && name != "" {
			return name
		}
		seen[name] = true
	}
	return ""
}

func numeric(fields []string) bool {
	for _, f := range fields {
		if _, err := strconv.ParseFloat(strings.TrimSpace(f), 64); err != nil {
			return false
		}
	}
	return true
}

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
