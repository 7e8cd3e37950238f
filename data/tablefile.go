package data

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/gonum/mat"
)

// A table file is Parquet or Arrow (Feather), as pyarrow and pandas write it, with one row
// for each example. Wherever an npz file is read, a table file may stand in its place, and
// its columns are the arrays:
//
//	features, logits, probs, log_probs, embedding   a list of numbers in each row, the same
//	                          number in all, or one column of numbers for each: logits_0 or logit_0,
//	                          logits_1, …. Endings that are no numbers, as feature_age or
//	                          logit_cat, are names, and the columns then keep their order
//	label                     a whole number, a truth value or a class's name, the array labels;
//	                          a set whose rows have none has no such array
//	set                       cal, val or test: the array cal_features has the rows of features
//	                          whose set is cal, and so on; without it all rows are test rows
//
// These names may be written in capitals, and every column has a name of its own. Other columns of numbers are arrays
// by their own names, and others still are left alone.

// column is one column of a table file, row by row.
type column struct {
	name   string
	said   string // the name as the file has it
	width  int    // numbers of each row; 0 of a scalar
	rows   int
	list   bool
	whole  bool      // of an integer type or of truth values
	values []float64 // rows×max(width, 1)
	isText bool
	text   []string          // of each row in place of values
	few    map[string]string // the different texts of a column that may name classes
	absent []int             // rows of a label without one
	// categories are all that the text may be, as a dictionary lists them, and ordered is true where that order has a
	// meaning; without them disordered is true where the file has several orders.
	categories          []string
	ordered, disordered bool
	fault               error // what makes it no array
	at                  int   // the row of the fault
}

func newColumn(said string) *column { return &column{name: columnName(said), said: said} }

// columnName is the name by which a column is read: small letters where it names an array or begins with
// the name of one.
func columnName(said string) string {
	name := plainName(said)
	if m := capitalMember.FindString(name); m != "" {
		return strings.ToLower(m) + name[len(m):]
	}
	if small := strings.ToLower(name); slices.Contains(tableColumns, small) {
		return small
	}
	return name
}

var capitalMember = regexp.MustCompile(`^(?i:feature|logit|prob|log_prob|embedding)[sS]?_`)

// tableColumns are the names of columns that readers look up.
var tableColumns = append([]string{"weights"}, append(textColumns, arrayNames...)...)

// rank takes the order of more rows' categories, nil where they have none: one must continue the other.
func (c *column) rank(categories []string) {
	both := min(len(c.categories), len(categories))
	switch {
	case c.disordered:
	case categories == nil || !slices.Equal(c.categories[:both], categories[:both]):
		c.categories, c.disordered = nil, true
	case len(categories) > both:
		c.categories = slices.Clone(categories)
	}
}

// isLabel reports whether the column is the labels.
func (c *column) isLabel() bool { return c.name == "label" || c.name == "labels" }

// lacks reports whether row i of a label has none.
func (c *column) lacks(i int) bool {
	_, absent := slices.BinarySearch(c.absent, i)
	return absent
}

// errVectors is the fault of a column of Spark's ML, which are called so.
var (
	errVectors   = errors.New("holds vectors of Spark; make them lists by pyspark.ml.functions.vector_to_array, in a column probs, logits or features")
	sparkVectors = []string{"probability", "rawPrediction", "features"}
)

// errFault ends the reading of a column that has a fault.
var errFault = errors.New("a fault")

// fail makes the column no array. The first fault is the one that is told.
func (c *column) fail(format string, args ...any) {
	if c.fault == nil {
		c.fault, c.at = fmt.Errorf(format, args...), c.rows
	}
}

func (c *column) add(values ...float64) {
	switch {
	case c.isLabel() && !c.list && math.IsNaN(values[0]): // as pandas holds none
		c.addNone()
		return
	case c.list && len(values) == 0:
		c.fail("has no numbers at row %d; every row needs its own", c.rows)
	case c.list && c.rows == 0:
		c.width = len(values)
	case c.list && len(values) != c.width:
		c.fail("has %d numbers at row %d and %d before; every row must have the same number", len(values), c.rows, c.width)
	}
	c.rows++
	if c.fault == nil {
		c.values = append(c.values, values...)
	}
}

