package study

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// File is numbers that a study writes beside its report.
type File struct {
	Name  string
	write func(*Findings, io.Writer) error
}

// files are those of the study: of most, results.csv (a line a cell, the same whenever and
// however often the study was interrupted) and times.csv (seconds, which are not, and the
// program's digest).
func (s *Study) files() []File {
	if s.Files != nil {
		return s.Files
	}
	return gridFiles
}

// gridFiles are those of most studies.
var gridFiles = []File{
	{"results.csv", (*Findings).writeResults},
	{"times.csv", (*Findings).writeTimes},
}

// Group is the disk.Folder group of its report. Studies write over each other, and not over
// those with files of their own.
func (s *Study) Group() string {
	if s.Files != nil {
		return s.Name
	}
	return Group
}

// Group is the disk.Folder group of a study's report.
const Group = "study"

// FileNames are the names of its files, besides the figures.
func (s *Study) FileNames() []string { return append(s.numbers(), report.Files...) }

// numbers are the names of its files of numbers.
func (s *Study) numbers() []string {
	return data.Each(s.files(), func(f File) string { return f.Name })
}

// Write puts the study's report into dir: report.html, tables.md, tables.tex, figures/, unless these go elsewhere, and
// its files of numbers, all or none of them. If ctx is cancelled, the error wraps ctx.Err() and nothing was written.
func (f *Findings) Write(ctx context.Context, dir string, figures report.Export) (*report.Document, error) {
	d, err := f.Document(ctx)
	if cancelled := ctx.Err(); cancelled != nil {
		return nil, fmt.Errorf("the cells are kept, the same command writes their report: %w", cancelled)
	}
	if err != nil {
		return nil, err
	}
	d.Files = append(f.Study.numbers(), "tables.tex", "tables.md")
	if cells, err := filepath.Rel(dir, f.Store.Dir); err == nil && f.Store.Dir != "" {
		d.Files = append(d.Files, filepath.ToSlash(cells)+"/")
	}
	to := disk.NewFolder(dir, f.Study.Group())
	defer to.Discard()
	for _, file := range f.Study.files() {
		to.WriteFile(file.Name, func(w io.Writer) error { return file.write(f, w) })
	}
	d.Add(to, figures)
	return d, cmp.Or(to.Commit(), figures.Write(d.Drawings()))
}

// Document is the study's report. If ctx is cancelled, the error wraps ctx.Err().
func (f *Findings) Document(ctx context.Context) (*report.Document, error) {
	d := &report.Document{Title: cmp.Or(f.Study.Title, "Study "+f.Study.Name), Intro: strings.ToUpper(f.Study.Line[:1]) + f.Study.Line[1:] + ".", Head: f.Head, Facts: f.facts()}
	if slices.ContainsFunc(f.Results, func(r *Result) bool { return r != nil }) {
		statements := f.Study.Statements
		if statements == nil {
			statements = verdictStatements
		}
		d.Verdict = statements(f)
		if f.Study.Name == compareName {
			d.Card = f.card()
		}
		for _, view := range f.Study.Views {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if section := view(f); shown(section) {
				d.Sections = append(d.Sections, section)
			}
		}
	}
	d.Terminal = terminal(d.Sections)
	d.Failures = data.Each(f.Failures, (*Task).Error)
	return d, f.err
}

// terminal is the first table of the section of results or, without one, of the first section.
func terminal(sections []*report.Section) []report.Part {
	at := max(0, slices.IndexFunc(sections, func(s *report.Section) bool { return s.Title == "Results" }))
	if at == len(sections) || sections[at].Tables == nil {
		return []report.Part{{Table: &report.Table{}}}
	}
	return []report.Part{{Table: sections[at].Tables[0]}}
}

// shown reports whether a section has something to show: figures, a table with rows or, without tables, a note.
func shown(s *report.Section) bool {
	if s == nil || len(s.Figures) > 0 {
		return s != nil
	}
	return len(s.Tables) == 0 && s.Note != "" || slices.ContainsFunc(s.Tables, func(t *report.Table) bool { return t.Blocks != nil })
}

