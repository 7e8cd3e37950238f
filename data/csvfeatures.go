package data

import (
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A csv file of features has a header and a row for each example. Its columns are those of a table file.

// readFeaturesCSV reads the columns of r, and the names that they give.
func readFeaturesCSV(path string, r io.Reader) (*columnar, error) {
	read := func(name string) bool { return memberColumn.MatchString(columnName(name)) }
	records, err := newRecords(path, r, func(header []string) bool { return slices.ContainsFunc(header, read) })
	if err != nil {
		return nil, err
	}
	var columns []*column
	var header string
	lines, numbers := []int(nil), numbers{commas: records.Comma != ','}
	err = records.each(24, func(n int, record []string) error {
		if n == 1 {
			if len(record) == 1 && strings.Contains(strings.TrimSpace(record[0]), " ") {
				return Inputf(path, "parts its fields by spaces; part them by commas, semicolons or tabs")
			}
			header = strings.Join(record, string(records.Comma))
			columns = Each(record, func(name string) *column {
				c := newColumn(strings.Clone(name))
				c.isText = slices.Contains(textColumns, c.name)
				return c
			})
			return nil
		}
		lines = append(lines, records.line())
		for j, c := range columns {
			c.addField(record[j], &numbers)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case columns == nil:
		return nil, Inputf(path, "is empty")
	case columns[0].rows == 0:
		return nil, Inputf(path, "has no rows")
	}
	if err := numbers.check(path); err != nil {
		return nil, err
	}
	for _, c := range columns {
		c.settle()
	}
	t := &columnar{path: path, columns: columns, lines: lines}
	if slices.ContainsFunc(columns, func(c *column) bool { return read(c.said) }) {
		return t, nil
	}
	if err := t.classify(); err != nil || t.found != "" {
		return t, err
	}
	return nil, Inputf(path, "has no columns feature_0, feature_1, … or logit_0, logit_1, … (or feature_NAME, logit_NAME, prob_NAME) in its first row, which is %.60q; raw rows are read by calibra pretrain and encode", header)
}

// absentLabels are the spellings of a label that is not there.
var absentLabels = []string{"", "NA", "N/A", "#N/A", "<NA>", "NaN", "nan", "NAN", "null", "NULL"}

// addField appends a field of a row.
func (c *column) addField(field string, numbers *numbers) {
	field = strings.TrimSpace(field)
	switch {
	case field == "", c.isLabel() && slices.Contains(absentLabels, field):
		c.addNone()
	case c.isText:
		c.addText(field)
	default:
		v, err := numbers.parse(field)
		if err != nil && c.rows == 0 && c.spare() {
			c.isText = true
			c.addText(field)
			return
		}
		if err != nil {
			c.fail("has %.40q at row %d, where a number should be", field, c.rows)
		}
		c.add(v)
	}
}

// settle makes labels and groups that are whole numbers such.
func (c *column) settle() {
	if !c.isText || c.name == "set" || c.fault != nil {
		return
	}
	values := make([]float64, len(c.text))
	for i, s := range c.text {
		if c.lacks(i) {
			continue
		}
		v, err := strconv.ParseFloat(s, 64) // pandas may write 3.0
		if err != nil {
			return
		}
		if c.name == "groups" && v != math.Trunc(v) { // a decimal is a name
			return
		}
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			c.fail("holds %.40q at row %d; it must hold whole numbers or names", s, i)
			c.at = i
			return
		}
		values[i] = v
	}
	c.isText, c.text, c.whole, c.values = false, nil, true, values
}

// HoldsRaw reports whether the file at path is a csv table of raw rows: whether it can be read, its first row names
// no logits, no probabilities and no column set, as a features file would, and it has no columns of the classes.
func HoldsRaw(path string) bool {
	if !isCSV(path) {
		return false
	}
	file, err := OpenFile(path)
	if err != nil {
		return false
	}
	defer file.Close()
	names := func(header []string) bool { return slices.ContainsFunc(header, ofFeaturesFile) }
	records, err := newRecords(path, file, names)
	if err != nil {
		return false
	}
	header, err := records.Read()
	if header = slices.Clone(header); err != nil || names(header) {
		return false
	}
	first, err := records.Read()
	if err != nil || !mayClassify(header, first) {
		return true
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return true
	}
	_, err = readFeaturesCSV(path, file)
	return err != nil && !errors.Is(err, errLabels)
}

// mayClassify reports whether columns may be of classes by their names and a first row.
func mayClassify(header, first []string) bool {
	prefixed := slices.DeleteFunc(Each(header, plainName), func(name string) bool { return className(name) == "" })
	return len(prefixed) > 1 || slices.ContainsFunc(first, func(v string) bool {
		return v != "" && slices.ContainsFunc(header, func(name string) bool { return plainName(name) == plainName(v) })
	})
}

// NamesFeatures reports whether a file of that name may be one of features.
func NamesFeatures(path string) bool {
	return ending(path) == ".npz" || isCSV(path) || kindOf(path) != nil
}

// ofFeaturesFile reports whether only a features file, be it with a spelling mistake, has a column of that name.
func ofFeaturesFile(name string) bool {
	name = columnName(name)
	return name == "set" || strings.HasPrefix(strings.ToLower(name), "logit") || memberColumn.MatchString(name) && !strings.HasPrefix(name, "feature")
}
