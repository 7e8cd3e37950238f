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
	"time"

	"gonum.org/v1/gonum/mat"
)

// OpenCSV is [CSV.Open] with nothing known of the file but the name of its label column, "" where
// that is the last.
func OpenCSV(path, label string) (*Table, error) { return CSV{Label: label}.Open(path) }

// CSV describes a csv file of raw rows.
type CSV struct {
	Label  string // name of the label column; "": the last
	Header Header
	// Columns are an encoder's columns: a column that was text is read as text, even if it holds only numbers.
	Columns []RawColumn
}

// Header reports whether the first row of a csv file has names. The zero value finds out.
type Header string

// What may be known of a header.
const (
	NamedHeader Header = "yes"
	NoHeader    Header = "no"
)

// Open reads a labelled table, such as those of the UCI repository, from the csv file at path.
// A column holds numbers, some of which may be missing, or text. A first row in which
// some feature is not a number is the header, unless its text occurs below it; if it may be either, Header must be set.
// Any fault of the file is an *InputError, also a row without a label or a label that is a quantity.
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
	rows := rawRows{CSV: c, path: path, table: &Table{Name: path}, commas: records.Comma != ','}
	err = records.each(10, func(n int, record []string) error { // a number, and a place in the words of its column
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
	commas        bool // may be decimal marks
	columns       []*csvColumn
	values        []float64
	labels, first []string // and a first row that may be a header
	header        bool     // it is taken for one
}

// begin finds the label column by the first row, and reports whether it is taken for the header.
func (t *rawRows) begin(record []string) (header bool, err error) {
	if len(record) < 2 {
		return false, Inputf(t.path, "has one column; it needs features and a label")
	}
	if t.labelColumn, t.header, err = t.CSV.columns(t.path, record); err != nil {
		return false, err
	}
	if t.first = slices.Clone(record); t.Header != "" || t.Label != "" {
		t.first = nil
	}
	if t.header {
		t.table.label = record[t.labelColumn]
		t.table.Columns = slices.Delete(slices.Clone(record), t.labelColumn, t.labelColumn+1)
		rest := slices.DeleteFunc(slices.Clone(t.table.Columns), idNames.MatchString)
		if len(rest) == 1 && scoreName.MatchString(plainName(rest[0])) {
			return true, Inputf(t.path, "has one column of scores, %s, and none of features; name the probabilities of both classes prob_0 (1 − p) and prob_1 (p)", Printable(rest[0]))
		}
	}
	t.columns = Each(record[1:], func(string) *csvColumn {
		return &csvColumn{numbers: numbers{commas: t.commas}, words: map[string]uint16{}}
	})
	return t.header, nil
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
		v, finite := t.columns[t.feature(j)].add(field, n)
		if !finite {
			return t.noNumber(field, n, j)
		}
		t.values = append(t.values, v)
	}
	return nil
}

// feature is the number of the feature in column j, which is not the label's.
func (t *rawRows) feature(j int) int {
	if j > t.labelColumn {
		return j - 1
	}
	return j
}

// noNumber is the error of the field in row n and column j.
func (t *rawRows) noNumber(field string, n, j int) error {
	return Inputf(t.path, "has %.40q in row %d, column %d, where a finite number should be; if that column is the label, move it to the end or, where the command has the flag, name it by --label", field, n, j+1)
}

// whole is the table of all rows.
func (t *rawRows) whole() (*Table, error) {
	if err := t.settleHeader(); err != nil {
		return nil, err
	}
	n, out := len(t.labels), t.table
	if n == 0 {
		return nil, Inputf(t.path, "has no rows")
	}
	out.Features = mat.NewDense(n, len(t.values)/n, t.values)
	if err := t.settleColumns(); err != nil {
		return nil, err
	}
	out.Classes, out.Labels = encode(t.labels)
	if err := out.checkLabels(t.path, t.Label != ""); err != nil {
		return nil, err
	}
	if t.first != nil && !t.header && out.doubtful(t.first) {
		return nil, t.doubt()
	}
	if out.predicted() {
		return nil, Inputf(t.path, "has as many columns as classes, whose rows sum to 1 as probabilities do; name them prob_CLASS by the classes of the label, or leave one out if they are features")
	}
	return out, nil
}

