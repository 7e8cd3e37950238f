package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/verdict"
)

// Document is a report: what was found, and how.
type Document struct {
	Title string
	Intro string
	// Verdict says what to do, with a statement for each data set. Every format shows it
	// first.
	Verdict []Statement
	// Head describes where the page comes from: command, program, data, machine, date; it stands at
	// the foot. As these differ from run to run, no other format than HTML has them.
	Head     []Fact
	Files    []string // beside the page, which links to them
	Sections []*Section
	Failures []string // what could not be computed, a line each
	Folder   string   // of the figures, in the document's directory; "" means figures
	Facts    []Fact   // how the numbers were made, the footer
}

// Statement is a finding about one thing, and the commands that follow from it.
type Statement struct {
	Title    string // what it is about; "" where there is but one
	Lines    []string
	Commands []string
}

// Section is a part of a Document; any of its parts may be missing.
type Section struct {
	Title   string
	Note    string
	Tables  []*Table
	Figures []*Drawing
	Panel   template.HTML // what a page shows in place of the figures
}

// Drawing is a figure in a Document. Its files begin with its name.
type Drawing struct {
	Name    string
	Caption string
	Figure  *Figure
}

// Fact is a line of the head or the footer.
type Fact struct{ Name, Value string }

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

// Add adds a row to the block of that name, which begins with its first row. In a table without named blocks the name is "".
func (t *Table) Add(block string, r Row) {
	if n := len(t.Blocks); n == 0 || t.Blocks[n-1].Name != block {
		t.Blocks = append(t.Blocks, Block{Name: block})
	}
	last := &t.Blocks[len(t.Blocks)-1]
	last.Rows = append(last.Rows, r)
}

// Heads are the heads of value columns. A head may end in an arrow: "NLL ↓".
func Heads(texts ...string) (heads []Head) {
	for _, text := range texts {
		head := Head{Text: text}
		for _, arrow := range []string{"↓", "↑"} {
			if plain, ok := strings.CutSuffix(text, " "+arrow); ok {
				head = Head{plain, arrow}
			}
		}
		heads = append(heads, head)
	}
	return heads
}

// Texts are cells of words and whole numbers as they are.
func Texts(values ...any) []Cell {
	return data.Each(values, func(v any) Cell { return Cell{Text: fmt.Sprint(v)} })
}

// Head is the head of a value column.
type Head struct {
	Text  string
	Arrow string // "↓" or "↑", the better direction; "" for neither
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

// Cell is a number as it is printed, ".0053±.0007", with its place in the column.
type Cell struct {
	Text   string
	Mark   metrics.Mark
	Spread metrics.Spread // that Text prints; the zero value where it prints none
}

// Stated is a verdict as a page shows it.
func Stated(v *verdict.Verdict) Statement {
	return Statement{Title: v.Data, Lines: v.Text(), Commands: v.Commands}
}
