package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
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

// Tables of more than manyColumns are printed in small letters, those of up to fewColumns side by side. On a wide screen those of up
// to halfColumns have room in half a page.
const manyColumns, fewColumns, halfColumns = 12, 5, 7

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(style) },
	"script":  func() template.JS { return template.JS(script) },
	"called":  Called,
	"best":    func(c Cell) bool { return c.Mark == metrics.Best },
	"second":  func(c Cell) bool { return c.Mark == metrics.Second },
	"named":   (*Table).named,
	"columns": (*Table).columns,
	"words":   (*Table).words,
	"many":    func(t *Table) bool { return t.columns() > manyColumns },
	"few":     func(t *Table) bool { return t.columns() <= fewColumns },
	"series":  (*Table).series,
	"place":   placed,
	"narrow":  (*Figure).narrow,
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

// single reports whether the section has one figure, which has room in half a wide page, as all else in it.
func (s *Section) single() bool {
	return len(s.Figures) == 1 && s.Figures[0].Figure.narrow() &&
		!slices.ContainsFunc(s.Tables, func(t *Table) bool { return t.columns() > halfColumns })
}

// placed is where the i-th section stands on a wide page: of two neighbours with one figure each "half" beside the other, else a
// figure "beside" what is said of it.
func placed(all []*Section, i int) string {
	first := i // of the neighbours with one figure
	for first > 0 && all[first-1].single() {
		first--
	}
	switch {
	case !all[i].single():
		return ""
	case (i-first)%2 == 1 || i+1 < len(all) && all[i+1].single():
		return "half"
	case all[i].Note == "" && all[i].Tables == nil:
		return ""
	}
	return "beside"
}

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

// Called is a command as the reader of a page can type it: the name of a program from outside, which alone has its parts, in place
// of calibra's.
func Called(command string) string {
	if program.Outside() {
		return program.Called(command)
	}
	return command
}