// longestText is how many bytes a name may have.
const longestText = 200

// addText appends a row of text.
func (c *column) addText(s string) {
	if len(s) > longestText {
		c.fail("has a text of %d bytes at row %d; names have at most %d", len(s), c.rows, longestText)
	}
	if !utf8.ValidString(s) {
		c.fail("has %.40q at row %d, which is not UTF-8", s, c.rows)
	}
	c.rows++
	if c.fault != nil {
		return
	}
	if slices.Contains(textColumns, c.name) {
		c.text = append(c.text, strings.Clone(s))
		return
	}
	if c.few == nil {
		c.few = map[string]string{}
	}
	if _, seen := c.few[s]; !seen {
		s = strings.Clone(s)
		c.few[s] = s
	}
	if c.text = append(c.text, c.few[s]); len(c.few) > mostNames {
		c.text, c.few = nil, nil
		c.fail("is text; it must hold numbers")
	}
}

// mostNames is how many different names a column may have that is looked at for names of classes.
const mostNames = 1 << 14

// textColumns are the columns whose text is read.
var textColumns = []string{"set", "label", "labels", "groups"}

// begin sets what kind of column it is. Text is read of the columns that hold it, and of those that may name classes.
func (c *column) begin(isText bool) {
	if c.isText = isText; isText && !slices.Contains(textColumns, c.name) && !c.spare() {
		c.fail("is text; it must hold numbers")
	}
}

// addNone appends a row without a value, which a label alone may have.
func (c *column) addNone() {
	if c.isLabel() && !c.list {
		c.absent = append(c.absent, c.rows)
		if c.isText {
			c.addText("")
		} else {
			c.rows, c.values = c.rows+1, append(c.values, 0)
		}
		return
	}
	c.fail("has no value at row %d; fill it in or leave the row out", c.rows)
	c.rows++
}

// room returns an *InputError if what c holds and its two copies outgrow the memory. It is
// asked as the rows come.
func (c *column) room(path string) error {
	return CheckRoom(path, c.name, max(c.rows, 1), 24*float64(max(c.width, 1)), "rows")
}

// tableKind is a kind of table files.
type tableKind struct {
	magic string // that they begin with
	name  string
	ends  []string // of their names
	read  func(path string, r *io.SectionReader) ([]*column, error)
	write func(w io.Writer, columns []*column) error
}

var tableKinds = []tableKind{
	{magic: "PAR1", name: "Parquet", ends: []string{".parquet"}, read: readParquet, write: writeParquet},
	{magic: "ARROW1", name: "Arrow", ends: []string{".arrow", ".feather"}, read: readArrow, write: writeArrow},
}

// kindOf is the kind of table by the name of its file, nil for none.
func kindOf(path string) *tableKind {
	i := slices.IndexFunc(tableKinds, func(kind tableKind) bool { return slices.Contains(kind.ends, ending(path)) })
	if i >= 0 {
		return &tableKinds[i]
	}
	return nil
}

// isTable reports whether a file, by its name, is a table of rows, which a column set may divide.
func isTable(path string) bool { return IsTable(path) || isCSV(path) }

// mostOf is how many bytes a part of a file of so many may have when it is decompressed: as many
// as deflate can make of the file, but at least 128 MiB, which pages of one number repeated take.
func mostOf(size int64) int64 { return min(max(1032*size, 128<<20), room()/2) }