// facts are how the numbers were made.
func (f *Findings) facts() []report.Fact {
	if f.Study.Facts != nil {
		return append(f.Study.Facts(f), f.runFacts()...)
	}
	split := map[data.Holdout]string{
		"":                "10 % of the calibration rows for methods that stop early, none for the others",
		data.PaperText:    "10 % of the calibration rows (paper's text)",
		data.PaperTables:  "10 % of the test rows, removed from them (code behind the paper's tables)",
		data.NoValidation: "none",
	}[f.Settings.Split]
	var starts []string
	for _, c := range f.Cells {
		if start := map[string]string{"warm": "the initial codebook (warm)", "zero": "zero, as published"}[c.Spec.Start()]; start != "" && !slices.Contains(starts, start) {
			starts = append(starts, start)
		}
	}
	seeds := data.Each(slices.Sorted(slices.Values(f.Settings.Seeds)), func(s uint64) string { return strconv.FormatUint(s, 10) })
	facts := []report.Fact{
		{Name: "Seeds", Value: strings.Join(seeds, ", ")},
		{Name: "Validation rows", Value: split + "; a source with validation rows of its own keeps them"},
		{Name: "Codebook averages start from", Value: strings.Join(starts, "; ")},
		{Name: "Metrics", Value: f.measuring().String()},
	}
	if f.Study.Judging.HeldOut {
		facts = slices.Insert(facts, 1, report.Fact{Name: "Chosen by", Value: heldOutNote})
	}
	facts = slices.DeleteFunc(facts, func(fact report.Fact) bool { return fact.Value == "" })
	for _, s := range f.subjects() {
		r := s.largest()
		if r == nil {
			continue
		}
		facts = append(facts,
			report.Fact{Name: s.Title(), Value: fmt.Sprintf("%d classes, %d features; %s calibration, %d validation, %d test rows", r.Classes, r.Features, s.calibrationRows(), r.ValidationRows, r.TestRows)},
			report.Fact{Name: "Class shares", Value: priorWords(f.classNames(s, r.Classes), r.Priors)})
	}
	left := data.Each(f.Skipped, func(s Skipped) report.Fact { return report.Fact{Name: "Left out", Value: s.Data + ": " + s.Why} })
	return slices.Concat(facts, left, f.runFacts())
}

// measuring is what the metrics are measured with, as of the first cell.
func (f *Findings) measuring() (s metrics.Settings) {
	if len(f.Cells) > 0 {
		s, _ = f.Cells[0].Spec.Measuring()
	}
	return s
}

// runFacts are the stages that stopped short, and the programs.
func (f *Findings) runFacts() (facts []report.Fact) {
	var versions []string
	accepted := 0
	for i, r := range f.Results {
		if r == nil {
			continue
		}
		if f.Store.Accept && f.Store.stale(f.Cells[i], r) {
			accepted++
		}
		versions = data.Once(versions, r.Program.String())
		for _, stage := range r.Stages {
			if stage.Short != "" {
				facts = append(facts, report.Fact{Name: fmt.Sprintf("%s, %s, stopped short", f.Cells[i], stage.Name), Value: stage.Short})
			}
		}
	}
	facts = append(facts, data.Each(f.Kept(), func(text string) report.Fact { return report.Fact{Name: "Classifier kept", Value: text} })...)
	if accepted > 0 {
		facts = append(facts, report.Fact{Name: "Accepted", Value: fmt.Sprintf("%d of the cells, which other code computed (--accept-cells)", accepted)})
	}
	return append(facts, report.Fact{Name: "Program", Value: strings.Join(versions, "; ")})
}

// results are those of all rows.
func (s *subject) results() []*Result {
	return slices.Concat(data.Each(s.rows, func(r *row) []*Result { return r.results })...)
}

func byCalibrationRows(a, b *Result) int { return cmp.Compare(a.CalibrationRows, b.CalibrationRows) }

// largest is the first of the results fitted to the most calibration rows, nil if
// there is none.
func (s *subject) largest() *Result {
	all := s.results()
	if all == nil {
		return nil
	}
	return slices.MaxFunc(all, byCalibrationRows)
}

// mostClasses is the most whose names tables list.
const mostClasses = 40

// classNames are the subject's classes, or numbers; empty if there are too many.
func (f *Findings) classNames(s *subject, classes int) []string {
	switch known := s.origin.Classes(); {
	case classes > mostClasses:
		return make([]string, classes)
	case len(known) == classes:
		return known
	}
	return data.Numerals(classes)
}

func priorWords(names []string, priors []float64) string {
	var out []string
	for c, p := range priors {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %.3f", names[c], p)))
	}
	return strings.Join(out, ", ")
}

