package serve

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/study"
	"calibra/theory"
)

// run is what a command left in a folder.
type run struct {
	Name    string // the folder below the root; of a cell its file without .json
	Kind    string // of the command
	Says    string // what it found, of those without numbers of one method
	Pages   []string
	Cells   string    // the folder of a study's cells
	Changed time.Time // the newest of its files
	*tested           // nil of those that tested no method
}

// tested is what a fitted method showed on test rows.
type tested struct {
	Method, Data, Digest string
	Seed                 uint64
	Rows                 int
	Settings             string
	Values               map[string]float64
}

// value is a metric, NaN where it is not known.
func (t *tested) value(m metrics.Metric) float64 {
	if t != nil {
		if v, ok := t.Values[m.String()]; ok {
			return v
		}
	}
	return math.NaN()
}

// title is what the run is called in a verdict, on one line.
func (r run) title() string {
	if key := path.Base(r.Name); study.IsCell(key + ".json") {
		return data.Line(fmt.Sprintf("%s seed %d (%s)", r.Method, r.Seed, key[:6]))
	}
	return data.Line(r.Name)
}

const (
	mostFiles = 200_000 // that are looked at
	mostDepth = 8       // of folders below the root
)

// errMany ends a walk that has seen too much.
var errMany = errors.New("too many files")

// runs are all below the root, the newest first, and whether there was more than is looked at.
func (s *Server) runs() (all []run, more bool, err error) {
	found := map[string][]fs.DirEntry{}
	seen := 0
	err = fs.WalkDir(s.root.FS(), ".", func(at string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && at == ".":
			return err
		case err != nil: // of a folder that may not be read
			return nil
		case e.IsDir():
			if at != "." && (strings.HasPrefix(e.Name(), ".") || strings.Count(at, "/") >= mostDepth) {
				return fs.SkipDir
			}
			return nil
		}
		if seen++; seen > mostFiles {
			return errMany
		}
		found[path.Dir(at)] = append(found[path.Dir(at)], e)
		return nil
	})
	if more = errors.Is(err, errMany); more {
		err = nil
	}
	if err != nil {
		return nil, false, data.Inputf("", "the folder of runs cannot be read: %w", err)
	}
	for dir, files := range found {
		all = append(all, s.folder(dir, files)...)
	}
	all = withCells(all)
	for k := range all {
		if all[k].Cells == "" {
			continue
		}
		if st, err := s.state(all[k].Cells); err == nil {
			there, _ := st.there()
			all[k].Says = fmt.Sprintf("%d of %d cells", there, len(st.cells))
		}
	}
	slices.SortFunc(all, func(a, b run) int { return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.Name, b.Name)) })
	return all, more, nil
}

