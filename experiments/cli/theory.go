package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments"
	"calibra/experiments/report"
	"calibra/theory"
)

type theoryCmd struct {
	Studies []string `arg:"" optional:"" name:"study" help:"Studies to run (all). The word fast takes smaller problems and fewer samples; a study of a module of its own is run as it is written."`
	Seed    *uint64  `placeholder:"N" help:"Seed of problems and samples (0). The bands hold for every seed."`
	Seeds   seeds    `placeholder:"LIST" help:"Run the studies with each of these seeds, such as 0-99, and write to --out how often each row falls outside its band (seeds.md)."`
	JSON    bool     `help:"Print the rows of all studies as one JSON list or, with --seeds, the lines of seeds.md."`
	figureFlags
	Out string `type:"path" placeholder:"DIR" help:"Directory for report.html, tables, figures and results.json; they replace those of an earlier run. With all studies, findings.md too."`
}

// claims are the names of all studies.
func claims(methods *experiments.Catalog) []string {
	return data.Each(methods.Studies(), func(s theory.Study) string { return s.Name })
}

func (c *theoryCmd) Run(ctx context.Context, t *terminal, methods *experiments.Catalog) error {
	studies, settings, err := c.asked(methods)
	if err != nil {
		return err
	}
	figures, err := c.export("theory", c.Out)
	if err != nil {
		return err
	}
	if len(c.Seeds) > 0 {
		if c.Figures != "" {
			return data.Inputf("", "figures are of one seed; leave out --seeds or --figures")
		}
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

// asked are the studies that the flags name, with their settings.
func (c *theoryCmd) asked(methods *experiments.Catalog) (studies []theory.Study, settings theory.Settings, err error) {
	if c.Seed != nil {
		if len(c.Seeds) > 0 {
			return nil, settings, data.Inputf("", "--seed and --seeds are both given; give one or the other")
		}
		settings.Seed = *c.Seed
	}
	studies, err = c.chosen(&settings, methods.Studies())
	return studies, settings, err
}

// run carries the studies out and prints each as it ends, unless as JSON in the end.
func (c *theoryCmd) run(ctx context.Context, t *terminal, studies []theory.Study, settings theory.Settings) (reports []*theory.Report, err error) {
	bar := t.progress()
	for i, study := range studies {
		bar.at(float64(i), float64(len(studies)), fmt.Sprintf("%s, %d of %d studies", study.Name, i+1, len(studies)))
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
	d := report.Theory(reports)
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
	}{report.Held(reports), rows}, "", "  ")
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
	if !slices.ContainsFunc(theory.Studies(), func(s theory.Study) bool { return !slices.Contains(ran, s.Name) }) {
		out.WriteFile("findings.md", func(w io.Writer) error { return theory.Findings(w, rows) })
		d.Files = append(d.Files, "findings.md")
	}
	d.Files = append(d.Files, "tables.tex", "tables.md")
	d.Add(out, figures)
	return cmp.Or(out.Commit(), figures.Write(d.Drawings()))
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

// closing prints what was found and where it is.
func (c *theoryCmd) closing(t *terminal, reports []*theory.Report) error {
	held := report.Held(reports)
	for _, line := range held[1:] {
		t.printf("%s\n", folded(line, width(t.out)))
	}
	found := strings.TrimSuffix(held[0], ".")
	if c.Out != "" {
		return t.closing(found, "tables and figures to "+relative(c.Out))
	}
	return t.closing(found)
}

// or is the value of a flag, or another where it is not given.
func or[T any](flag *T, other T) T {
	if flag == nil {
		return other
	}
	return *flag
}
