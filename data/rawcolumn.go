package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// RawColumn is a column of a raw table and what a network reads of it:
//
//	a number   itself; where a training row lacks it, a second number that is 1 where a row does
//	text       a number for each of Values, 1 where a row has that value: one-hot
//	constant   nothing
//	id         nothing
type RawColumn struct {
	Name string `json:"name"` // in the header; "" where the file has none
	// Values are the different values of a column of text among the training rows, in ascending order. A missing
	// value is one of them, and a row with any other value has zeros.
	Values []string `json:"values,omitempty"`
	// Mean replaces a missing number: the mean of the training rows that have one.
	Mean     float64 `json:"mean,omitempty"`
	Missing  bool    `json:"missing,omitempty"`  // a number that a training row lacks
	Constant bool    `json:"constant,omitempty"` // all training rows have one value
	ID       bool    `json:"id,omitempty"`       // it numbers or names the rows
}

// AsTheyAre are the columns of a table of numbers, whatever they are called: each is read as itself, constant or not.
var AsTheyAre = []RawColumn{}

// unread reports whether a network reads nothing of the column.
func (c RawColumn) unread() bool { return c.Constant || c.ID }

// Width is how many numbers a network reads of the column.
func (c RawColumn) Width() int { return len(c.names()) }

// names are those of what a network reads.
func (c RawColumn) names() []string {
	switch {
	case c.unread():
		return nil
	case c.Values != nil:
		return Each(c.Values, func(v string) string { return c.Name + "=" + v })
	case c.Missing:
		return []string{c.Name, c.Name + " missing"}
	}
	return []string{c.Name}
}

// RawWidth is how many numbers a network reads of a row of the columns.
func RawWidth(columns []RawColumn) (m int) {
	for _, c := range columns {
		m += c.Width()
	}
	return m
}

// columnsBy are the table's columns by what the rows have.
func (t *Table) columnsBy(rows []int) []RawColumn {
	columns := make([]RawColumn, t.width())
	for j := range columns {
		c, constant := RawColumn{Name: t.named(j)}, false
		if t.isText(j) {
			c.Values = t.valuesIn(j, rows)
			constant = len(c.Values) < 2
		} else {
			c.Mean, c.Missing, constant = t.numbersIn(j, rows)
		}
		switch {
		case slices.Contains(t.ids, j):
			c = RawColumn{Name: c.Name, ID: true}
		case constant && len(rows) > 1: // of fewer rows nothing is known
			c = RawColumn{Name: c.Name, Constant: true}
		}
		columns[j] = c
	}
	return columns
}

// valuesIn are the values of text column j that the rows have.
func (t *Table) valuesIn(j int, rows []int) (values []string) {
	has := make([]bool, len(t.Values[j]))
	for _, i := range rows {
		has[int(t.Features.At(i, j))] = true
	}
	return at(t.Values[j], slices.DeleteFunc(UpTo(len(has)), func(k int) bool { return !has[k] }))
}

// numbersIn are the mean of the numbers of column j that the rows have, whether some lack it, and whether all have one
// number or none.
func (t *Table) numbersIn(j int, rows []int) (mean float64, missing, constant bool) {
	count, least, most := 0, math.Inf(1), math.Inf(-1)
	for _, i := range rows {
		if v := t.Features.At(i, j); !math.IsNaN(v) {
			count++
			mean += (v - mean) / float64(count)
			least, most = min(least, v), max(most, v)
		}
	}
	missing = count < len(rows)
	return mean, missing, count == 0 || !missing && least == most
}

// numbers are the table's columns as they are.
func (t *Table) numbers() []RawColumn {
	return Each(UpTo(t.width()), func(j int) RawColumn { return RawColumn{Name: t.named(j)} })
}

// places finds each of the columns in the table, by name where both have names.
func (t *Table) places(columns []RawColumn) ([]int, error) {
	named := t.Columns != nil && !slices.ContainsFunc(columns, func(c RawColumn) bool { return c.Name == "" })
	places := UpTo(len(columns))
	if !named && len(columns) != t.width() {
		return nil, Inputf("", "%s has %d columns and the encoder was trained on %d; give it the same", t.Name, t.width(), len(columns))
	}
	if named {
		for k, c := range columns {
			if places[k] = slices.Index(t.Columns, c.Name); places[k] < 0 {
				return nil, Inputf("", "%s has no column %s, which the encoder was trained on; give it the same columns", t.Name, Printable(c.Name))
			}
		}
		for j, name := range t.Columns {
			if !slices.Contains(places, j) {
				return nil, Inputf("", "%s has the column %s, which the encoder was not trained on; leave it out", t.Name, Printable(name))
			}
		}
	}
	for k, c := range columns {
		switch text := t.isText(places[k]); {
		case c.unread() || text == (c.Values != nil):
		case text:
			return nil, Inputf("", "column %s of %s is text, and the encoder was trained on numbers there", t.called(places[k]), t.Name)
		default:
			return nil, Inputf("", "column %s of %s is numbers, and the encoder was trained on text there, as %q", t.called(places[k]), t.Name, c.Values[0])
		}
	}
	return places, nil
}

