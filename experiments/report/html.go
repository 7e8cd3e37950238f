package report

import (
	_ "embed"
	"html/template"
	"io"
	"slices"
	"strings"

	"calibra/experiments/metrics"
)

//go:embed report.html.tmpl
var page string

//go:embed report.css
var style string

//go:embed report.js
var script string

// Tables of more than manyColumns are printed in small letters, those of up to fewColumns side by side.
const manyColumns, fewColumns = 12, 5

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(style) },
	"script":  func() template.JS { return template.JS(script) },
	"best":    func(c Cell) bool { return c.Mark == metrics.Best },
	"second":  func(c Cell) bool { return c.Mark == metrics.Second },
	"named":   (*Table).named,
	"columns": (*Table).columns,
	"many":    func(t *Table) bool { return t.columns() > manyColumns },
	"few":     func(t *Table) bool { return t.columns() <= fewColumns },
	"series":  (*Table).series,
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

// Panel is the part of a page that a template makes of its values.
func Panel(t *template.Template, values any) (template.HTML, error) {
	var b strings.Builder
	err := t.Execute(&b, values)
	return template.HTML(b.String()), err
}

func (t *Table) columns() int { return len(t.Labels) + len(t.Values) }

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