// predicted reports whether the features look like the probabilities of the classes.
func (t *Table) predicted() bool {
	var columns []*column
	for j := range t.Features.RawMatrix().Cols {
		if !slices.Contains(t.ids, j) {
			columns = append(columns, &column{rows: t.Len(), values: mat.Col(nil, j, t.Features)})
		}
	}
	return len(columns) == len(t.Classes) && distributions(columns)
}

// doubt is the error of a first row that may be a header.
func (t *rawRows) doubt() error {
	return Inputf(t.path, "begins with %.60q, which may be a header or a row; say --header yes or --header no, or give the columns names that are no numbers and no values of theirs", strings.Join(t.first, ","))
}

// settleHeader makes the first row, if it was taken for the header because of its text, the row that it is where that
// text occurs below it.
func (t *rawRows) settleHeader() error {
	if !t.header {
		return nil
	}
	if t.first != nil {
		texts, again := t.recurring()
		switch {
		case texts > 0 && again == texts:
			return t.putFirst()
		case again > 0:
			return t.doubt()
		}
	}
	if name := twice(append(slices.Clone(t.table.Columns), t.table.label)); name != "" {
		return Inputf(t.path, "has two columns %s; give each its own name, or leave one out", Printable(name))
	}
	return nil
}

// recurring counts the columns where the first row and those below have text, and of those in how many its text
// occurs below. Text above numbers alone is a name, for certain, and then there are none.
func (t *rawRows) recurring() (texts, again int) {
	for j, field := range t.first {
		if field = strings.TrimSpace(field); missing(field) || numeric([]string{field}) {
			continue
		}
		var text, found bool
		if j == t.labelColumn {
			text, found = !numeric(t.labels), slices.Contains(t.labels, plainName(field))
		} else {
			c := t.columns[t.feature(j)]
			_, found = c.words[field]
			text = c.text != ""
		}
		switch {
		case !text:
			return 0, 0
		case found:
			again++
			fallthrough
		default:
			texts++
		}
	}
	return texts, again
}

// putFirst puts the first row, which is no header, before the others.
func (t *rawRows) putFirst() error {
	rest, labels, codes := t.values, t.labels, Each(t.columns, func(c *csvColumn) []uint16 { return c.codes })
	t.values, t.labels, t.header = nil, nil, false
	for _, c := range t.columns {
		c.codes = nil
	}
	t.table.Columns, t.table.label = nil, ""
	if err := t.add(1, t.first); err != nil {
		return err
	}
	t.values, t.labels = append(t.values, rest...), append(t.labels, labels...)
	for j, c := range t.columns {
		if !c.many {
			c.codes = append(c.codes, codes[j]...)
		}
	}
	return nil
}

// settleColumns finds which columns are text, and writes places in their values for it.
func (t *rawRows) settleColumns() error {
	all := numbers{commas: t.commas}
	for j, c := range t.columns {
		column := j
		if j >= t.labelColumn {
			column++
		}
		known := t.known(j)
		if c.text == "" && (known == nil || known.Values == nil) {
			all.with(c.numbers)
			continue
		}
		switch {
		case c.quantity() && known == nil:
			return t.noNumber(c.text, c.row, column)
		case known == nil && idNames.MatchString(t.table.named(j)) && (c.many || len(c.order) == c.fields) && c.fields > 1:
			t.table.Notice = also(t.table.Notice, t.table.leave(j, "names the rows"))
			for i := range c.fields {
				t.table.Features.Set(i, j, 0)
			}
			continue
		case c.many && c.dated():
			return Inputf(t.path, "column %s holds dates, as %q; write them as numbers, such as days since the first, or leave the column out", t.table.called(j), c.text)
		case c.many:
			return Inputf(t.path, "column %s is text of more than %d values, as %q, and each would be a number of its own; join rare values, write numbers, or leave the column out if it names the rows", t.table.called(j), mostValues, c.order[0])
		}
		if t.table.Values == nil {
			t.table.Values = make([][]string, len(t.columns))
		}
		var place []int
		t.table.Values[j], place = encode(c.order)
		for i, k := range c.codes {
			t.table.Features.Set(i, j, float64(place[k]))
		}
		t.table.Notice = also(t.table.Notice, c.notice(t.table.called(j)))
	}
	return all.check(t.path)
}

