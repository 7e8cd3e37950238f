package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments"
	"calibra/experiments/report"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/theory"
)

type theoryCmd struct {
	Studies []string `arg:"" optional:"" name:"study" help:"Studies to run (all). The word fast takes smaller problems and fewer samples; it does not change studies from modules of your own."`
	Seed    *uint64  `placeholder:"N" help:"Seed of problems and samples (0). The bands hold for every seed."`
	Seeds   seeds    `placeholder:"LIST" help:"Run the studies with each of these seeds, such as 0-99, and write to --out how often each row falls outside its band (seeds.md). Seeds that --out has already are not run again."`
	Own     ownRate  `embed:"" group:"For the study rate only, a problem and a map of your own:"`
	JSON    bool     `help:"Print the rows of all studies as one JSON list or, with --seeds, the lines of seeds.md."`
	figureFlags
	Out string `type:"path" placeholder:"DIR" help:"Directory for report.html, tables, figures and results.json; they replace the files of an earlier run. With all studies, findings.md too."`
}

// claims are the names of all studies.
func claims(methods *experiments.Catalog) []string { return data.Each(methods.Studies(), studyName) }

func studyName(s theory.Study) string { return s.Name }

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
	if studies, err = c.chosen(&settings, methods.Studies()); err != nil {
		return nil, settings, err
	}
	if !c.Own.given() {
		return studies, settings, nil
	}
	own, err := c.Own.study(c.Studies, methods)
	return []theory.Study{own}, settings, err
}

// run carries the studies out and prints each as it ends, unless as JSON in the end.
func (c *theoryCmd) run(ctx context.Context, t *terminal, studies []theory.Study, settings theory.Settings) (reports []*theory.Report, err error) {
	ctx, bar := t.steps(ctx, 0)
	defer bar.clear()
	for i, study := range studies {
		r, err := study.Run(work.Span(ctx, fmt.Sprintf("%s, %d of %d studies", study.Name, i+1, len(studies)), float64(i)/float64(len(studies)), float64(i+1)/float64(len(studies))), settings)
		if err != nil {
			return reports, err
		}
		reports = append(reports, r)
		if c.JSON {
			continue
		}
		bar.hide()
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

// ownRate is a rate study of a researcher's own design.
type ownRate struct {
	Map         string    `placeholder:"NAME" help:"Method whose map is studied, such as vq or vq-dc (vq)."`
	Slots       *int      `most:"1000000" placeholder:"W" help:"Slots w (3)."`
	Codewords   *int      `most:"1000000" placeholder:"K" help:"Codewords K (8)."`
	Classes     *int      `most:"1000000" placeholder:"C" help:"Classes C (3)."`
	Atoms       *int      `most:"1000000" placeholder:"R" help:"Number of different predictions in each region (6)."`
	Zipf        *float64  `placeholder:"X" help:"Codeword k has a frequency proportional to 1/k^X."`
	Decades     *float64  `placeholder:"X" help:"Codeword frequencies spread evenly, on a log scale, over X decades (2)."`
	Frequencies []float64 `placeholder:"P" help:"Relative frequency of each codeword."`
	Disturbance float64   `placeholder:"X" help:"Noise on the logits of the true posterior, which the map cannot represent (0)."`
	Spread      *float64  `placeholder:"X" help:"Standard deviation of the noise added to the start of the fit to draw the true parameters (0.5)."`
	Shifts      *int      `most:"1000000" placeholder:"N" help:"Number of cyclic shifts of the frequencies (4)."`
	Replicates  *int      `most:"1000000" placeholder:"N" help:"Samples for each shift and size (40). Fewer make the bands wider."`
	Sizes       []int     `placeholder:"N" help:"Sample sizes, in increasing order (chosen from the errors that the theory predicts)."`
}

// given reports whether anything of the study was asked for.
func (o ownRate) given() bool {
	return !reflect.ValueOf(o).IsZero()
}

// study is the study "rate" of the design that was asked for.
func (o ownRate) study(studies []string, methods *experiments.Catalog) (theory.Study, error) {
	var none theory.Study
	if len(studies) != 1 || studies[0] != "rate" {
		return none, data.Inputf("", "a design or a map of your own is for the study rate alone: calibra theory rate --slots 8 …, not %q", strings.Join(studies, " "))
	}
	name := cmp.Or(o.Map, "vq")
	m, err := mapOf(name, methods)
	if err != nil {
		return none, err
	}
	d, err := o.design()
	if err != nil {
		return none, err
	}
	settings, err := o.settings()
	if err != nil {
		return none, err
	}
	if settings.Shifts > d.Codewords {
		return none, data.Inputf("", "--shifts is %d; the frequencies of %d codewords have %[2]d cyclic shifts", settings.Shifts, d.Codewords)
	}
	return theory.OwnRate(name, m, d, settings), nil
}

// settings are those of the flags. What is 0 there is a default, so that a flag of 0 is refused.
func (o ownRate) settings() (s theory.RateSettings, err error) {
	for _, flag := range []struct{ name, text string }{{"shifts", given(o.Shifts)}, {"replicates", given(o.Replicates)}, {"spread", given(o.Spread)}} {
		if flag.text == "0" {
			return s, data.Inputf("", "--%s is 0; give a positive number, or leave it out", flag.name)
		}
	}
	s = theory.RateSettings{
		Spread: or(o.Spread, 0), Disturbance: o.Disturbance, Sizes: o.Sizes, Shifts: or(o.Shifts, 0), Replicates: or(o.Replicates, 0),
	}
	if err := s.Check(); err != nil {
		return s, data.Inputf("", "%w", err)
	}
	return s, nil
}

// mapOf is the map of a method.
func mapOf(name string, methods *experiments.Catalog) (layers.Map, error) {
	if name == "vq" {
		// The prior is left out: its shift is free, which the study would find and take out.
		return layers.Bilinear{Prior: layers.UniformPrior{}}, nil
	}
	method, err := methods.Find(name)
	if err != nil {
		return nil, err
	}
	model, _, err := method.Build(experiments.Options{})
	if err != nil {
		return nil, err
	}
	if one, ok := model.(layers.Parametric); ok {
		if m := one.Parameterization(); m != nil {
			return m, nil
		}
	}
	return nil, data.Inputf("", "method %s has no map of vectors of codewords, whose errors study rate measures; choose one such as vq or vq-dc", name)
}

// design is the design of the flags. One law of the codewords is asked for at most.
func (o ownRate) design() (d theory.Design, err error) {
	var laws []string
	for _, law := range []struct {
		name  string
		given bool
	}{{"--zipf", o.Zipf != nil}, {"--decades", o.Decades != nil}, {"--frequencies", o.Frequencies != nil}} {
		if law.given {
			laws = append(laws, law.name)
		}
	}
	if len(laws) > 1 {
		return d, data.Inputf("", "%s each say how often codewords are used; give one of them", strings.Join(laws, " and "))
	}
	d = theory.Design{
		Classes: or(o.Classes, 3), Slots: or(o.Slots, 3), Codewords: or(o.Codewords, cmp.Or(len(o.Frequencies), 8)), Atoms: or(o.Atoms, 6),
		Decades: or(o.Decades, 2), Law: o.Frequencies,
	}
	if o.Zipf != nil { // 1/k⁰ is even, as is a fall over 0 decades
		d.Zipf, d.Decades = *o.Zipf, 0
	}
	if err := d.Check(); err != nil {
		return d, data.Inputf("", "%w", err)
	}
	return d, nil
}

// or is the value of a flag, or another where it is not given.
func or[T any](flag *T, other T) T {
	if flag == nil {
		return other
	}
	return *flag
}
