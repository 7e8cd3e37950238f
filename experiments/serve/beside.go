package serve

import (
	"cmp"
	"context"
	"fmt"
	"html/template"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/study"

	"gonum.org/v1/gonum/floats"
)

// mostBeside are compared at once.
const mostBeside = 12

// link is the address of a file of the folder.
func link(name string) string { return (&url.URL{Path: "/files/" + name}).String() }

// beside is the page of some runs, side by side where they tested the same rows.
func (s *Server) beside(r *http.Request) (*report.Document, error) {
	runs, err := s.chosen(r.URL.Query()["run"])
	if err != nil {
		return nil, err
	}
	d := &report.Document{Title: "Side by side", Intro: fmt.Sprintf("%d test rows of %s.", runs[0].Rows, data.Line(runs[0].Data))}
	if len(runs) == 1 {
		d.Title = runs[0].title()
	}
	same := alike(runs)
	if !same && len(runs) > 1 {
		d.Intro = "Runs that tested different rows."
		d.Verdict = []report.Statement{{Lines: []string{"Different rows: these runs cannot be compared.", differ(runs)}}}
	}
	if same || len(runs) == 1 {
		s.weigh <- struct{}{}
		defer func() { <-s.weigh }()
		if err := s.verdict(r.Context(), d, runs); err != nil {
			return nil, err
		}
	}
	table, err := s.table(runs)
	if err != nil {
		return nil, err
	}
	d.Sections = append([]*report.Section{table}, d.Sections...)
	return d, nil
}

// chosen are the runs of these names, each once.
func (s *Server) chosen(names []string) (runs []run, err error) {
	switch {
	case len(names) == 0:
		return nil, data.Inputf("", "No run is chosen; go back and tick one or more.")
	case len(names) > mostBeside:
		return nil, data.Inputf("", "%d runs are chosen; at most %d are shown side by side.", len(names), mostBeside)
	}
	for _, name := range names {
		if slices.ContainsFunc(runs, func(r run) bool { return r.Name == name }) {
			continue
		}
		t := s.named(name)
		if t == nil {
			return nil, data.Inputf("", "%s is no fitted method of this folder.", data.Line(name))
		}
		runs = append(runs, run{Name: name, tested: t})
	}
	return runs, nil
}

// alike reports whether the runs tested the same rows.
func alike(runs []run) bool {
	return !slices.ContainsFunc(runs, func(r run) bool { return r.Digest != runs[0].Digest || r.Digest == "" })
}

// differ names the rows that each run tested.
func differ(runs []run) string {
	var parts []string
	for _, r := range runs {
		rows := "rows that it does not tell, as runs of earlier versions: fit it again"
		if r.Digest != "" {
			rows = fmt.Sprintf("%d rows of %s (%.8s)", r.Rows, data.Line(r.Data), r.Digest)
		}
		parts = append(parts, r.title()+" tested "+rows)
	}
	return strings.Join(parts, "; ") + "."
}

// named is what a fit or a cell showed, nil if the folder has none of that name.
func (s *Server) named(name string) *tested {
	if !fs.ValidPath(name) {
		return nil
	}
	if study.IsCell(path.Base(name) + ".json") {
		return s.cell(name + ".json")
	}
	return s.fit(name)
}

// shown is what a run showed on each row.
func (s *Server) shown(ctx context.Context, r run) (out study.Shown, err error) {
	out = study.Shown{Method: r.Method, Name: r.title(), Catalog: s.catalog, NLL: r.value(metrics.NLL), Accuracy: r.value(metrics.Accuracy)}
	if study.IsCell(path.Base(r.Name) + ".json") {
		c, err := study.ReadCell(s.root, r.Name+".json")
		if err != nil {
			return out, err
		}
		out.Losses, out.Wrong = c.Rowwise()
		return out, nil
	}
	name := path.Join(r.Name, "predictions.npz")
	if _, err := s.root.Stat(name); err != nil { // or it lies elsewhere
		return out, data.Inputf("", "%s has no predictions.", data.Line(r.Name))
	}
	p, err := data.ReadPredictionsContext(ctx, filepath.Join(s.root.Name(), filepath.FromSlash(name)))
	if err != nil {
		return out, err
	}
	if p.Labels == nil {
		return out, data.Inputf("", "%s has no labels to be judged by.", data.Line(r.Name))
	}
	for i, y := range p.Labels {
		row, wrong := p.LogProbs.RawRowView(i), 0.
		if floats.MaxIdx(row) != y {
			wrong = 1
		}
		out.Losses, out.Wrong = append(out.Losses, -row[y]), append(out.Wrong, wrong)
	}
	return out, nil
}

