package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/program"
)

//go:embed report.html.tmpl
var page string

//go:embed report.css
var style string

//go:embed report.js
var script string

// Tables of more than manyColumns are printed in small letters.
const manyColumns = 12

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"style":    func() template.CSS { return template.CSS(style + signs() + darkStyle("figure ")) },
	"script":   func() template.JS { return template.JS(script) },
	"called":   Called,
	"numbered": numbered,
	"best":     func(c Cell) bool { return c.Mark == metrics.Best },
	"second":   func(c Cell) bool { return c.Mark == metrics.Second },
	"named":    (*Table).named,
	"columns":  (*Table).columns,
	"words":    (*Table).words,
	"many":     func(t *Table) bool { return t.columns() > manyColumns },
	"series":   (*Table).series,
	"open":     (*Document).open,
	"size": func(d *Drawing) template.CSS { // of panels, of which so many stand side by side where there is room
		return template.CSS(fmt.Sprintf("--columns:%d;--cell:%.0fpx", d.Figure.columns, d.Figure.cell.X.Points()*4/3))
	},
	"latex": func(t *Table) string {
		var b strings.Builder
		t.latex(&b)
		return strings.TrimSpace(b.String())
	},
	"inline": func(d *Drawing) (template.HTML, error) {
		svg, err := d.Figure.Inline()
		return template.HTML(svg), err
	},
	"anchor": func(i int) int { return i + 1 },
}).Parse(page))

func (t *Table) columns() int { return len(t.Labels) + len(t.Values) }

// words reports whether a column of values holds words.
func (t *Table) words(column int) bool { return column < len(t.Values) && t.Values[column].Wrap }

// open reports whether the i-th section is unfolded: all are, but below a card those alone that its verdict rests on,
// the first two.
func (d *Document) open(i int) bool { return d.Card == nil || i < 2 }

// series is the name that the row has in figures, "" if its table is not of methods.
func (t *Table) series(r Row) string {
	if i := slices.Index(t.Labels, "Method"); i >= 0 && i < len(r.Labels) {
		return r.Labels[i]
	}
	return ""
}

// WriteHTML writes the document as one page that needs nothing else: style, script and
// figures are in it. Columns sort, methods come and go, tables can be copied, and
// figures show their values.
func (d *Document) WriteHTML(w io.Writer) error {
	shown := *d
	shown.Sections = slices.DeleteFunc(slices.Clone(d.Sections), func(s *Section) bool { return s == nil })
	return pageTemplate.Execute(w, &shown)
}

var (
	counts  = regexp.MustCompile(`^\d{4,}$|\b\d{4,} (?:[a-z]+ ){0,2}rows\b`)
	hyphens = regexp.MustCompile(`(^|[ (])-(\.?\d)`)
)

// numbered is a text as a page writes numbers: counts of rows, and a whole number by itself, with separators of
// thousands, and minus signs that are no hyphens.
func numbered(text string) string {
	text = counts.ReplaceAllStringFunc(text, func(found string) string {
		digits := found[:len(found)-len(strings.TrimLeft(found, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil { // of more digits than a count
			return found
		}
		return metrics.Thousands(n) + found[len(digits):]
	})
	return hyphens.ReplaceAllString(text, "$1−$2")
}

// Called is a command as the reader of a page can type it: the name of a program from outside, which alone has its
// parts, in place of calibra's.
func Called(command string) string {
	if program.Outside() {
		return program.Called(command)
	}
	return command
}
