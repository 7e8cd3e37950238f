package study

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// Finished is a fit that has ended, as its folder holds it.
type Finished struct {
	Dir  string
	Name string // in tables and figures
	Spec run.Spec
	run.Configuration

	predictions *data.Predictions
	shared, own *mat.Dense // the test rows in both embeddings, nil where there are none
	epochs      string     // of its stages, in words
	kept        string     // [run.Run.Kept]
	model       int64      // bytes of its file
}

// mostFinished are compared at once: as many as figures have colours to tell them apart.
const mostFinished = 12

// ReadFinished reads finished fits, which must have tested the same rows.
func ReadFinished(ctx context.Context, dirs []string, catalog *method.Catalog) ([]*Finished, error) {
	if len(dirs) < 2 || len(dirs) > mostFinished {
		return nil, data.Inputf("", "--runs names %d; name from 2 to %d finished fits", len(dirs), mostFinished)
	}
	var all []*Finished
	for _, dir := range dirs {
		f, err := readFinished(ctx, filepath.Clean(dir))
		if err != nil {
			return nil, err
		}
		f.Spec.Catalog = catalog
		for _, other := range all {
			switch {
			case f.Dir == other.Dir:
				return nil, data.Inputf("", "%s is named twice; name each fit once", f.Dir)
			case f.TestDigest != other.TestDigest:
				return nil, data.Inputf("", "%s tested other rows than %s; compare fits of one file and, where the split takes test rows, of one seed", f.Dir, other.Dir)
			}
		}
		all = append(all, f)
	}
	for _, f := range all {
		f.Name = filepath.Base(f.Dir)
		if slices.ContainsFunc(all, func(o *Finished) bool { return o != f && filepath.Base(o.Dir) == f.Name }) {
			f.Name = f.Dir
		}
	}
	return all, nil
}

func readFinished(ctx context.Context, dir string) (f *Finished, err error) {
	f = &Finished{Dir: dir}
	if f.Spec, err = run.ReadSpec(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, data.Inputf(dir, "holds no finished fit; name a folder that calibra fit --out wrote")
	} else if err != nil {
		return nil, err
	}
	f.Spec.Judging = Compare.Judging
	if err = readJSON(filepath.Join(dir, "config.json"), &f.Configuration); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "predictions.npz")
	if f.predictions, err = data.ReadPredictionsContext(ctx, path, data.Probabilities); errors.Is(err, fs.ErrNotExist) || err == nil && f.predictions.Labels == nil {
		return nil, data.Inputf(dir, "has no labelled test rows to be judged on; fit a file that has test_labels")
	} else if err != nil {
		return nil, err
	}
	for key, into := range map[string]**mat.Dense{"embedding": &f.shared, "embedding_own": &f.own} {
		if has, err := data.HasArray(path, key); err != nil || !has {
			continue
		}
		x, err := data.ReadFeatures(path, key)
		if err != nil {
			return nil, err
		}
		*into = data.Dense(x)
	}
	var told struct {
		Kept string `json:"classifier_kept"`
	}
	if err = readJSON(filepath.Join(dir, "metrics.json"), &told); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.kept = told.Kept
	if info, err := os.Stat(filepath.Join(dir, "model.safetensors")); err == nil {
		f.model = info.Size()
	}
	f.epochs, err = epochsOf(filepath.Join(dir, "curves.csv"))
	return f, err
}

// epochsOf is how many epochs or iterations the stages in a curves.csv took, "divide 12, calibrate 30"; "–" where there
// is none.
func epochsOf(path string) (string, error) {
	text, err := data.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "–", nil
	} else if err != nil {
		return "", err
	}
	lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return "", data.Inputf(path, "is no csv file: %w", err)
	}
	var stages []string
	for i, line := range lines[min(1, len(lines)):] {
		if next := i + 2; next == len(lines) || lines[next][0] != line[0] { // the last of its stage
			stages = append(stages, line[0]+" "+line[1])
		}
	}
	return strings.Join(stages, ", "), nil
}

