package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// readParquet reads the columns of numbers and of lists of numbers, and the column set.
func readParquet(path string, r *io.SectionReader) ([]*column, error) {
	f, err := parquet.OpenFile(r, r.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	var columns []*column
	for _, leaf := range leavesOf(f.Root()) {
		name, number := leaf.Path()[0], parquetNumber(leaf)
		c := &column{name: name, list: leaf.MaxRepetitionLevel() == 1, whole: wholeParquet(leaf)}
		switch {
		case name == "set" && len(leaf.Path()) == 1 && leaf.Type().Kind() == parquet.ByteArray:
			c.text = []string{}
		case number == nil || leaf.MaxRepetitionLevel() > 1 || !c.list && len(leaf.Path()) > 1:
			continue
		}
		for _, group := range f.RowGroups() {
			if err := readChunk(path, c, group.ColumnChunks()[leaf.Index()], number); err != nil {
				return nil, err
			}
		}
		if int64(c.rows) != f.NumRows() {
			return nil, fmt.Errorf("column %s has %d rows of %d", name, c.rows, f.NumRows())
		}
		columns = append(columns, c)
	}
	return columns, nil
}

func leavesOf(c *parquet.Column) []*parquet.Column {
	if c.Leaf() {
		return []*parquet.Column{c}
	}
	var leaves []*parquet.Column
	for _, part := range c.Columns() {
		leaves = append(leaves, leavesOf(part)...)
	}
	return leaves
}

// readChunk appends the rows of a row group.
func readChunk(path string, c *column, chunk parquet.ColumnChunk, number func(parquet.Value) float64) error {
	pages := chunk.Pages()
	defer pages.Close()
	var row []float64 // of a list
	open := false
	end := func() {
		if open {
			c.add(row...)
		}
		row, open = row[:0], false
	}
	var values [1024]parquet.Value
	for {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			end()
			return c.room(path)
		}
		if err != nil {
			return err
		}
		for reader := page.Values(); ; {
			n, err := reader.ReadValues(values[:])
			for _, v := range values[:n] {
				if c.list && v.RepetitionLevel() == 0 {
					end()
					open = true
				}
				switch {
				case c.text != nil && v.IsNull():
					c.addNone()
				case c.text != nil:
					c.text, c.rows = append(c.text, string(v.ByteArray())), c.rows+1
				case c.list && v.IsNull() && v.RepetitionLevel() == 0: // an empty list, which add refuses
				case v.IsNull() && c.list:
					c.fault = fmt.Errorf("has a list with a hole at row %d", c.rows)
				case v.IsNull():
					c.addNone()
				case c.list:
					row = append(row, number(v))
				default:
					c.add(number(v))
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil || n == 0 {
				parquet.Release(page)
				return errors.Join(err, errors.New("a page ends early"))
			}
		}
		parquet.Release(page)
		if err := c.room(path); err != nil {
			return err
		}
	}
}

// parquetNumber turns a value of the leaf's type into a number; nil if it is none.
func parquetNumber(leaf *parquet.Column) func(parquet.Value) float64 {
	t := leaf.Type()
	switch kind := t.Kind(); {
	case kind == parquet.Float:
		return func(v parquet.Value) float64 { return float64(v.Float()) }
	case kind == parquet.Double:
		return parquet.Value.Double
	case kind == parquet.Boolean:
		return func(v parquet.Value) float64 {
			if v.Boolean() {
				return 1
			}
			return 0
		}
	case kind == parquet.FixedLenByteArray && t.Length() == 2 && t.LogicalType() == nil: // parquet-go knows no FLOAT16
		h := halves()
		return func(v parquet.Value) float64 { return float64(h[binary.LittleEndian.Uint16(v.ByteArray())]) }
	case !wholeParquet(leaf):
		return nil
	case kind == parquet.Int32:
		return func(v parquet.Value) float64 { return float64(v.Int32()) }
	}
	return func(v parquet.Value) float64 { return float64(v.Int64()) }
}

// wholeParquet says that the leaf holds whole numbers, and no dates or decimals, or truth
// values.
func wholeParquet(leaf *parquet.Column) bool {
	t := leaf.Type()
	switch t.Kind() {
	case parquet.Boolean:
		return true
	case parquet.Int32, parquet.Int64:
	default:
		return false
	}
	logical := t.LogicalType()
	if logical == nil || logical.Value == nil {
		return true
	}
	_, whole := logical.Value.(*format.IntType)
	return whole
}

// parquetRows is how many rows are written at a time.
const parquetRows = 1024

// writeParquet writes columns, sorted by their names.
func writeParquet(out io.Writer, columns []*column) error {
	schema := parquet.Group{}
	for _, c := range columns {
		leaf := parquet.Leaf(parquet.DoubleType)
		if c.whole {
			leaf = parquet.Leaf(parquet.Int64Type)
		}
		if schema[c.name] = leaf; c.list {
			schema[c.name] = parquet.List(leaf)
		}
	}
	w := parquet.NewGenericWriter[any](out, parquet.NewSchema("calibra", schema), parquet.Compression(&parquet.Snappy))
	var rows []parquet.Row
	for i := range columns[0].rows {
		var row parquet.Row
		for k, c := range columns {
			if !c.list {
				v := parquet.DoubleValue(c.values[i])
				if c.whole {
					v = parquet.Int64Value(int64(c.values[i]))
				}
				row = append(row, v.Level(0, 0, k))
				continue
			}
			for j, v := range c.values[i*c.width : (i+1)*c.width] {
				row = append(row, parquet.DoubleValue(v).Level(min(j, 1), 1, k))
			}
		}
		if rows = append(rows, row); len(rows) == parquetRows || i == columns[0].rows-1 {
			if _, err := w.WriteRows(rows); err != nil {
				return err
			}
			rows = rows[:0]
		}
	}
	return w.Close()
}