// openTable reads a table file as the npz that it stands for; nil if it is none.
func openTable(path string, r io.ReaderAt, size int64) (a *archive, err error) {
	start := make([]byte, 64)
	n, _ := r.ReadAt(start, 0) // a shorter file is of no kind
	start = start[:n]
	if says := otherKind(start, isCSV(path)); says != "" {
		return nil, Inputf(path, "%s", says)
	}
	for _, kind := range tableKinds {
		if !strings.HasPrefix(string(start), kind.magic) {
			continue
		}
		defer func() { // the readers of others panic on some damaged files
			if p := recover(); p != nil {
				a, err = nil, damaged(path, kind.name, p)
			}
		}()
		columns, err := kind.read(path, io.NewSectionReader(r, 0, size))
		if err == nil {
			return (&columnar{path: path, columns: columns}).archive()
		}
		if input := (*InputError)(nil); errors.As(err, &input) {
			return nil, err
		}
		return nil, damaged(path, kind.name, err)
	}
	isZip := strings.HasPrefix(string(start), "PK")
	switch kind := kindOf(path); {
	case isCSV(path) && !isZip:
		t, err := readFeaturesCSV(path, io.NewSectionReader(r, 0, size))
		if err != nil {
			return nil, err
		}
		return t.archive()
	case kind != nil && !isZip:
		return nil, Inputf(path, "is not a %s file, or a truncated one", kind.name)
	}
	return nil, nil
}

// damaged is the error of a file that is no table file, with what its reader found, unless that is the
// Go runtime's complaint of the reader.
func damaged(path, kind string, found any) error {
	text := fmt.Sprintf("%.200v", found)
	if strings.Contains(text, "runtime error") {
		return Inputf(path, "is damaged or no %s file; write it again", kind)
	}
	return Inputf(path, "is damaged or no %s file (%s); write it again", kind, text)
}

// columnar is a table file in memory.
type columnar struct {
	path    string
	columns []*column
	names   Names
	lines   []int  // of a csv, that of each row
	named   bool   // the numbers that end the names of the classes' columns are names
	found   string // which columns are read as classes and labels, where they are not called so
}

// archive is the arrays that the columns stand for.
func (t *columnar) archive() (*archive, error) {
	for _, step := range []func() error{t.classify, t.twice, t.gather} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	vectors := func(c *column) bool { return c.fault == errVectors }
	scores := func(c *column) bool { return slices.Contains(scoreArrays, c.name) }
	if k := slices.IndexFunc(t.columns, vectors); k >= 0 && !slices.ContainsFunc(t.columns, scores) {
		return nil, t.faulty(t.columns[k])
	}
	parts, err := t.parts()
	if err != nil {
		return nil, err
	}
	var all []Array
	var left []string
	for _, c := range t.columns {
		arrays, err := t.arrays(c, parts)
		if err != nil {
			return nil, err
		}
		all = append(all, arrays...)
		if c.fault != nil && c.name != "set" {
			left = append(left, c.name)
		}
	}
	for _, a := range []Array{{"class_names", t.names.Classes}, {"feature_names", t.names.Features}} {
		if a.Value.([]string) != nil {
			all = append(all, a)
		}
	}
	var out bytes.Buffer
	if err := NPZ(all...)(&out); err != nil {
		return nil, Inputf(t.path, "%w", err)
	}
	a, err := newArchive(t.path, bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		return nil, err
	}
	a.table, a.left, a.order = true, left, t.found
	for _, c := range t.columns {
		if c.isLabel() {
			a.categories, a.ordered = Each(c.categories, plainName), c.ordered
		}
	}
	if parts[0].prefix == "" { // all rows are test rows
		for _, key := range append(partArrays, scoreArrays...) {
			if m := a.members[key]; m != nil {
				a.members["test_"+key] = m
			}
		}
	}
	a.takeScores()
	return a, nil
}

// arrays are what a column is of the parts; its numbers are left alone from then on.
func (t *columnar) arrays(c *column, parts []tablePart) (made []Array, err error) {
	name := c.name
	if name == "label" {
		name = "labels"
	}
	switch {
	case name == "set" || c.fault != nil && !slices.Contains(tableColumns, name):
		return nil, nil
	case c.fault != nil:
		return nil, t.faulty(c)
	}
	c.wholly()
	for _, p := range parts {
		some, err := t.some(c, p)
		if err != nil {
			return nil, err
		}
		if some {
			made = append(made, Array{p.prefix + name, c.array(p.rows)})
		}
	}
	c.values = nil
	return made, nil
}

