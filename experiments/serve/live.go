package serve

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"math"
	"net/http"
	"path"
	"slices"
	"strings"
	"time"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/study"
)

//go:embed live.html.tmpl
var livePanel string

//go:embed live.js
var liveScript string

var liveTemplate = template.Must(template.New("live").Funcs(template.FuncMap{
	"script": func() template.JS { return template.JS(liveScript) },
}).Parse(livePanel))

// cell is one of a study, with what it showed as far as it is there.
type cell struct {
	study.Wanted
	File    string // without .json, below the root
	Setting string // the name without data and seed
	Changed time.Time
	There   bool
	*tested // once it was read
}

// state is how far a study is.
type state struct {
	cells   []cell
	begun   time.Time // of the last process that began
	changed time.Time // when the last cell came
}

// there are how many cells are done, and left the seconds that the others are expected to take.
func (st *state) there() (n int, left float64) {
	for _, c := range st.cells {
		if c.There {
			n++
		} else {
			left += c.Cost
		}
	}
	return n, left
}

// state finds which cells of a directory are there.
func (s *Server) state(dir string) (*state, error) {
	entries, err := fs.ReadDir(s.root.FS(), dir)
	if err != nil {
		return nil, data.Inputf("", "%s has no cells of a study.", data.Line(dir))
	}
	st := &state{}
	wanted, changed := map[string]study.Wanted{}, map[string]time.Time{}
	after := map[string]time.Time{} // a cell that is older is to be computed again
	for _, e := range entries[:min(len(entries), mostFiles)] {
		name := e.Name()
		if key, ok := strings.CutSuffix(name, ".json"); ok {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				changed[key] = info.ModTime()
				if _, ok := wanted[key]; !ok && study.IsCell(name) {
					wanted[key] = study.Wanted{Key: key}
				}
			}
		}
		if path.Ext(name) != study.GridSuffix {
			continue
		}
		g, err := study.ReadGrid(s.root, path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if g.Begun.After(st.begun) {
			st.begun = g.Begun
		}
		for _, w := range g.Cells {
			if !w.Done && g.Begun.After(after[w.Key]) {
				after[w.Key] = g.Begun
			}
			if w.Key == path.Base(w.Key) {
				wanted[w.Key] = w
			}
		}
	}
	for key, w := range wanted {
		c := cell{Wanted: w, File: path.Join(dir, key), Changed: changed[key]}
		if c.There = !c.Changed.IsZero() && !c.Changed.Add(tick).Before(after[key]); c.There && c.Changed.After(st.changed) {
			st.changed = c.Changed
		}
		st.cells = append(st.cells, c)
	}
	return st, nil
}

// tick is how coarse the times of files may be.
const tick = 2 * time.Second

