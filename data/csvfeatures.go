package data

import (
	"errors"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A csv file of features has a header and a row for each example; its columns are those of a
// table file:
//
//	feature_0, feature_1, …   or features_0, …; the same of logit, prob, log_prob and embedding.
//	                          Other endings, as feature_age or logit_cat, are names, and the
//	                          columns then keep their order
//	label                     a class's number or name (true, as raw results of the paper's authors have it)
//	set                       cal, val or test, as in a table file
//
// Other columns are arrays by their own names where they hold numbers.

// isCSV tells by its name whether a file is csv.
func isCSV(path string) bool {
	name := strings.ToLower(path)
	return strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".csv.gz")
}

var featureColumn = regexp.MustCompile(`^(feature|logit|prob|log_prob|embedding)s?_(.+)$`)

// csvColumn is a column of the file and the column of the table that it becomes.
type csvColumn struct {
	*column
	stem, ending string // of an array that several columns make
}

// readFeaturesCSV reads the columns of r, and the names that they give.
func readFeaturesCSV(path string, r io.Reader) (*columnar, error) {
	r, err := uncompressed(path, r)
	if err != nil {
		return nil, err
	}
	records := newCSV(r)
	records.ReuseRecord, records.TrimLeadingSpace = true, true
	header, err := records.Read()
	if err != nil {
		return nil, Inputf(path, "cannot be read: %w", err)
	}
	columns := csvColumns(header)
	if !slices.ContainsFunc(columns, func(c *csvColumn) bool { return c.stem != "" }) {
		return nil, Inputf(path, "has no columns feature_0, feature_1, … or logit_0, logit_1, … in its first row; raw rows are read by calibra pretrain and encode")
	}
	for row := 0; ; row++ {
		record, err := records.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, Inputf(path, "cannot be read: %w", truncated(err))
		}
		for j, c := range columns {
			c.addField(record[j])
		}
		if row%(1<<16) == 0 {
			if err := CheckRoom(path, "the table", row, 24*float64(len(columns)), "rows"); err != nil {
				return nil, err
			}
		}
	}
	if columns[0].rows == 0 {
		return nil, Inputf(path, "has no rows")
	}
	t := &columnar{path: path, names: csvNames(columns)}
	for _, c := range columns {
		c.settle()
		t.columns = append(t.columns, c.column)
	}
	return t, nil
}

// csvColumns are the columns that a header names.
func csvColumns(header []string) []*csvColumn {
	columns := make([]*csvColumn, len(header))
	for j, name := range header {
		name = strings.TrimSpace(name)
		if name == "true" && !slices.Contains(header, "label") {
			name = "label"
		}
		c := &csvColumn{column: &column{name: strings.Clone(name)}}
		if m := featureColumn.FindStringSubmatch(name); m != nil {
			c.stem, c.ending = strings.Clone(m[1]), strings.Clone(m[2])
			if c.stem != "embedding" {
				c.stem += "s"
			}
			c.name = c.stem + "_" + c.ending
		}
		c.isText = slices.Contains(textColumns, c.name)
		columns[j] = c
	}
	return columns
}

// addField appends a field of a row.
func (c *csvColumn) addField(field string) {
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
func (c *csvColumn) settle() {
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
			return
		}
		values[i] = v
	}
	c.isText, c.text, c.whole, c.values = false, nil, true, values
}

// csvNames are the names that the endings of columns give classes and features. Columns of an
// array whose endings are not all numbers are then numbered in the file's order.
func csvNames(columns []*csvColumn) Names {
	endings := map[string][]string{}
	named := map[string]bool{}
	for _, c := range columns {
		if c.stem == "" {
			continue
		}
		endings[c.stem] = append(endings[c.stem], c.ending)
		if numberedName.FindString(c.name) == "" {
			named[c.stem] = true
		}
	}
	for stem := range named {
		i := 0
		for _, c := range columns {
			if c.stem == stem {
				c.name = stem + "_" + strconv.Itoa(i)
				i++
			}
		}
	}
	var names Names
	if named["features"] {
		names.Features = endings["features"]
	}
	for _, stem := range []string{"logits", "probs", "log_probs"} {
		if named[stem] && names.Classes == nil {
			names.Classes = endings[stem]
		}
	}
	return names
}
