package serve

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"net/http"
	"path"
	"slices"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

//go:embed list.html.tmpl
var listPanel string

//go:embed list.js
var listScript string

var listTemplate = template.Must(template.New("list").Funcs(template.FuncMap{
	"script": func() template.JS { return template.JS(listScript) },
	"line":   data.Line, "page": (run).page,
}).Parse(listPanel))

// back leads to the list.
const back template.HTML = `<p><a href="/">All runs</a></p>`

// listMetrics are the columns of numbers.
var listMetrics = []metrics.Metric{metrics.NLL, metrics.Accuracy, metrics.ECE, metrics.LCE}

// metricHead is the head of a metric's column.
func metricHead(m metrics.Metric) report.Head {
	if m.HigherIsBetter() {
		return report.Head{Text: m.Title(), Arrow: "↑"}
	}
	return report.Head{Text: m.Title(), Arrow: "↓"}
}

// metricText is a metric as tables show it.
func metricText(m metrics.Metric, x float64) string {
	switch {
	case math.IsNaN(x):
		return "–"
	case m == metrics.NLL || m == metrics.Accuracy:
		return fmt.Sprintf("%.4f", x)
	}
	return fmt.Sprintf("%.5f", x)
}

// page is the address of a page of a run.
func (r run) page(name string) string { return link(path.Join(r.Name, name)) }

// Address leads to what a run holds, "" where there is nothing to be shown.
func (r run) Address() string {
	switch {
	case r.tested != nil:
		return "/beside?" + query(r.Name)
	case r.Cells != "":
		return "/study?" + query(r.Name)
	case len(r.Pages) > 0:
		return r.page(r.Pages[0])
	}
	return ""
}

// Tested reports whether the run tested a method, and can be compared.
func (r run) Tested() bool { return r.tested != nil }

// Numbers are the rows and the metrics of a run.
func (r run) Numbers() []string {
	rows := "–"
	if r.tested != nil {
		rows = fmt.Sprint(r.Rows)
	}
	return append([]string{rows}, data.Each(listMetrics, func(m metrics.Metric) string { return metricText(m, r.value(m)) })...)
}

// When is when a run changed.
func (r run) When() string { return r.Changed.UTC().Format("2006-01-02 15:04:05") }

// listOf is the panel with the table of some runs.
func listOf(runs []run) (template.HTML, error) {
	return report.Panel(listTemplate, map[string]any{"Heads": data.Each(listMetrics, metricHead), "Rows": runs})
}

// list is the page of all runs.
func (s *Server) list(*http.Request) (*report.Document, error) {
	runs, more, err := s.runs()
	if err != nil {
		return nil, err
	}
	table, err := listOf(runs)
	if err != nil {
		return nil, err
	}
	d := &report.Document{
		Title: "Runs", Intro: fmt.Sprintf("%d runs in %s, the newest first.", len(runs), data.Line(s.root.Name())),
		Verdict:  []report.Statement{{Lines: leasts(runs)}},
		Sections: []*report.Section{{Title: "List", Note: "The name of a run leads to what it holds, that of a study to a page that follows it while it runs. A head of the table sorts.", Panel: table}},
	}
	if more {
		d.Failures = append(d.Failures, fmt.Sprintf("The folder has more than %d files; the others are not listed.", mostFiles))
	}
	return d, nil
}

// leasts name, for each set of rows that several runs tested, the run with the least NLL.
func leasts(runs []run) []string {
	rows := map[string][]run{}
	var order []string
	for _, r := range runs {
		if r.tested != nil && r.Digest != "" && !math.IsNaN(r.value(metrics.NLL)) {
			if rows[r.Digest] == nil {
				order = append(order, r.Digest)
			}
			rows[r.Digest] = append(rows[r.Digest], r)
		}
	}
	const most = 3
	var lines []string
	for _, digest := range order {
		same := rows[digest]
		if len(same) < 2 || len(lines) == most {
			continue
		}
		best := slices.MinFunc(same, func(a, b run) int { return cmp.Compare(a.value(metrics.NLL), b.value(metrics.NLL)) })
		lines = append(lines, fmt.Sprintf("Of %d runs on the same %d rows (%s) %s in %s is best: NLL %.4f. Choose them below to see how sure that is.",
			len(same), best.Rows, data.Line(best.Data), data.Line(best.Method), data.Line(best.Name), best.value(metrics.NLL)))
	}
	if lines == nil {
		lines = []string{"No two runs here tested the same rows, so none is best."}
		if len(runs) == 0 {
			lines = []string{"There is no run in this folder yet; calibra fit --out leaves one."}
		}
	}
	return lines
}
