package study

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/experiments/method"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/graph/work"
)

// TestStale: a cell of another program is computed again unless the user accepts it; a cell of the same program, or of
// one of the same code, is never computed twice.
func TestStale(t *testing.T) {
	s := Study{Name: "stale", Line: "a test", Grid: func(*source.Origin) []run.Spec { return each("nc", "ts") }, Vary: []Field{byMethod}}
	one := settings
	one.Seeds = one.Seeds[:1]
	one.Catalog = method.NewCatalog(method.Sources{Path: "calibra", Files: os.DirFS("../..")})
	cells, _, err := s.Cells(t.Context(), []*source.Origin{origin(t, features(t, 200, 4))}, one)
	if err != nil || cells[0].Code == "" {
		t.Fatal(err, cells)
	}
	const wrong = 42.0 // what an earlier program, with an error in it, made of NLL
	st := store(t, t.TempDir())
	earlier := st
	earlier.Program.Digest = "earlier"
	computeAll := func(st Store) (nll []float64, computed int) {
		t.Helper()
		computed = len(cells) - NewPlan(st, cells).Computed()
		results, failures, err := runAll(t.Context(), st, cells, 1)
		if err != nil || len(failures) > 0 {
			t.Fatal(err, failures)
		}
		for _, r := range results {
			nll = append(nll, r.Shared["nll"])
		}
		return nll, computed
	}
	computeAll(earlier)
	for _, c := range cells {
		r, _, err := earlier.find(c)
		if err != nil || r == nil {
			t.Fatal(r, err)
		}
		r.Shared["nll"] = wrong
		if err := writeJSON(earlier.path(c), r); err != nil {
			t.Fatal(err)
		}
	}
	taken := func(what string, st Store) {
		t.Helper()
		if nll, computed := computeAll(st); computed != 0 || slices.ContainsFunc(nll, func(x float64) bool { return x != wrong }) {
			t.Errorf("%s: %d computed, NLL %v", what, computed, nll)
		}
	}
	taken("another build of the same code", st)
	for i := range cells {
		cells[i].Code = "changed"
	}
	accepting := st
	accepting.Accept = true
	taken("accepted", accepting)
	if p := NewPlan(st, cells); len(p.Failures()) > 0 || slices.ContainsFunc(p.Tasks, func(t *Task) bool { return !t.Stale }) {
		t.Errorf("not all of %d stale cells are named, %v", len(cells), p.Failures())
	}
	for _, want := range []int{len(cells), 0} { // the second time they are there
		nll, computed := computeAll(st)
		if computed != want || slices.Contains(nll, wrong) {
			t.Errorf("%d computed, want %d; NLL %v", computed, want, nll)
		}
	}
	other := st
	other.Program.Products = "another library"
	if _, computed := computeAll(other); computed != len(cells) {
		t.Errorf("with products of another library %d cells are computed, not %d", computed, len(cells))
	}
}

// TestOthersKeepTheirFirstCells: a process whose cells are none or all failed stands in the way
// of no other that is at its first cells.
func TestOthersKeepTheirFirstCells(t *testing.T) {
	s := Study{Name: "shared", Line: "a test", Grid: func(*source.Origin) []run.Spec { return each("nc") }, Vary: []Field{byMethod}}
	one := settings
	one.Seeds = one.Seeds[:1]
	cells, _, err := s.Cells(t.Context(), []*source.Origin{origin(t, features(t, 60, 4))}, one)
	if err != nil {
		t.Fatal(err)
	}
	st := store(t, filepath.Join(t.TempDir(), "cells"))
	failing := cells[0]
	failing.Spec.Method, failing.Key = "nosuch", "failing"
	for _, mine := range [][]Cell{{}, {failing}} {
		if _, failures, err := runAll(t.Context(), st, mine, 1); err != nil || len(failures) != len(mine) {
			t.Fatal(failures, err)
		}
		if err := st.write(cells[0], &Result{}); err != nil { // of another process
			t.Errorf("after %d cells, all failed: %v", len(mine), err)
		}
		os.Remove(st.path(cells[0]))
	}
}

// TestEveryHistoryAlike: the tables and p-values of raw rows are the same bytes whether a
// study ran through, was stopped and resumed, took the cells of another study, or was
// asked for in another order.
func TestEveryHistoryAlike(t *testing.T) {
	raw := filepath.Join(t.TempDir(), "raw.csv")
	rng := rand.New(rand.NewPCG(3, 1))
	var text strings.Builder
	for range 260 {
		y := rng.IntN(2)
		fmt.Fprintf(&text, "%.4f,%.4f,%.4f,%c\n", rng.NormFloat64()+float64(y), rng.NormFloat64()-float64(y), rng.NormFloat64(), 'a'+y)
	}
	if err := os.WriteFile(raw, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	s := Study{
		Name: "history", Line: "a test", Vary: []Field{byMethod}, Views: []View{Results},
		Grid: func(*source.Origin) []run.Spec { return each("ts", "ps", "nc") },
	}
	o := []*source.Origin{origin(t, raw)}
	written := func(dir string, methods []string, seeds ...uint64) string {
		t.Helper()
		set := settings
		set.Methods, set.Seeds = methods, seeds
		cells, _, err := s.Cells(t.Context(), o, set)
		if err != nil {
			t.Fatal(err)
		}
		st := store(t, dir)
		results, failures, err := runAll(t.Context(), st, cells, 2)
		if err != nil || len(failures) > 0 {
			t.Fatal(err, failures)
		}
		f := &Findings{Study: &s, Settings: set, Cells: cells, Results: results, Store: st}
		out := t.TempDir()
		if _, err := f.Write(t.Context(), out, report.Export{}); err != nil {
			t.Fatal(err)
		}
		var all strings.Builder
		for _, name := range []string{"results.csv", "tables.md", "tables.tex"} {
			text, err := os.ReadFile(filepath.Join(out, name))
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		return all.String()
	}
	fresh := t.TempDir()
	want := written(fresh, nil, 1, 2, 3)
	if !strings.Contains(want, "(95 % ") {
		t.Fatalf("no intervals in\n%s", want)
	}

	stopped := t.TempDir()
	set := settings
	set.Seeds = []uint64{1, 2, 3}
	cells, _, err := s.Cells(t.Context(), o, set)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	watched := work.WithProgress(ctx, func(doing []string, _, _ float64) {
		if strings.HasPrefix(doing[0], "cell 5 of ") { // with the other two methods of the second seed to come
			stop()
		}
	})
	if _, _, err := runAll(watched, store(t, stopped), cells, 1); err == nil {
		t.Fatal("the study was not stopped")
	}
	shared := t.TempDir()
	written(shared, []string{"ts"}, 2, 1)
	for history, got := range map[string]string{
		"computed before":          written(fresh, nil, 1, 2, 3),
		"stopped and resumed":      written(stopped, nil, 1, 2, 3),
		"with another's cells":     written(shared, nil, 1, 2, 3),
		"its seeds in other order": written(t.TempDir(), nil, 3, 1, 2),
	} {
		if got != want {
			t.Errorf("%s:\n%s\nfresh:\n%s", history, got, want)
		}
	}
}