// known is what an encoder was trained on in feature j, nil where that is not known.
func (t *rawRows) known(j int) *RawColumn {
	name := t.table.named(j)
	for k := range t.Columns {
		if c := &t.Columns[k]; name != "" && c.Name == name || (name == "" || c.Name == "") && k == j {
			return c
		}
	}
	return nil
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
	return !slices.ContainsFunc(fields, func(f string) bool {
		_, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
		return err != nil
	})
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
	return classes, Each(names, func(s string) int { return number[s] })
}

// What makes a column of a raw table a label, a quantity or an index is known of so many rows.
const fewRows, manyRows = 10, 20

// doubtful reports whether the first row, whose features are numbers, may be a header for all that:
// because it counts the columns, or because its label occurs nowhere else.
func (t *Table) doubtful(first []string) bool {
	counts := func(from int) bool {
		return slices.Equal(Each(first, strings.TrimSpace), Numerals(from + len(first))[from:])
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
	like, odd := t.candidates()
	if is != "" {
		hint := "no other column looks like one; name the label column by --label"
		if like != nil {
			hint = strings.Join(like, ", ") + " may be: name the label column by --label, or move it to the end"
		}
		return Inputf(path, "column %s %s, so it is no label; %s", Printable(what), is, hint)
	}
	t.Notice = also(odd, t.Notice)
	return nil
}

func decimal(number string) bool {
	v, err := strconv.ParseFloat(number, 64)
	return err == nil && v != math.Trunc(v)
}

// candidates finds the feature columns that look like labels, of few integers or values of text, and states those that
// count the rows, name them or date them.
func (t *Table) candidates() (like []string, odd string) {
	n := t.Len()
	for j := range t.width() {
		values := 0
		if t.isText(j) {
			values = len(t.Values[j])
		} else {
			c := t.whole(j)
			if values = c.different; c.quantity {
				values = 0
			}
			switch {
			case c.counts:
				odd = also(odd, t.leave(j, "counts the rows"))
			case c.dates:
				odd = also(odd, fmt.Sprintf("column %s holds dates, as %.0f; write them as days since the first, or leave it out", t.called(j), t.Features.At(0, j)))
			case c.different == n && idNames.MatchString(t.named(j)):
				odd = also(odd, t.leave(j, "has another number in each row"))
			case c.different == n:
				odd = also(odd, fmt.Sprintf("column %s has another whole number in each row and looks like an identifier; leave it out", t.called(j)))
			}
		}
		const most = 5
		if values >= 2 && values <= n/10 && len(like) < most {
			like = append(like, fmt.Sprintf("%s (%d values)", t.called(j), values))
		}
	}
	return like, odd
}

// leave lets no network read column j, which numbers or names the rows as is says, and states so.
func (t *Table) leave(j int, is string) string {
	t.ids = append(t.ids, j)
	return fmt.Sprintf("column %s %s: it is an index, which no network reads", t.called(j), is)
}

// wholeNumbers is what is known of the numbers of a column.
type wholeNumbers struct {
	counts    bool // from 0 or 1, one more in each row
	dates     bool // all are, as 20240131
	quantity  bool // a number is no integer or missing, or there are too many for classes
	different int  // integers; of a quantity 0, unless no two rows have the same
}

func (t *Table) whole(j int) (c wholeNumbers) {
	n, first := t.Len(), t.Features.At(0, j)
	c = wholeNumbers{counts: first == 0 || first == 1, dates: true}
	whole := map[float64]bool{}
	for i := range n {
		v := t.Features.At(i, j)
		if c.counts = c.counts && v == first+float64(i); v != math.Trunc(v) { // NaN too
			return wholeNumbers{quantity: true}
		}
		c.dates = c.dates && v > 1e7 && v < 1e8 && isDay(v)
		whole[v] = true
		if c.quantity = len(whole) > n/10; c.quantity && len(whole) <= i && !c.dates {
			return wholeNumbers{quantity: true}
		}
	}
	c.different = len(whole)
	return c
}

func isDay(v float64) bool {
	_, err := time.Parse("20060102", strconv.Itoa(int(v)))
	return err == nil
}