// verdict weighs the runs, and draws their differences.
func (s *Server) verdict(ctx context.Context, d *report.Document, runs []run) error {
	shown := make([]study.Shown, len(runs))
	for k, r := range runs {
		var err error
		if shown[k], err = s.shown(ctx, r); err != nil {
			return err
		}
		if len(shown[k].Losses) != len(shown[0].Losses) {
			return data.Inputf("", "%s keeps no losses of its rows, so that it cannot be weighed.", data.Line(r.Name))
		}
	}
	v, err := study.WeighRows(ctx, shown, rand.New(rand.NewPCG(0, 6)))
	if v == nil || err != nil {
		return err
	}
	d.Verdict = []report.Statement{v.Statement()}
	slices.SortStableFunc(runs, func(a, b run) int { return v.Place(a.title()) - v.Place(b.title()) })
	if len(runs) < 2 {
		return nil
	}
	if figure := v.Forest(""); figure != nil {
		d.Sections = append(d.Sections, &report.Section{Title: "Differences to the best",
			Note:    "A dot is the difference to the best run on the same test rows, its bar the 95 % interval of a paired bootstrap over the rows. Below 0 a run would be better, above 0 it is worse; a bar that reaches 0 shows no significant difference.",
			Figures: []*report.Drawing{{Name: "differences", Caption: "Differences to the best run, with 95 % intervals.", Figure: figure}}})
	}
	return nil
}

// table has a row for each run, and links to its files.
func (s *Server) table(runs []run) (*report.Section, error) {
	t := &report.Table{Caption: "What the runs showed on their test rows", Labels: []string{"run", "method", "settings"}, Values: report.Heads("seed", "rows")}
	for m := range metrics.Metrics {
		t.Values = append(t.Values, metricHead(m))
	}
	least := slices.MinFunc(runs, func(a, b run) int { return lower(a.value(metrics.NLL), b.value(metrics.NLL)) })
	var files []run
	for _, r := range runs {
		row := report.Row{Labels: []string{r.title(), data.Line(r.Method), data.Line(r.Settings)}, Winner: len(runs) > 1 && r.Name == least.Name && alike(runs),
			Cells: report.Texts(r.Seed, r.Rows)}
		for m := range metrics.Metrics {
			row.Cells = append(row.Cells, report.Cell{Text: metricText(m, r.value(m))})
		}
		t.Add("", row)
		r.Pages = slices.DeleteFunc([]string{"report.html", "diagnosis/diagnosis.html", "config.json", "metrics.json"}, func(name string) bool {
			_, err := s.root.Stat(path.Join(r.Name, name))
			return err != nil
		})
		files = append(files, r)
	}
	links, err := report.Panel(filesTemplate, files)
	return &report.Section{Title: "Numbers", Tables: []*report.Table{t}, Panel: links}, err
}

var filesTemplate = template.Must(template.New("files").Funcs(template.FuncMap{"title": (run).title, "page": (run).page}).Parse(
	string(back) + `{{range $run := .}}{{if .Pages}}<p>{{title .}}:{{range .Pages}} <a href="{{page $run .}}">{{.}}</a>{{end}}</p>{{end}}{{end}}`))

// lower orders numbers, NaN last.
func lower(x, y float64) int {
	return cmp.Compare(-y, -x) // NaN is the least
}