// CompareFinished judges finished fits as compare judges its own.
func CompareFinished(ctx context.Context, all []*Finished, e run.Executor) (*Findings, error) {
	first := all[0]
	origin := &source.Origin{Name: first.Spec.Data, Dataset: first.Spec.Data, Digest: first.TestDigest}
	names := map[run.Spec]string{}
	s := Compare
	s.Line = "finished fits side by side, and which of them differ by more than chance"
	s.Vary = []Field{{byMethod.Head, func(spec run.Spec) string { return names[spec] }}}
	s.Views = append([]View{comparedFits}, append([]View{forests, reliabilityTogether, differingSettings(all), costs(all)}, Compare.Views[3:]...)...)
	s.Facts = func(*Findings) []report.Fact {
		return []report.Fact{{Name: origin.Name, Value: fmt.Sprintf("%d classes, %d test rows, %s", first.Classes, first.TestRows, first.TestDigest)}}
	}
	out := &Findings{Study: &s, Results: make([]*Result, len(all))}
	for _, f := range all {
		f.Spec.Executor, f.Spec.Data = e, f.Dir // two fits may be alike in all else
		names[f.Spec] = f.Name
		out.Cells = append(out.Cells, Cell{Spec: f.Spec, Origin: origin})
		out.Settings.Seeds = data.Once(out.Settings.Seeds, f.Spec.Seed)
	}
	run.CountTogether(data.Each(all, func(f *Finished) *data.Predictions { return f.predictions }), first.shared)
	for i, f := range all {
		ctx := work.Span(ctx, "measure "+f.Dir, float64(i)/float64(len(all)), float64(i+1)/float64(len(all)))
		run, err := f.Spec.JudgePredictions(ctx, f.predictions, f.shared, f.own)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Dir, err)
		}
		r, err := newResult(ctx, run)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Dir, err)
		}
		r.Spec.Seed = 0 // fits of any seeds are pairs, as they tested the same rows
		r.Features, r.CalibrationRows, r.ValidationRows, r.TestDigest, r.Program = f.Features, f.CalibrationRows, f.ValidationRows, f.TestDigest, f.Program
		if f.kept != "" {
			r.Kept = f.Name + ": " + f.kept
		}
		out.Results[i] = r
	}
	return out, nil
}

// comparedFits is Compared of fits that have no others of their kind.
func comparedFits(f *Findings) *report.Section {
	section := Compared(f)
	if section.Note = ""; len(f.embeddings()) > 1 {
		section.Note = "Local metrics are measured in each method's own embedding and in the one shared by all. A method without an embedding of its own has the same number in both."
	}
	section.Tables[0].Caption = "The best fit above; " + f.note()
	return section
}

// reliabilityTogether draws the reliability of all rows, of the best last.
func reliabilityTogether(f *Findings) *report.Section {
	s := f.subjects()[0]
	rows := s.rows
	if best := s.best(sharedMetric(metrics.NLL)); best != nil {
		rows = append(slices.DeleteFunc(slices.Clone(rows), func(r *row) bool { return r == best }), best)
	}
	shown := data.Each(rows, func(r *row) report.Shown {
		return report.Shown{Name: r.name(), Portrait: r.results[0].Portrait}
	})
	section := &report.Section{Title: "Reliability"}
	for _, p := range report.Portraits(shown, s.results()[0].names()) {
		section.Figures, section.Tables = append(section.Figures, p.Figures...), append(section.Tables, p.Tables...)
	}
	return section
}

// ofSpec are the settings of a fit that its method does not have.
var ofSpec = []string{"method", "split", "seed", "calibration rows", "validation rows", "commit"}

// settings are all of a fit, by their keys.
func (f *Finished) settings() map[string]any {
	all := map[string]any{
		"method": f.Spec.Method, "split": f.Spec.Split, "seed": f.Spec.Seed, "calibration rows": f.CalibrationRows,
		"validation rows": f.ValidationRows, "commit": cmp.Or(f.Program.Commit, "unknown"),
	}
	maps.Copy(all, f.Settings)
	return all
}

// differingSettings is the table of what fits that have a setting have in different values.
func differingSettings(all []*Finished) View {
	return func(*Findings) *report.Section {
		names := data.Each(all, func(f *Finished) string { return f.Name })
		t := &report.Table{Caption: "Settings that differ; – means that a method has no such setting.", Labels: []string{"Setting"}, Values: report.Heads(names...)}
		settings, others := data.Each(all, (*Finished).settings), map[string]any{}
		for _, f := range all {
			maps.Copy(others, f.Settings)
		}
		for _, key := range slices.Concat(ofSpec, slices.Sorted(maps.Keys(others))) {
			cells, different := []any{}, map[string]bool{}
			for _, of := range settings {
				value, there := of[key]
				if !there {
					value = without
				} else {
					different[fmt.Sprint(value)] = true
				}
				cells = append(cells, value)
			}
			if len(different) > 1 {
				t.Add("", report.Row{Labels: []string{key}, Cells: report.Texts(cells...)})
			}
		}
		return &report.Section{Title: "Settings", Tables: []*report.Table{t}}
	}
}

// costs is the table of what the fits took.
func costs(all []*Finished) View {
	return func(*Findings) *report.Section {
		t := &report.Table{Caption: "Seconds are the expected time of the method for so many rows, on one core. Epochs and iterations count what its stages ran. Model is the size of its file.",
			Labels: []string{"Method"}, Values: report.Heads("seconds", "model, kB", "epochs")}
		for _, f := range all {
			seconds := "–"
			if m, err := f.Spec.Catalog.Find(f.Spec.Method); err == nil {
				seconds = fmt.Sprintf("%.1f", m.Cost.Of(float64(f.CalibrationRows), f.Features, f.Classes))
			}
			t.Add("", report.Row{Labels: []string{f.Name}, Cells: report.Texts(seconds, fmt.Sprintf("%.0f", float64(f.model)/1e3), f.epochs)})
		}
		return &report.Section{Title: "Cost", Tables: []*report.Table{t}}
	}
}
