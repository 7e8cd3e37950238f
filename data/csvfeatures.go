package data

import (
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A csv file of features has a header and a row for each example. Its columns are those of a table
// file; the column true is the label where there is no other, as raw results of the paper's authors
// have it.

// isCSV reports whether a file is csv, by its name.
func isCSV(path string) bool {
	name := strings.ToLower(path)
	return strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".csv.gz")
}

// readFeaturesCSV reads the columns of r, and the names that they give.
func readFeaturesCSV(path string, r io.Reader) (*columnar, error) {
	r, err := uncompressed(path, r)
	if err != nil {
		return nil, err
	}
	var columns []*column
	records, lines := newCSV(r), []int(nil)
	err = eachRecord(path, records, 24, func(n int, record []string) error {
		if n == 1 {
			columns = csvColumns(record)
			if !slices.ContainsFunc(columns, func(c *column) bool { return memberColumn.MatchString(c.name) }) {
				return Inputf(path, "has no columns feature_0, feature_1, … or logit_0, logit_1, … in its first row; raw rows are read by calibra pretrain and encode")
			}
			return nil
		}
		line, _ := records.FieldPos(0)
		lines = append(lines, line)
		for j, c := range columns {
			c.addField(record[j])
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
	for _, c := range columns {
		if c.settle(); c.fault != nil {
			c.line = lines[c.at]
		}
	}
	return &columnar{path: path, columns: columns, lines: lines}, nil
}

// csvColumns are the columns that a header names.
func csvColumns(header []string) []*column {
	columns := make([]*column, len(header))
	for j, name := range header {
		name = strings.TrimSpace(name)
		if name == "true" && !slices.Contains(header, "label") {
			name = "label"
		}
		columns[j] = &column{name: strings.Clone(name), isText: slices.Contains(textColumns, name)}
	}
	return columns
}

// addField appends a field of a row.
func (c *column) addField(field string) {
	field = strings.TrimSpace(field)
	if field == "" {
		c.addNone()
		return
	}
	if c.isText {
		c.addText(field)
		return
	}
	v, err := strconv.ParseFloat(field, 64)
	if err != nil {
		c.fail("has %.40q at row %d, where a number should be", field, c.rows)
	}
	c.add(v)
}

// settle makes labels and groups that are whole numbers such.
func (c *column) settle() {
	if !c.isText || c.name == "set" || c.fault != nil {
		return
	}
	values := make([]float64, len(c.text))
	for i, s := range c.text {
		v, err := strconv.ParseFloat(s, 64) // pandas may write 3.0
		if err != nil {
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