// folder are the runs in a folder: those of the manifest, cells of a study, and pages beside them.
func (s *Server) folder(dir string, files []fs.DirEntry) (all []run) {
	has := func(name string) bool {
		return slices.ContainsFunc(files, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	changed := newest(files)
	owned := map[string]bool{}
	groups := map[string]map[string]string{}
	if has("manifest.json") {
		groups = keep(s, path.Join(dir, "manifest.json"), func(text []byte) map[string]map[string]string {
			var m struct{ Groups map[string]map[string]string }
			_ = json.Unmarshal(text, &m)
			return m.Groups
		})
	}
	for group, names := range groups {
		r := run{Name: dir, Kind: group, Changed: changed}
		for name := range names {
			owned[name] = true
			if path.Ext(name) == ".html" && has(name) {
				r.Pages = append(r.Pages, name)
			}
		}
		slices.Sort(r.Pages)
		s.addResults(&r, has("diagnosis.json"))
		all = append(all, r)
	}
	if slices.ContainsFunc(files, func(e fs.DirEntry) bool { return study.IsCell(e.Name()) || path.Ext(e.Name()) == study.GridSuffix }) {
		all = append(all, run{Name: dir, Kind: study.Group, Cells: dir, Changed: changed})
	}
	for _, e := range files {
		if name := e.Name(); path.Ext(name) == ".html" && !owned[name] && e.Type().IsRegular() {
			all = append(all, run{Name: path.Join(dir, name), Kind: "page", Changed: newest([]fs.DirEntry{e}), Pages: []string{""}})
		}
	}
	return all
}

// addResults adds what the files of a run in a folder hold, its diagnosis if there is one.
func (s *Server) addResults(r *run, diagnosed bool) {
	if r.Kind == experiments.RunGroup {
		r.tested = s.fit(r.Name)
	}
	if diagnosed && slices.Contains(r.Pages, "diagnosis.html") {
		r.Says = keep(s, path.Join(r.Name, "diagnosis.json"), func(text []byte) string {
			var d struct{ Verdict string }
			_ = json.Unmarshal(text, &d)
			return d.Verdict
		})
	}
	if r.Kind == theory.Group {
		r.Says = keep(s, path.Join(r.Name, "results.csv"), bands)
	}
}

// bands counts the bands of theory studies that hold, by their results.csv.
func bands(text []byte) string {
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(lines) == 0 {
		return ""
	}
	at := slices.Index(lines[0], "verdict")
	if at < 0 {
		return ""
	}
	held, all := 0, 0
	for _, line := range lines[1:] {
		switch line[at] {
		case "pass":
			held++
			all++
		case "FAIL":
			all++
		}
	}
	return fmt.Sprintf("%d of %d bands hold", held, all)
}

// withCells makes one of a study's report and of its cells below it.
func withCells(all []run) []run {
	return slices.DeleteFunc(all, func(r run) bool {
		if r.Cells == "" || path.Base(r.Name) != "cells" {
			return false
		}
		at := slices.IndexFunc(all, func(o run) bool {
			return o.Name == path.Dir(r.Name) && o.Cells == "" && o.tested == nil && o.Kind != "page"
		})
		if at < 0 {
			return false
		}
		all[at].Cells = r.Cells
		if r.Changed.After(all[at].Changed) {
			all[at].Changed = r.Changed
		}
		return true
	})
}

func newest(files []fs.DirEntry) (at time.Time) {
	for _, e := range files {
		if info, err := e.Info(); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// fit is what the run of a folder showed, nil where that cannot be read.
func (s *Server) fit(dir string) *tested {
	t := keep(s, path.Join(dir, "config.json"), func(text []byte) *tested {
		var spec experiments.Spec
		var c struct {
			Rows   int    `json:"test_rows"`
			Digest string `json:"test_digest"`
		}
		if json.Unmarshal(text, &spec) != nil || json.Unmarshal(text, &c) != nil {
			return nil
		}
		return &tested{Method: spec.Method, Data: spec.Data, Seed: spec.Seed, Settings: spec.Set, Rows: c.Rows, Digest: c.Digest}
	})
	if t == nil {
		return nil
	}
	with := *t
	with.Values = keep(s, path.Join(dir, "metrics.json"), func(text []byte) map[string]float64 {
		var m struct{ Metrics map[string]*float64 }
		_ = json.Unmarshal(text, &m)
		values := map[string]float64{}
		for key, v := range m.Metrics {
			if v != nil {
				values[key] = *v
			}
		}
		return values
	})
	return &with
}

// kept is what files said that have not changed since.
type kept struct {
	mu    sync.Mutex
	files map[string]keptFile
}

type keptFile struct {
	size int64
	at   time.Time
	says any
}

// keep is the content of a small file, read again when it changed; the zero value of one that cannot be read.
func keep[T any](s *Server, name string, read func(text []byte) T) (says T) {
	info, err := s.root.Stat(name)
	if err != nil {
		return says
	}
	s.kept.mu.Lock()
	old, ok := s.kept.files[name]
	s.kept.mu.Unlock()
	if ok && old.size == info.Size() && old.at.Equal(info.ModTime()) {
		if same, ok := old.says.(T); ok {
			return same
		}
	}
	text, err := data.ReadIn(s.root, name)
	if err != nil {
		return says
	}
	says = read(text)
	s.kept.mu.Lock()
	defer s.kept.mu.Unlock()
	if s.kept.files == nil || len(s.kept.files) > mostFiles {
		s.kept.files = map[string]keptFile{}
	}
	s.kept.files[name] = keptFile{info.Size(), info.ModTime(), says}
	return says
}

// query is the run of a request, as an address has it.
func query(names ...string) string { return url.Values{"run": names}.Encode() }