// read reads what the cells showed that are there, and puts the newest first. A cell that cannot be read is not there.
func (s *Server) read(st *state) {
	for k := range st.cells {
		c := &st.cells[k]
		switch file := c.File + ".json"; {
		case c.There && study.IsCell(path.Base(file)):
			c.tested = s.cell(file)
			c.There = c.tested != nil
		case c.There: // of a study that tests no method
			c.There = keep(s, file, json.Valid)
		}
		if c.There && c.Name == "" { // of a directory of an earlier version
			c.Wanted.Data, c.Name = c.tested.Data, fmt.Sprintf("%s %s seed %d", c.tested.Data, c.Method, c.Seed)
		}
		c.Setting, _, _ = strings.Cut(strings.TrimPrefix(c.Name, c.Wanted.Data), " seed ")
		c.Setting = strings.TrimPrefix(c.Setting, " ")
	}
	slices.SortFunc(st.cells, func(a, b cell) int {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
}

// cell is what the cell in a file showed, nil if there is none.
func (s *Server) cell(name string) *tested {
	return keep(s, name, func([]byte) *tested {
		r, err := study.ReadCell(s.root, name)
		if err != nil {
			return nil
		}
		return &tested{Method: r.Spec.Method, Data: r.Spec.Data, Seed: r.Spec.Seed, Settings: r.Spec.Set, Rows: r.TestRows, Digest: r.TestDigest, Values: r.Shared}
	})
}

// study is the page of a study, which follows it while it runs.
func (s *Server) study(r *http.Request) (*report.Document, error) {
	name := r.URL.Query().Get("run")
	if !fs.ValidPath(name) {
		return nil, data.Inputf("", "No study is named.")
	}
	dir := name
	if info, err := s.root.Stat(path.Join(name, "cells")); err == nil && info.IsDir() {
		dir = path.Join(name, "cells")
	}
	st, err := s.state(dir)
	if err != nil {
		return nil, err
	}
	if len(st.cells) == 0 {
		return nil, data.Inputf("", "%s has no cells of a study.", data.Line(dir))
	}
	s.read(st)
	page := "" // of the report, when it is written
	if dir != name || path.Base(dir) == "cells" {
		page = path.Join(path.Dir(dir), "report.html")
	}
	progress, err := s.progress(st, dir, page)
	if err != nil {
		return nil, err
	}
	shown := listMetrics
	if !slices.ContainsFunc(st.cells, func(c cell) bool { return c.tested != nil }) {
		shown = nil
	}
	found := st.settings(shown)
	table, figures := results(found, shown)
	cells, err := st.list()
	if err != nil {
		return nil, err
	}
	return &report.Document{
		Title: "Study in " + data.Line(name), Intro: "Means over the seeds that are there; the study's own report, when it is written, says how sure they are.",
		Verdict: []report.Statement{{Lines: st.best(found)}},
		Sections: []*report.Section{
			{Title: "Progress", Panel: progress},
			{Title: "Results so far", Tables: table, Figures: figures},
			{Title: "Cells", Note: "The last that came first. Those ticked are put side by side where they tested the same rows.", Panel: cells},
		},
	}, nil
}

// progress is the panel of a study whose cells are in dir, with a link to the page if it is there.
func (s *Server) progress(st *state, dir, page string) (template.HTML, error) {
	there, _ := st.there()
	address := "" // of the report, where it is there
	if _, err := s.root.Stat(page); page != "" && err == nil {
		address = link(page)
	}
	return report.Panel(liveTemplate, map[string]any{
		"Running": there < len(st.cells), "There": there, "All": len(st.cells), "Says": st.summary(time.Now()), "Report": address, "Where": data.Line(dir),
	})
}

// quiet is after how long without a cell it is doubtful whether the study still runs, beside what its cells take.
const quiet = 10 * time.Minute

// summary describes how far the study is.
func (st *state) summary(now time.Time) string {
	there, left := st.there()
	if there == len(st.cells) {
		return fmt.Sprintf("All %d cells are computed.", there)
	}
	text := fmt.Sprintf("%d of %d cells are computed", there, len(st.cells))
	var spent, most float64
	for _, c := range st.cells {
		if c.There && !c.Changed.Before(st.begun) {
			spent += c.Cost
		}
		most = max(most, c.Cost)
	}
	if elapsed := st.changed.Sub(st.begun); spent > 0 && elapsed > 0 {
		text += fmt.Sprintf("; about %v left", time.Duration(left/spent*float64(elapsed)).Round(time.Second))
	}
	last := st.begun
	if st.changed.After(last) {
		last = st.changed
	}
	since := now.Sub(last).Round(time.Second)
	if since > quiet+time.Duration(3*most)*time.Second {
		return text + fmt.Sprintf("; nothing came for %v: it was stopped, or cells failed. The same command goes on with it.", since)
	}
	return text + fmt.Sprintf("; the last change was %v ago.", since)
}

// mean of a metric over cells that are there, NaN of none.
func mean(cells []cell, m metrics.Metric) float64 {
	values := data.Each(cells, func(c cell) float64 { return c.value(m) })
	return metrics.NewSpread(slices.DeleteFunc(values, math.IsNaN)).Mean
}

// settings is what the settings showed so far on the rows of one source, the least NLL first.
type settings struct {
	source string
	lines  []line
}

// line is what the cells of a setting showed so far: their row of the table and bar of the figure.
type line struct {
	nll float64
	row report.Row
	bar report.Bar
}

// settings are those of each source, with these metrics.
func (st *state) settings(shown []metrics.Metric) (all []settings) {
	cells := map[string]map[string][]cell{}
	for _, c := range st.cells {
		if cells[c.Wanted.Data] == nil {
			cells[c.Wanted.Data] = map[string][]cell{}
		}
		cells[c.Wanted.Data][c.Setting] = append(cells[c.Wanted.Data][c.Setting], c)
	}
	for _, source := range slices.Sorted(maps.Keys(cells)) {
		s := settings{source: data.Line(source)}
		for setting, of := range cells[source] {
			s.lines = append(s.lines, newLine(data.Line(setting), of, shown))
		}
		slices.SortFunc(s.lines, func(a, b line) int { return cmp.Or(lower(a.nll, b.nll), cmp.Compare(a.bar.Name, b.bar.Name)) })
		s.lines[0].row.Winner, s.lines[0].bar.Winner = !math.IsNaN(s.lines[0].nll), true
		all = append(all, s)
	}
	return all
}

func newLine(setting string, cells []cell, shown []metrics.Metric) line {
	there := slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !c.There })
	l := line{nll: mean(there, metrics.NLL), row: report.Row{Labels: []string{setting}, Cells: report.Texts(fmt.Sprintf("%d of %d", len(there), len(cells)))}}
	for _, m := range shown {
		l.row.Cells = append(l.row.Cells, report.Cell{Text: metricText(m, mean(there, m))})
	}
	l.bar = report.Bar{Name: setting, Mean: l.nll, Floor: math.NaN(), Seeds: data.Each(there, func(c cell) float64 { return c.value(metrics.NLL) })}
	return l
}

