package data

import (
	"fmt"
	"io"
	"slices"

	"calibra/data/parquet"
)

// readParquet reads the columns of numbers, of lists of numbers and of text.
func readParquet(path string, r *io.SectionReader) ([]*column, error) {
	f, err := parquet.Open(r, r.Size(), mostOf(r.Size()))
	if err != nil {
		return nil, err
	}
	var columns []*column
	ordered := categoriesIn(f.Schema)
	for i := range f.Columns {
		from := &f.Columns[i]
		c := newColumn(from.Name)
		c.list, c.whole = from.List, from.Kind == parquet.Integer || from.Kind == parquet.Truth
		dated := from.Kind == parquet.Date || from.Kind == parquet.Moment
		names := c.name == "groups" && !c.list && (dated || from.Kind == parquet.Truth || from.Kind == parquet.Decimal)
		columns = append(columns, c)
		switch {
		case from.Kind == parquet.Other && slices.Contains(sparkVectors, from.Name):
			c.fault = errVectors
		case from.Kind == parquet.Other || dated && !names:
			c.fail("is of a type that is not read; it must hold numbers or, for labels, set and groups, text")
		case from.Kind == parquet.Text && from.List:
			c.fail("holds lists of text; it must hold numbers")
		default:
			if c.begin(from.Kind == parquet.Text || names); c.fault != nil {
				break
			}
			var listed bool
			c.ordered, listed = ordered[from.Name]
			if err := c.readParquet(path, f, from, listed); err != nil {
				return nil, fmt.Errorf("column %s: %w", Printable(c.name), err)
			}
		}
		if c.fault != nil {
			c.rows = f.Rows
		}
		if c.rows != f.Rows {
			return nil, fmt.Errorf("column %s has %d rows of %d", Printable(c.name), c.rows, f.Rows)
		}
	}
	return columns, nil
}

// readParquet reads the rows of a column until one has a fault.
func (c *column) readParquet(path string, f *parquet.File, from *parquet.Column, listed bool) error {
	var row []float64 // of a list
	open := false     // it has begun
	end := func() {
		if open {
			c.add(row...)
		}
		row, open = row[:0], false
	}
	err := f.Read(from, func(p *parquet.Page) error {
		if listed && len(p.Text) > 0 {
			c.rank(p.Dictionary)
		}
		p.Each(func(begins bool, s parquet.State, value int) bool {
			if c.list && begins {
				end()
				open = s != parquet.Null
			}
			switch {
			case s == parquet.Hole:
				c.fail("has a list with a hole at row %d", c.rows)
			case s == parquet.Null:
				c.addNone()
			case s == parquet.Empty: // which add refuses
			case c.isText && from.Kind != parquet.Text:
				c.addText(from.Text(p.Numbers[value]))
			case c.isText:
				c.addText(p.Text[value])
			case c.list:
				row = append(row, p.Numbers[value])
			default:
				c.add(p.Numbers[value])
			}
			return c.fault == nil
		})
		if c.fault != nil {
			return errFault
		}
		return c.room(path)
	})
	if err == errFault {
		return nil
	}
	end()
	return err
}

// writeParquet writes columns, sorted by their names.
func writeParquet(out io.Writer, columns []*column) error {
	return parquet.Write(out, columns[0].rows, Each(columns, func(c *column) parquet.Output {
		return parquet.Output{Name: c.name, Integer: c.whole, Width: c.width, Values: c.values}
	}))
}