// wholly makes floats that are whole numbers such, where labels or groups must be: pandas makes floats of
// integers beside rows without one.
func (c *column) wholly() {
	number := func(v float64) bool { return v == math.Trunc(v) && math.Abs(v) <= 1<<53 }
	if !c.list && slices.Contains(textColumns, c.name) && !slices.ContainsFunc(c.values, func(v float64) bool { return !number(v) }) {
		c.whole = true
	}
	if c.name == "groups" && !c.whole && !c.isText && !c.list { // decimals are names
		c.isText, c.text = true, Each(c.values, decimalName)
	}
}

// decimalName is a number as a name.
func decimalName(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// some reports whether the rows of a part have labels, all of them or none; other columns have values.
func (t *columnar) some(c *column, p tablePart) (bool, error) {
	if c.absent == nil {
		return true, nil
	}
	rows := p.rows
	if rows == nil {
		rows = UpTo(c.rows)
	}
	lacking := slices.DeleteFunc(slices.Clone(rows), func(i int) bool { return !c.lacks(i) })
	if len(lacking) == 0 || len(lacking) == len(rows) {
		return len(lacking) == 0, nil
	}
	where := ""
	if p.prefix != "" {
		where = " whose set is " + strings.TrimSuffix(p.prefix, "_")
	}
	c.at = lacking[0]
	c.fault = fmt.Errorf("has no label at row %d, and other rows%s have one (%d of %d lack it); fill them in, leave these rows out, or give all of them no label", c.at, where, len(lacking), len(rows))
	return false, t.faulty(c)
}

// faulty is the error of a column that is no array, with the line of the file as far as it has lines.
func (t *columnar) faulty(c *column) error {
	if t.lines != nil {
		return Inputf(t.path, "line %d: column %s %w", t.lines[c.at], Printable(c.name), c.fault)
	}
	return Inputf(t.path, "column %s %w", Printable(c.name), c.fault)
}

// columnOf names, of a table, the columns that the array key is of; "" of an npz file.
func columnOf(path, key string) string {
	if !isTable(path) {
		return ""
	}
	part, array, _ := strings.Cut(key, "_")
	where := " where set is " + part
	if !slices.Contains(partPrefixes, part+"_") {
		array, where = key, ""
	}
	columns := map[string]string{"labels": "column label", "features": "columns feature_…", "logits": "columns logit_…"}
	return " (" + cmp.Or(columns[array], "column "+array) + where + ")"
}

// arrayNames are the arrays that readers look up.
var arrayNames = []string{"features", "logits", "probs", "log_probs", "embedding", "labels"}

// memberColumn is the name of a column that is one of an array's.
var memberColumn = regexp.MustCompile(`^(feature|logit|prob|log_prob|embedding)s?_(.+)$`)

// memberOf is the array that a column is one of, and the end of its name; "" if it is none.
func (t *columnar) memberOf(c *column) (array, ending string) {
	if c.list || c.isText {
		return "", ""
	}
	if m := memberColumn.FindStringSubmatch(c.name); m != nil {
		if array = m[1]; array != "embedding" {
			array += "s"
		}
		if !slices.ContainsFunc(t.columns, func(c *column) bool { return c.name == array }) {
			return array, m[2] // else the array is there, and this is something else
		}
	}
	if m := numberedName.FindStringSubmatch(c.name); m != nil && slices.Contains(arrayNames, m[1]) {
		return m[1], m[2]
	}
	return "", ""
}

var numberedName, wholeNumber = regexp.MustCompile(`^(.+)_(0|[1-9][0-9]{0,6})$`), regexp.MustCompile(`^(0|[1-9][0-9]{0,6})$`)

// twice returns an *InputError where two columns have one meaning. Text that is of no class by now is a fault.
func (t *columnar) twice() error {
	said := map[string]string{}
	unnamed := false
	t.columns = slices.DeleteFunc(t.columns, func(c *column) bool { // nothing reads a column without a name
		first := !unnamed
		unnamed = unnamed || c.name == ""
		return c.name == "" && !first
	})
	for _, c := range t.columns {
		if c.isText && !slices.Contains(textColumns, c.name) {
			c.fail("is text; it must hold numbers")
		}
		meaning := c.name
		if array, ending := t.memberOf(c); array != "" {
			meaning = array + "_" + ending
		} else if c.isLabel() {
			meaning = "labels"
		}
		first, again := said[meaning]
		switch {
		case again && plainName(first) == plainName(c.said):
			return Inputf(t.path, "has two columns %s; give each its own name, or leave one out", Printable(c.name))
		case again:
			return Inputf(t.path, "has columns %s and %s, which are read as the same; leave one out", Printable(first), Printable(c.said))
		}
		said[meaning] = c.said
	}
	return nil
}

// gather puts the columns that make an array together to one: logits_0, logits_1, … by their numbers.
// Where the endings of an array are not all numbers they name classes or features, and the columns
// are numbered in the file's order.
func (t *columnar) gather() error {
	members, endings := map[string][]*column{}, map[string][]string{}
	var rest, joined []*column
	for _, c := range t.columns {
		if array, ending := t.memberOf(c); array != "" {
			members[array], endings[array] = append(members[array], c), append(endings[array], ending)
		} else {
			rest = append(rest, c)
		}
	}
	named := map[string][]string{}
	for _, array := range slices.Sorted(maps.Keys(members)) {
		places := !slices.ContainsFunc(endings[array], func(end string) bool { return !wholeNumber.MatchString(end) })
		if !places || slices.Contains(scoreArrays, array) && (t.named || fromOne(endings[array])) {
			named[array] = endings[array]
		}
		group := map[int]*column{}
		for i, c := range members[array] {
			if named[array] == nil {
				i, _ = strconv.Atoi(endings[array][i]) // of at most seven digits
			}
			group[i] = c
		}
		whole, err := t.join(array, group)
		if err != nil {
			return err
		}
		joined = append(joined, whole)
	}
	t.columns = append(rest, joined...)
	t.names.Features = named["features"]
	for _, array := range scoreArrays {
		if t.names.Classes == nil {
			t.names.Classes = named[array]
		}
	}
	return nil
}

// fromOne reports whether the endings are 1…C, which then name the classes.
func fromOne(endings []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(Numbers(endings))), UpTo(len(endings) + 1)[1:])
}

