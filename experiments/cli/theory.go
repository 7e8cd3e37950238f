package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/graph/work"
	"calibra/theory"
	"calibra/theory/studies"
)

type theoryCmd struct {
	Studies    []string `arg:"" optional:"" name:"study" help:"Studies to run (all). The word fast takes smaller problems and fewer samples; it does not change studies from modules of your own."`
	Seed       uint64   `default:"0" placeholder:"N" help:"Seed of problems and samples (${default}). The bands hold for every seed."`
	Replicates *int     `least:"2" most:"1000000" placeholder:"N" help:"Samples of each law and size (each study has its own number). Fewer widen the bands."`
	JSON       bool     `help:"Print the rows of all studies as one JSON list."`
	figureFlags
	Out string `type:"output" placeholder:"DIR" help:"Directory for report.html, tables, figures and results.json; they replace the files of an earlier run. With all studies, findings.md too."`
}

func (c *theoryCmd) folder() folder { return folder{c.Out, theory.Group, report.Files} }

// Study is a study of the theory of a module from outside, as [theory.NewStudy] makes it.
type Study theory.Study

// Join adds it to the studies of the command theory.
func (s Study) Join(c *method.Catalog) error {
	if err := method.Callable("study", s.Name, append(studyNames(c), "fast", "all")); err != nil {
		return err
	}
	c.Keep(s)
	return nil
}

// allStudies are those of the theory, then those of modules from outside.
func allStudies(c *method.Catalog) []theory.Study {
	all := studies.All()
	for _, part := range c.Others() {
		if s, ok := part.(Study); ok {
			all = append(all, theory.Study(s))
		}
	}
	return all
}

// studyNames are the names of all studies.
func studyNames(c *method.Catalog) []string {
	return data.Each(allStudies(c), func(s theory.Study) string { return s.Name })
}

