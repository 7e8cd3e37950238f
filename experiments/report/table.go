package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
)

// Table is rows in blocks, one a data set, of label columns and value columns.
type Table struct {
	Caption string
	Labels  []string // heads of the label columns
	Values  []Head
	Blocks  []Block
}

// named reports whether the table has a column for the names of its blocks.
func (t *Table) named() bool {
	return slices.ContainsFunc(t.Blocks, func(b Block) bool { return b.Name != "" })
}

// labelled are the heads of the label columns, the first that of the names of the blocks where these have some.
func (t *Table) labelled(blocks string) []string {
	if t.named() {
		return append([]string{blocks}, t.Labels...)
	}
	return t.Labels
}

// Add adds a row to the block of that name, which begins with its first row. In a table without named blocks the name
// is "".
func (t *Table) Add(block string, r Row) {
	if n := len(t.Blocks); n == 0 || t.Blocks[n-1].Name != block {
		t.Blocks = append(t.Blocks, Block{Name: block})
	}
	last := &t.Blocks[len(t.Blocks)-1]
	last.Rows = append(last.Rows, r)
}

// Len is how many rows it has.
func (t *Table) Len() (n int) {
	for _, b := range t.Blocks {
		n += len(b.Rows)
	}
	return n
}

// Widen adds a column, of a cell for each row.
func (t *Table) Widen(head Head, column []Cell) {
	t.Values = append(t.Values, head)
	for _, b := range t.Blocks {
		for i := range b.Rows {
			b.Rows[i].Cells, column = append(b.Rows[i].Cells, column[0]), column[1:]
		}
	}
}

// Heads are the heads of value columns.
func Heads(texts ...string) []Head {
	return data.Each(texts, func(text string) Head { return Head{Text: text} })
}

// Texts are cells of words and whole numbers as they are.
func Texts(values ...any) []Cell {
	return data.Each(values, func(v any) Cell { return Cell{Text: fmt.Sprint(v)} })
}

// Head is the head of a value column.
type Head struct {
	Text  string
	Arrow string // "↓" or "↑", the better direction; "" for neither
	Key   string // in JSON; "" is the text in small letters
	Drop  int    // where a line of a terminal is short, the column of the highest goes first, and one of 0 never
	Wrap  bool   // words, which stand on the left and may be broken over lines
}

// Block is the rows of one data set.
type Block struct {
	Name string // a table whose blocks have none has no column for it
	Rows []Row
}

// Row is a line of a table.
type Row struct {
	Labels []string
	Cells  []Cell
	Winner bool // of its block, shaded: the lowest NLL, or what a verdict chooses
}

// Cell is a value as it is printed, ".0053±.0007", with its place in the column.
type Cell struct {
	Text  string
	Mark  metrics.Mark
	Value any // that Text prints, a metrics.Spread or what JSON has; nil is Text itself, and NaN nothing
}

// Number is a number of so many decimals, or a dash where it could not be measured.
func Number(x float64, decimals int) Cell {
	if math.IsNaN(x) {
		return Cell{Text: "–", Value: x}
	}
	return Cell{Text: metrics.Fixed(x, decimals), Value: x}
}

// known are what JSON has of the cell, and its standard deviation over seeds; nil where it is not known.
func (c Cell) known() (value, sd any) {
	switch x := c.Value.(type) {
	case nil:
		return c.Text, nil
	case float64:
		if math.IsNaN(x) {
			return nil, nil
		}
	case metrics.Spread:
		switch {
		case math.IsNaN(x.Mean) || math.IsInf(x.Mean, 0):
			return nil, nil
		case x.Runs == 1:
			return x.Mean, nil
		}
		return x.Mean, x.SD
	}
	return c.Value, nil
}

// flat are the table's columns, first those of labels, and its rows. Where there are several blocks, their names are
// labels too.
func (t *Table) flat() (heads []Head, labels int, rows [][]Cell) {
	if len(t.Blocks) > 1 {
		heads = []Head{{Text: "data"}}
	}
	for _, l := range t.Labels {
		text := strings.ToLower(l[:min(1, len(l))]) + l[min(1, len(l)):]
		heads = append(heads, Head{Text: text, Key: text})
	}
	return append(heads, t.Values...), len(heads), t.lines(len(t.Blocks) > 1)
}

// lines are the rows with their labels as cells. Where names are asked for, the name of the block stands before the
// labels of its first row, and nothing before those of the others.
func (t *Table) lines(names bool) (rows [][]Cell) {
	for _, b := range t.Blocks {
		for i, r := range b.Rows {
			var row []Cell
			if names {
				row = []Cell{{Value: b.Name}}
				if i == 0 {
					row[0].Text = b.Name
				}
			}
			rows = append(rows, slices.Concat(row, Texts(data.Each(r.Labels, func(l string) any { return l })...), r.Cells))
		}
	}
	return rows
}

// Objects is the table for JSON: one object a row, without what could not be measured.
func (t *Table) Objects() []map[string]any {
	objects := []map[string]any{}
	heads, _, rows := t.flat()
	for _, row := range rows {
		o := map[string]any{}
		for j, c := range row {
			value, sd := c.known()
			if value != nil {
				o[heads[j].key()] = value
			}
			if sd != nil {
				o[heads[j].key()+"_sd"] = sd
			}
		}
		objects = append(objects, o)
	}
	return objects
}

// keys are those of metrics, whose names in tables are others.
var keysOf = strings.NewReplacer(metrics.ECE.Title(), metrics.ECE.String(), metrics.TopECE.Title(), metrics.TopECE.String(), "ACC", "accuracy", " ", "_")

func (h Head) key() string {
	if h.Key != "" {
		return h.Key
	}
	return strings.ToLower(keysOf.Replace(h.Text))
}

// WriteCSV writes all columns of the table as they are printed.
func (t *Table) WriteCSV(w io.Writer) error {
	heads, _, rows := t.flat()
	lines := [][]string{data.Each(heads, func(h Head) string { return h.Text })}
	for _, row := range rows {
		lines = append(lines, data.Each(row, func(c Cell) string { return data.Line(c.Text) }))
	}
	return data.WriteCSV(w, lines)
}