// join is the array of the columns of a group.
func (t *columnar) join(name string, group map[int]*column) (*column, error) {
	whole := &column{name: name, list: true, width: len(group)}
	for i := range len(group) {
		c := group[i]
		switch {
		case c == nil:
			first := group[slices.Min(slices.Collect(maps.Keys(group)))].name // as the file calls them
			name = first[:strings.LastIndexByte(first, '_')]
			return nil, Inputf(t.path, "has %d columns %s_0, %[2]s_1, … but no %[2]s_%[3]d", len(group), name, i)
		case c.fault != nil:
			return nil, t.faulty(c)
		case i > 0 && c.rows != whole.rows:
			return nil, Inputf(t.path, "column %s has %d rows and %s_0 has %d", c.name, c.rows, name, whole.rows)
		case i == 0:
			whole.rows = c.rows
			if err := whole.room(t.path); err != nil {
				return nil, err
			}
			whole.values = make([]float64, c.rows*len(group))
		}
		for row, v := range c.values {
			whole.values[row*len(group)+i] = v
		}
		c.values = nil
	}
	return whole, nil
}

// tablePart is the rows of one set with the prefix of its arrays; nil rows are all.
type tablePart struct {
	prefix string
	rows   []int
}

// parts are the sets that the column set names.
func (t *columnar) parts() ([]tablePart, error) {
	i := slices.IndexFunc(t.columns, func(c *column) bool { return c.name == "set" })
	if i < 0 {
		return []tablePart{{}}, nil
	}
	set := t.columns[i]
	switch {
	case set.fault != nil && set.isText:
		return nil, t.faulty(set)
	case !set.isText || set.fault != nil:
		return nil, Inputf(t.path, "column set must say cal, val or test in every row")
	}
	parts := []tablePart{{prefix: "cal_"}, {prefix: "val_"}, {prefix: "test_"}}
	for row, s := range set.text {
		k := slices.IndexFunc(parts, func(p tablePart) bool { return p.prefix == strings.ToLower(strings.TrimSpace(s))+"_" })
		if k < 0 {
			set.at, set.fault = row, fmt.Errorf("says %s at row %d; it must say cal, val or test", Printable(s), row)
			return nil, t.faulty(set)
		}
		parts[k].rows = append(parts[k].rows, row)
	}
	for _, c := range t.columns {
		if c.rows != set.rows {
			return nil, Inputf(t.path, "column %s has %d rows and set has %d", Printable(c.name), c.rows, set.rows)
		}
	}
	return slices.DeleteFunc(parts, func(p tablePart) bool { return len(p.rows) == 0 }), nil
}