func (c *theoryCmd) Run(ctx context.Context, t *terminal, methods *method.Catalog) error {
	settings := theory.Settings{Seed: c.Seed, Replicates: or(c.Replicates, 0)}
	chosen, err := c.chosen(&settings, allStudies(methods))
	if err != nil {
		return err
	}
	figures, err := c.export("theory", c.Out)
	if err != nil {
		return err
	}
	reports, err := c.run(ctx, t, chosen, settings)
	rows := []theory.Row{}
	var failures []string
	for _, r := range reports {
		rows = append(rows, r.Rows...)
		for _, quantity := range r.Failures() {
			failures = append(failures, r.Study+": "+quantity)
		}
	}
	if len(reports) > 0 { // those that are whole, also after Ctrl-C
		if err := c.write(reports, rows, figures); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	if c.JSON {
		if err := t.json(rows); err != nil {
			return err
		}
	} else if err := c.closing(t, reports); err != nil {
		return err
	}
	if failures != nil {
		return fmt.Errorf("outside the band: %s", strings.Join(failures, "; "))
	}
	return nil
}

// usualStudy is about how many seconds a study takes of which nothing is known.
const usualStudy = 4

// run carries the studies out and prints each as it ends, unless as JSON in the end.
func (c *theoryCmd) run(ctx context.Context, t *terminal, studies []theory.Study, settings theory.Settings) (reports []*theory.Report, err error) {
	step := t.divide(ctx, data.Each(studies, func(s theory.Study) float64 { return shared(cmp.Or(s.Seconds, usualStudy)) })...)
	for i, study := range studies {
		alone := work.WithProgress(step(i, study.Name), func([]string, float64, float64) {}) // how many parts a study has is not known
		r, err := study.Run(alone, settings)
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
		if c.JSON {
			continue
		}
		t.parts(report.Part{Lines: []string{fmt.Sprintf("%s (seed %d): %s", r.Study, r.Seed, r.Claim)}})
		t.tables(claims(r))
		if err := t.printf("\n"); err != nil {
			return reports, err
		}
	}
	return reports, nil
}

// chosen are the studies that are named, of all.
func (c *theoryCmd) chosen(settings *theory.Settings, all []theory.Study) ([]theory.Study, error) {
	var names []string
	for _, name := range c.Studies {
		switch name {
		case "fast":
			settings.Effort = theory.Quick
		case "all":
		default:
			names = append(names, name)
		}
	}
	if names == nil {
		return all, nil
	}
	if slices.Contains(c.Studies, "all") {
		return nil, data.Inputf("", "all studies are asked for, and %s by name: give one or the other", strings.Join(names, ", "))
	}
	studies, err := theory.Among(all, names...)
	if err != nil {
		return nil, data.Inputf("", "%w", err)
	}
	return studies, nil
}

// write puts the tables and the report into --out, and the figures there or into --figures.
func (c *theoryCmd) write(reports []*theory.Report, rows []theory.Row, figures report.Export) error {
	d := theoryPage(reports)
	if c.Out == "" {
		return figures.Write(d.Drawings())
	}
	out := disk.NewFolder(c.Out, theory.Group)
	defer out.Discard()
	for _, r := range reports {
		out.Fail(r.Add(out))
	}
	out.WriteFile("results.csv", func(w io.Writer) error { return theory.WriteCSV(w, rows) })
	found, err := json.MarshalIndent(struct {
		Verdict []string     `json:"verdict"`
		Rows    []theory.Row `json:"rows"`
	}{studies.Held(reports), rows}, "", "  ")
	if err != nil {
		return err
	}
	out.WriteBytes("results.json", append(found, '\n'))
	d.Folder = "." // beside the tables
	if d.Head, err = provenance(report.Fact{Name: "Data", Value: "synthetic"}); err != nil {
		return err
	}
	d.Files = data.Each(reports, func(r *theory.Report) string { return r.Study + ".csv" })
	ran := data.Each(reports, func(r *theory.Report) string { return r.Study })
	if !slices.ContainsFunc(studies.All(), func(s theory.Study) bool { return !slices.Contains(ran, s.Name) }) {
		out.WriteFile("findings.md", func(w io.Writer) error { return studies.Findings(w, rows) })
		d.Files = append(d.Files, "findings.md")
	}
	d.Files = append(d.Files, "tables.tex", "tables.md")
	d.Add(out, figures)
	return cmp.Or(out.Commit(), figures.Write(d.Drawings()))
}

// closing prints what was found and where it is.
func (c *theoryCmd) closing(t *terminal, reports []*theory.Report) error {
	held := studies.Held(reports)
	for _, line := range held[1:] {
		t.printf("%s\n", report.Folded(line, width(t.out)))
	}
	found := strings.TrimSuffix(held[0], ".")
	if c.Out != "" {
		return t.closing(found, "tables and figures to "+relative(c.Out))
	}
	return t.closing(found)
}

// theoryPage is the report of theory studies: their tables of quantities, and their figures
// with the 95 % intervals of what was measured.
func theoryPage(reports []*theory.Report) *report.Document {
	d := &report.Document{Title: "Convergence studies", Intro: "The paper's convergence claims, checked numerically. A quantity with a band passes if its value lies in the band."}
	var rows []theory.Row
	for _, r := range reports {
		section := &report.Section{Title: r.Study, Note: r.Claim}
		section.Tables, rows = []*report.Table{claims(r)}, append(rows, r.Rows...)
		for _, f := range r.Figures {
			section.Figures = append(section.Figures, &report.Drawing{Name: r.Study + "-" + f.Name, Caption: f.Title + ".", Figure: Curves(f)})
		}
		for _, quantity := range r.Failures() {
			d.Failures = append(d.Failures, fmt.Sprintf("%s: %s is outside its band", r.Study, quantity))
		}
		d.Sections = append(d.Sections, section)
	}
	judged, passed := theory.Judged(rows)
	d.Intro += fmt.Sprintf(" %d of %d do.", passed, judged)
	d.Verdict = []report.Statement{{Lines: studies.Held(reports)}}
	return d
}

// claims is a study's quantities with their verdicts.
func claims(r *theory.Report) *report.Table {
	t := &report.Table{Caption: fmt.Sprintf("Seed %d.", r.Seed), Labels: []string{"Quantity"}, Values: []report.Head{
		{Text: "value"}, {Text: "95 % interval", Drop: 2}, {Text: "theory", Wrap: true, Drop: 3}, {Text: "band", Wrap: true},
		{Text: "would notice", Wrap: true, Drop: 1}, {Text: "verdict"},
	}}
	for _, row := range r.Rows {
		said := report.Cell{Text: row.Verdict()}
		if said.Text == "FAIL" {
			said.Mark = metrics.Best // in bold
		}
		value := strconv.FormatFloat(row.Value, 'g', 4, 64)
		cells := report.Texts(value, row.Interval(), row.Theory, row.Band.String(), row.Power())
		t.Add("", report.Row{Labels: []string{row.Quantity}, Cells: append(cells, said)})
	}
	return t
}

// Curves draws a figure of a theory study: what was measured in the order of colours, what the theory predicts
// dashed, each prediction with dashes and marks of its own.
func Curves(f theory.Figure) *report.Figure {
	panel := report.LinePanel{Title: f.Title, X: f.XLabel, Y: f.YLabel, Log: f.LogX, LogY: f.LogY}
	measured, predicted := 0, 0
	for _, c := range f.Curves {
		// The font of figures has no ∝.
		s := report.Series{Name: strings.ReplaceAll(c.Label, "∝", "~"), X: c.X, Mean: c.Y, Low: c.Low, High: c.High}
		switch c.Style {
		case theory.Prediction:
			s.Kind = report.Prediction
			if c.Label != "" { // one without a label goes on with the one before
				predicted++
			}
			s.Style = max(0, predicted-1)
		case theory.Marks:
			s.Kind = report.Marks
			fallthrough
		default:
			s.Ours = measured == 0
			s.Style = max(0, measured-1)
			measured++
		}
		panel.Series = append(panel.Series, s)
	}
	if !f.LogX {
		panel.Places = integerPlaces(panel.Series)
	}
	return report.Lines([]report.LinePanel{panel})
}

// integerPlaces names the series' X where all of them are integers, such as the numbers of
// problems; nil where they are not, or are too many to be named.
func integerPlaces(series []report.Series) map[float64]string {
	const most = 10
	places := map[float64]string{}
	for _, s := range series {
		for _, x := range s.X {
			if x != math.Round(x) || len(places) > most {
				return nil
			}
			places[x] = fmt.Sprintf("%.0f", x)
		}
	}
	return places
}
