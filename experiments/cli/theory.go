package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/report"
	"calibra/theory"
)

type theoryCmd struct {
	Studies []string `arg:"" optional:"" name:"study" help:"Studies to run, or all (the default). The word fast takes smaller designs and fewer replicates."`
	Seed    *uint64  `placeholder:"N" help:"Seed of designs and samples (0). The bands hold for any."`
	Seeds   seeds    `placeholder:"LIST" help:"Run the studies under each of these seeds, such as 0-99, and write to --out how often each row falls outside its band (seeds.md). Seeds that --out holds of the same studies, design and program are not run again."`
	Own     ownRate  `embed:"" group:"A design and a map of your own (study rate alone):"`
	JSON    bool     `help:"Print the rows of all studies as one JSON list; with --seeds, the lines of seeds.md. The verdict stands beside the rows in results.json of --out."`
	Out     string   `type:"path" placeholder:"DIR" help:"Directory for report.html, the tables as CSV, Markdown and LaTeX, the figures as CSV, SVG, PNG and PDF, verdict and rows as results.json, and, of all studies, findings.md; they replace those of an earlier run."`
}

// claims are the names of all studies.
func claims() (names []string) {
	for _, s := range theory.Studies() {
		names = append(names, s.Name)
	}
	return names
}

func (c *theoryCmd) Run(ctx context.Context, t *terminal, methods *experiments.Catalog) error {
	studies, settings, err := c.asked(methods)
	if err != nil {
		return err
	}
	if len(c.Seeds) > 0 {
		return c.underSeeds(ctx, t, studies, settings)
	}
	reports, err := c.run(ctx, t, studies, settings)
	rows := []theory.Row{}
	var failures []string
	for _, r := range reports {
		rows = append(rows, r.Rows...)
		for _, quantity := range r.Failures() {
			failures = append(failures, r.Study+": "+quantity)
		}
	}
	if c.Out != "" && len(reports) > 0 { // those that are whole, also after Ctrl-C
		if err := c.write(reports, rows); err != nil {
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

// asked are the studies that the flags ask for, with their settings.
func (c *theoryCmd) asked(methods *experiments.Catalog) (studies []theory.Study, settings theory.Settings, err error) {
	if c.Seed != nil {
		if len(c.Seeds) > 0 {
			return nil, settings, usageError{fmt.Errorf("--seed and --seeds are both given; give one or the other")}
		}
		settings.Seed = *c.Seed
	}
	if studies, err = c.chosen(&settings); err != nil {
		return nil, settings, err
	}
	if len(studies) == 1 && studies[0].Name == "propositions" && c.Own.codesAlone() {
		settings.Codes, err = c.Own.codes(theory.PipelineCodewords)
		return studies, settings, err
	}
	if !c.Own.given() {
		return studies, settings, nil
	}
	own, err := c.Own.study(c.Studies, methods)
	return []theory.Study{own}, settings, err
}

// run carries the studies out and prints each as it ends, unless as JSON in the end.
func (c *theoryCmd) run(ctx context.Context, t *terminal, studies []theory.Study, settings theory.Settings) (reports []*theory.Report, err error) {
	bar := t.progress()
	for i, study := range studies {
		bar.at(float64(i), float64(len(studies)), fmt.Sprintf("%s, %d of %d studies%s", study.Name, i+1, len(studies), bar.left(float64(i), float64(len(studies)))))
		r, err := study.Run(ctx, settings)
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
		if c.JSON {
			continue
		}
		bar.clear()
		t.printf("%s\n", strings.Join(broken(fmt.Sprintf("%s (seed %d): %s", r.Study, r.Seed, r.Claim), width(t.out)), "\n"))
		t.tables(theoryTable(r))
		if err := t.printf("\n"); err != nil {
			return reports, err
		}
	}
	return reports, nil
}

// chosen are the studies that are named.
func (c *theoryCmd) chosen(settings *theory.Settings) ([]theory.Study, error) {
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
		return theory.Studies(), nil
	}
	if slices.Contains(c.Studies, "all") {
		return nil, usageError{fmt.Errorf("all studies are asked for, and %s by name: give one or the other", strings.Join(names, ", "))}
	}
	studies, err := theory.Find(names...)
	if err != nil {
		return nil, usageError{err}
	}
	return studies, nil
}

// write puts the tables, the points of the figures and the report into --out.
func (c *theoryCmd) write(reports []*theory.Report, rows []theory.Row) error {
	out := data.NewFolder(c.Out, theory.Group)
	defer out.Discard()
	for _, r := range reports {
		out.Fail(r.Add(out))
	}
	out.WriteFile("results.csv", func(w io.Writer) error { return theory.WriteCSV(w, rows) })
	found, err := json.MarshalIndent(struct {
		Verdict []string     `json:"verdict"`
		Rows    []theory.Row `json:"rows"`
	}{report.Held(reports), rows}, "", "  ")
	if err != nil {
		return err
	}
	out.WriteBytes("results.json", append(found, '\n'))
	if len(reports) == len(theory.Studies()) {
		out.WriteFile("findings.md", func(w io.Writer) error { return theory.Findings(w, rows) })
	}
	d := report.Theory(reports)
	d.Folder = "." // beside the points of each figure
	if d.Head, err = provenance(report.Fact{Name: "Data", Value: "synthetic"}); err != nil {
		return err
	}
	for _, r := range reports {
		d.Files = append(d.Files, r.Study+".csv")
	}
	if len(reports) == len(theory.Studies()) {
		d.Files = append(d.Files, "findings.md")
	}
	d.Files = append(d.Files, "tables.tex", "tables.md")
	d.Add(out)
	return out.Commit()
}

// theoryTable is a study's quantities with their verdicts.
func theoryTable(r *theory.Report) *table {
	t := &table{columns: []column{
		{head: "quantity", left: true, wrap: true}, {head: "value"}, {head: "95 % interval", drop: 2},
		{head: "theory", left: true, wrap: true, drop: 3}, {head: "band", left: true, wrap: true}, {head: "", key: "verdict"},
	}}
	for _, row := range r.Rows {
		verdict := words(row.Verdict())
		if verdict.text == "FAIL" {
			verdict.look = best
		}
		t.add(words(row.Quantity), words(strconv.FormatFloat(row.Value, 'g', 4, 64)), words(row.Interval()), words(row.Theory), words(row.Band.String()), verdict)
	}
	return t
}

// closing says what was found and where it is.
func (c *theoryCmd) closing(t *terminal, reports []*theory.Report) error {
	held := report.Held(reports)
	for _, line := range held[1:] {
		t.printf("%s\n", folded(line, width(t.out)))
	}
	found := strings.TrimSuffix(held[0], ".")
	if c.Out != "" {
		found += "; wrote tables and figures to " + c.Out
	}
	return t.closing("%s", found)
}