// array is the value of the rows, or of all, as an npz file holds it.
func (c *column) array(rows []int) any {
	if c.isText {
		if rows == nil {
			return c.text
		}
		return at(c.text, rows)
	}
	each := max(c.width, 1)
	values, n := c.values, c.rows
	if rows != nil {
		n, values = len(rows), make([]float64, 0, len(rows)*each)
		for _, i := range rows {
			values = append(values, c.values[i*each:(i+1)*each]...)
		}
	}
	if c.list {
		return mat.NewDense(n, c.width, values)
	}
	if !c.whole {
		return values
	}
	return Each(values, func(v float64) int {
		if v < math.MaxInt64 {
			return int(v)
		}
		return math.MaxInt64 // no label, as in an npz file
	})
}

// Formatted returns a function that writes arrays of N rows in the format that the ending of path names: a
// Parquet (.parquet) or Arrow (.arrow, .feather) table of one row for each of theirs, or else an npz
// file. In a table the array labels is the column label, and one of a single number stands in every
// row.
func Formatted(path string, arrays ...Array) (write func(io.Writer) error, err error) {
	if kind := kindOf(path); kind != nil {
		columns, err := columnsOf(arrays)
		return func(w io.Writer) error { return kind.write(w, columns) }, err
	}
	return NPZ(arrays...), CheckArrays(path)
}

// CheckArrays returns an *InputError where the ending of path is of a kind that [Formatted] does not write.
func CheckArrays(path string) error {
	if end := ending(path); end != "" && end != ".npz" && kindOf(path) == nil {
		return Inputf(path, "would be a %s, and predictions are not written so; name a file that ends in .npz, .parquet, .arrow or .feather", end[1:])
	}
	return nil
}

// IsTable reports whether [Formatted] makes a table of path.
func IsTable(path string) bool { return kindOf(path) != nil }

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }

// columnsOf are the columns of a table that holds the arrays.
func columnsOf(arrays []Array) ([]*column, error) {
	var columns []*column
	rows := 0
	for _, a := range arrays {
		c := &column{name: a.Name}
		if a.Name == "labels" {
			c.name = "label"
		}
		switch v := a.Value.(type) {
		case []string: // names, of which a table has no rows
			continue
		case *mat.Dense:
			c.list = true
			c.rows, c.width = v.Dims()
			c.values = mat.DenseCopyOf(v).RawMatrix().Data
		case []float64:
			c.rows, c.values = len(v), v
		case []int:
			c.rows, c.whole, c.values = len(v), true, Each(v, func(x int) float64 { return float64(x) })
		default:
			return nil, fmt.Errorf("data: a table has no column of %T, which %s is", v, a.Name)
		}
		rows = max(rows, c.rows)
		columns = append(columns, c)
	}
	for _, c := range columns {
		switch {
		case c.rows == 1 && !c.list:
			c.rows, c.values = rows, slices.Repeat(c.values, rows)
		case c.rows != rows:
			return nil, fmt.Errorf("data: %s has %d rows of the table's %d", c.name, c.rows, rows)
		}
	}
	slices.SortFunc(columns, func(a, b *column) int { return strings.Compare(a.name, b.name) })
	return columns, nil
}
