package report

import (
	_ "embed"
	"encoding/base64"
	"html/template"
	"io"
	"slices"

	"calibra/experiments/metrics"
)

//go:embed report.html.tmpl
var page string

var pageTemplate = template.Must(template.New("report").Funcs(template.FuncMap{
	"best":   func(c Cell) bool { return c.Mark == metrics.Best },
	"named":  (*Table).named,
	"second": func(c Cell) bool { return c.Mark == metrics.Second },
	"inline": func(d *Drawing) (template.URL, error) {
		svg, err := d.Figure.Render("svg")
		return template.URL("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString(svg)), err
	},
	"anchor": func(i int) int { return i + 1 },
}).Parse(page))

// WriteHTML writes the document as one page that needs nothing else: style and
// figures are in it.
func (d *Document) WriteHTML(w io.Writer) error {
	shown := *d
	shown.Sections = slices.DeleteFunc(slices.Clone(d.Sections), func(s *Section) bool { return s == nil })
	return pageTemplate.Execute(w, &shown)
}