// constants names the columns that are left out, "" if none is.
func constants(columns []RawColumn) string {
	var names []string
	for k, c := range columns {
		if c.Constant {
			names = append(names, cmp.Or(Printable(c.Name), fmt.Sprint(k+1)))
		}
	}
	if names == nil {
		return ""
	}
	return "no network reads " + strings.Join(atMost(5, names), ", ") + ": constant in the training rows"
}

// atMost is as many of the names, and how many there are more.
func atMost(most int, names []string) []string {
	if len(names) <= most {
		return names
	}
	return append(names[:most:most], fmt.Sprintf("and %d more", len(names)-most))
}

// as is the table's rows as a network reads them, and what some of them have that no training row had.
func (t *Table) as(columns []RawColumn) (in *Inputs, unknown string, err error) {
	places, err := t.places(columns)
	if err != nil {
		return nil, "", err
	}
	in, width := t.Inputs(), RawWidth(columns)
	if slices.Equal(places, UpTo(width)) && !slices.ContainsFunc(columns, func(c RawColumn) bool { return c.Values != nil || c.Width() != 1 }) && !floats.HasNaN(t.Features.RawMatrix().Data) {
		return in, "", nil // in the memory of the table
	}
	if width == 0 {
		return nil, "", Inputf("", "every column of %s is constant in the training rows, or an index; a classifier needs another", t.Name)
	}
	if err := CheckRoom("", "the table with a column for each value", t.Len(), 8*float64(width), "rows"); err != nil {
		return nil, "", err
	}
	x, lo := mat.NewDense(t.Len(), width, nil), 0
	var odd []string
	for k, c := range columns {
		strange := t.write(x, lo, places[k], c)
		if lo += c.Width(); strange != "" {
			odd = append(odd, strange)
		}
	}
	if in.table, in.Shape = x, []int{width}; t.Columns != nil {
		in.Columns = slices.Concat(Each(columns, RawColumn.names)...)
	}
	return in, strings.Join(atMost(5, odd), ", "), nil
}

// write writes what a network reads of column j to x from column lo on, and states what no training row had.
func (t *Table) write(x *mat.Dense, lo, j int, c RawColumn) string {
	strange, first := 0, ""
	var at []int // of each value of the table
	switch {
	case c.unread():
		return ""
	case c.Values != nil:
		at = Each(t.Values[j], func(v string) int { return slices.Index(c.Values, v) })
	}
	for i := range t.Len() {
		v := t.Features.At(i, j)
		switch missing := math.IsNaN(v); {
		case at != nil && at[int(v)] >= 0:
			x.Set(i, lo+at[int(v)], 1)
		case at != nil:
			if strange++; strange == 1 {
				first = fmt.Sprintf("%.40q", t.Values[j][int(v)])
			}
		case missing && c.Missing:
			x.Set(i, lo+1, 1)
			fallthrough
		case missing:
			if x.Set(i, lo, c.Mean); !c.Missing {
				strange, first = strange+1, "no number"
			}
		default:
			x.Set(i, lo, v)
		}
	}
	if strange == 0 {
		return ""
	}
	return fmt.Sprintf("%s in column %s (rows: %d)", first, t.called(j), strange)
}

// isText reports whether column j is text.
func (t *Table) isText(j int) bool { return t.Values != nil && t.Values[j] != nil }

// named is the name of column j, "" if it has none.
func (t *Table) named(j int) string {
	if t.Columns == nil {
		return ""
	}
	return t.Columns[j]
}

// called is the name of column j, or its number from 1, to be printed.
func (t *Table) called(j int) string {
	if name := t.named(j); name != "" {
		return Printable(name)
	}
	return fmt.Sprint(j + 1)
}

func (t *Table) width() int {
	_, m := t.Features.Dims()
	return m
}