// best names the setting that has the least NLL so far.
func (st *state) best(all []settings) (lines []string) {
	for _, s := range all {
		if best := s.lines[0]; !math.IsNaN(best.nll) && len(lines) < 5 {
			lines = append(lines, fmt.Sprintf("So far %s is best on %s: NLL %.4f.", best.bar.Name, s.source, best.nll))
		}
	}
	switch there, _ := st.there(); {
	case lines != nil:
		return lines
	case there == 0:
		return []string{"No cell is computed yet, so nothing is best."}
	}
	return []string{"These cells test no method; what they say stands in the study's report, once it is written."}
}

// results are a table of means and the NLL of each source as a figure.
func results(all []settings, shown []metrics.Metric) ([]*report.Table, []*report.Drawing) {
	t := &report.Table{Caption: "Means over the seeds that are computed", Labels: []string{"setting"}, Values: append(report.Heads("cells"), data.Each(shown, metricHead)...)}
	var panels []report.BarPanel
	for _, s := range all {
		panel := report.BarPanel{Title: "NLL on " + s.source, Marks: report.DotsFromLeast}
		for _, l := range s.lines {
			t.Add(s.source, l.row)
			panel.Bars = append(panel.Bars, l.bar)
		}
		const most = 12 // panels, each with settings whose names can be read
		if len(panels) < most && len(s.lines) <= 2*most && !math.IsNaN(s.lines[0].nll) {
			panels = append(panels, panel)
		}
	}
	if panels == nil {
		return []*report.Table{t}, nil
	}
	return []*report.Table{t}, []*report.Drawing{{Name: "nll", Caption: "NLL of each setting so far, a dot each seed; below is better.", Figure: report.Bars(panels)}}
}

// list is the table of the cells.
func (st *state) list() (template.HTML, error) {
	var there []run
	for _, c := range st.cells {
		if c.There {
			there = append(there, run{Name: c.File, Kind: "cell", Says: c.Name, Changed: c.Changed, tested: c.tested})
		}
	}
	return listOf(there)
}