// specColumns are the parts of a Spec that csv files hold.
var specColumns = columns{
	{"data", func(c Cell, _ *Result) string { return c.Spec.Data }},
	{"encoder", func(c Cell, _ *Result) string { return c.Spec.Encoder }},
	{"method", func(c Cell, _ *Result) string { return c.Spec.Method }},
	{"slots", func(c Cell, _ *Result) string { return strconv.Itoa(c.Spec.Slots()) }},
	{"codewords", func(c Cell, _ *Result) string { return strconv.Itoa(c.Spec.Codewords()) }},
	{"ema", func(c Cell, _ *Result) string { return c.Spec.Start() }},
	{"calibration_fraction", func(c Cell, _ *Result) string { return number(fraction(c.Spec)) }},
	{"shift", func(c Cell, _ *Result) string { return string(c.Spec.Shift) }},
	{"members", func(c Cell, _ *Result) string { return cmp.Or(c.Spec.Value(method.MembersKey), "1") }},
	{"split", func(c Cell, _ *Result) string { return string(c.Spec.Split) }},
	{"seed", func(c Cell, _ *Result) string { return strconv.FormatUint(c.Spec.Seed, 10) }},
	{"settings", func(c Cell, _ *Result) string { return c.Spec.Set }}, // among them the kind of codes
}

// number writes all digits of x, nothing for NaN.
func number(x float64) string {
	if x != x {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// column is a column of a csv file, and columns are those of one.
type (
	column struct {
		name  string
		value func(Cell, *Result) string
	}
	columns []column
)

// add adds a column of numbers.
func (c *columns) add(name string, value func(*Result) float64) {
	*c = append(*c, column{name, func(_ Cell, r *Result) string { return number(value(r)) }})
}

func (f *Findings) writeCSV(w io.Writer, more columns) error {
	all := slices.Concat(specColumns, more, columns{{"commit", func(_ Cell, r *Result) string { return r.Program.Commit }}})
	lines := [][]string{data.Each(all, func(c column) string { return c.name })}
	for i, cell := range f.Cells {
		if r := f.Results[i]; r != nil {
			lines = append(lines, data.Each(all, func(c column) string { return c.value(cell, r) }))
		}
	}
	return data.WriteCSV(w, lines)
}

func (f *Findings) writeResults(w io.Writer) error {
	all := f.sweepColumns()
	for m := range metrics.Metrics {
		all.add(m.String(), sharedMetric(m).value)
	}
	for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE} {
		all.add(m.String()+"_own", ownEmbedding.metric(m).value)
		all.add(m.String()+"_own_noise", noiseOf(m, ownEmbedding).value)
	}
	for m := range metrics.Metrics {
		all.add(m.String()+"_noise", noiseOf(m, sharedEmbedding).value)
	}
	for _, q := range f.others() {
		all.add(q.key, q.value)
		all.add(q.key+"_noise", func(r *Result) float64 { return at(r.Noise, q.key) })
	}
	for _, q := range truths {
		all.add(strings.ReplaceAll(strings.ToLower(q.title), " ", "_"), q.value)
	}
	for third, name := range thirds {
		for _, view := range []embedding{sharedEmbedding, ownEmbedding} {
			q, floor := inThird(third, view)
			all.add("lce_"+name+view.suffix, q.value)
			all.add("lce_"+name+view.suffix+"_noise", floor.value)
		}
	}
	for _, c := range usageColumns {
		all.add("codewords_"+c.name, c.value)
	}
	return f.writeCSV(w, all)
}

func (f *Findings) writeTimes(w io.Writer) error {
	var all columns
	all.add("seconds", func(r *Result) float64 { return r.Time })
	all.add("fit_seconds", func(r *Result) float64 { return r.Fit })
	all.add("predict_seconds", func(r *Result) float64 { return r.Predict })
	all = append(all, column{"program", func(_ Cell, r *Result) string { return r.Program.Digest }})
	for _, stage := range []string{"divide", "calibrate"} {
		all.add(stage+"_epochs", stageOf(stage, epochs))
		all.add(stage+"_seconds", stageOf(stage, func(s Stage) float64 { return s.Seconds }))
	}
	return f.writeCSV(w, all)
}

// calibrationRows is how many rows its methods were fitted on: "10000", "500 to 10000".
func (s *subject) calibrationRows() string {
	fewest, most := slices.MinFunc(s.results(), byCalibrationRows).CalibrationRows, s.largest().CalibrationRows
	if fewest == most {
		return strconv.Itoa(most)
	}
	return fmt.Sprintf("%d to %d", fewest, most)
}
