package data

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
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

// What makes a column of a raw table a label, a quantity or an index is known of so many rows.
const fewRows, manyRows = 10, 20

// doubtful reports whether the first row, whose features are numbers, may be a header for all that:
// because it counts the columns, or because its label occurs nowhere else.
func (t *Table) doubtful(first []string) bool {
	counts := func(from int) bool {
		for i, field := range first {
			if strings.TrimSpace(field) != strconv.Itoa(from+i) {
				return false
			}
		}
		return true
	}
	once := !slices.Contains(t.Labels[1:], t.Labels[0])
	return (counts(0) || counts(1)) && len(first) > 2 || once && t.Len() >= fewRows
}

// checkLabels returns an *InputError where the labels are a quantity rather than classes, with the
// columns that look like classes. It names in Notice the column that is an index.
func (t *Table) checkLabels(path string, named bool) error {
	n, c := t.Len(), len(t.Classes)
	if n < manyRows {
		return nil
	}
	what := t.label
	if what == "" {
		what = "the last"
	}
	is := ""
	switch {
	case c > n/2:
		is = fmt.Sprintf("has %d values in %d rows", c, n)
	case !named && numeric(t.Classes) && slices.ContainsFunc(t.Classes, decimal):
		is = "holds decimals, as " + t.Classes[slices.IndexFunc(t.Classes, decimal)]
	}
	like, index := t.candidates()
	if is != "" {
		hint := "no other column looks like one; name the label column by --label"
		if like != nil {
			hint = strings.Join(like, ", ") + " may be: name the label column by --label, or move it to the end"
		}
		return Inputf(path, "column %s %s, so it is no label; %s", Printable(what), is, hint)
	}
	if index != "" {
		t.Notice = fmt.Sprintf("column %s counts the rows and looks like an index; leave it out", index)
	}
	return nil
}

func decimal(number string) bool {
	v, err := strconv.ParseFloat(number, 64)
	return err == nil && v != math.Trunc(v)
}

// candidates finds the feature columns that look like labels, of few integers, and the first that
// looks like an index.
func (t *Table) candidates() (like []string, index string) {
	n, m := t.Features.Dims()
	for j := range m {
		name := fmt.Sprint(j + 1)
		if t.Columns != nil {
			name = Printable(t.Columns[j])
		}
		first := t.Features.At(0, j)
		whole, quantity, counts := map[float64]bool{}, false, first == 0 || first == 1
		for i := 0; i < n && (counts || !quantity); i++ {
			v := t.Features.At(i, j)
			counts = counts && v == first+float64(i)
			if quantity = quantity || v != math.Trunc(v) || len(whole) > n/10; !quantity {
				whole[v] = true
			}
		}
		if counts && index == "" {
			index = name
		}
		const most = 5
		if !quantity && len(whole) >= 2 && len(whole) <= n/10 && len(like) < most {
			like = append(like, fmt.Sprintf("%s (%d values)", name, len(whole)))
		}
	}
	return like, index
}
