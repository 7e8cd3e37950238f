package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/report"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/theory"
	"calibra/theory/studies"
)

type theoryCmd struct {
	Studies    []string `arg:"" optional:"" name:"study" help:"Studies to run (all). The word fast takes smaller problems and fewer samples; it does not change studies from modules of your own."`
	Seed       *uint64  `placeholder:"N" help:"Seed of problems and samples (0). The bands hold for every seed."`
	Replicates *int     `least:"2" most:"1000000" placeholder:"N" help:"Samples of each law and size (each study has its own number). Fewer widen the bands."`
	Set        []string `sep:"none" placeholder:"KEY=VALUE" help:"For the study rate: a setting of a problem and a map of your own, such as slots=8. --help --all lists the keys. May be repeated."`
	JSON       bool     `help:"Print the rows of all studies as one JSON list."`
	figureFlags
	Out string `type:"path" placeholder:"DIR" help:"Directory for report.html, tables, figures and results.json; they replace the files of an earlier run. With all studies, findings.md too."`
}

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
func studyNames(c *method.Catalog) []string { return data.Each(allStudies(c), studyName) }

func studyName(s theory.Study) string { return s.Name }

func (c *theoryCmd) Run(ctx context.Context, t *terminal, methods *method.Catalog) error {
	chosen, settings, err := c.asked(methods)
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

// asked are the studies that the flags name, with their settings.
func (c *theoryCmd) asked(methods *method.Catalog) (chosen []theory.Study, settings theory.Settings, err error) {
	if c.Seed != nil {
		settings.Seed = *c.Seed
	}
	if c.Replicates != nil {
		settings.Replicates = *c.Replicates
	}
	if chosen, err = c.chosen(&settings, allStudies(methods)); err != nil {
		return nil, settings, err
	}
	if c.Set == nil {
		return chosen, settings, nil
	}
	if len(c.Studies) != 1 || c.Studies[0] != "rate" {
		return nil, settings, data.Inputf("", "a design or a map of your own is for the study rate alone: calibra theory rate --set slots=8 …, not %q", strings.Join(c.Studies, " "))
	}
	values, err := method.ReadValues(c.Set)
	if err != nil {
		return nil, settings, err
	}
	own, err := ownRate(values, methods)
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

// ownRate is the study "rate" of a researcher's own design, which the settings give.
func ownRate(v method.Values, methods *method.Catalog) (own theory.Study, err error) {
	o := method.Options{Values: v}
	var laws []string
	for _, law := range []string{"zipf", "decades", "frequencies"} {
		if _, given := v[law]; given {
			laws = append(laws, law)
		}
	}
	if len(laws) > 1 {
		return own, data.Inputf("", "%s each say how often codewords are used; give one of them", strings.Join(laws, " and "))
	}
	frequencies := o.Floats("frequencies", nil, method.Range{}, "", "relative frequency of each codeword")
	d := theory.Design{
		Classes: o.Int("classes", 3, 1, "", "classes C"), Slots: o.Int("slots", 3, 1, "", "slots w"),
		Codewords: o.Int("codewords", cmp.Or(len(frequencies), 8), 1, "", "codewords K"),
		Atoms:     o.Int("atoms", 6, 1, "", "different predictions in each region"),
		Decades:   o.Float("decades", 2, method.Range{}, "", "codeword frequencies spread evenly, on a log scale, over X decades"),
		Law:       frequencies,
	}
	if zipf := o.FloatOr("zipf", "", method.Range{}, "", "codeword k has a frequency proportional to 1/k^X"); zipf != nil {
		d.Zipf, d.Decades = *zipf, 0 // 1/k⁰ is even, as is a fall over 0 decades
	}
	q := theory.Question{
		Population: theory.Population{
			Design: d, Spread: o.Float("spread", .5, method.Positive, "", "standard deviation of the noise added to the start of the fit"),
		},
		Estimator: theory.Estimator{Map: layers.Bilinear{}}, // until the map is known
		Sizes:     o.IntsOr("sizes", "", "", "sample sizes, in increasing order"),
		Shifts:    o.Int("shifts", 0, 1, "", "cyclic shifts of the frequencies"),
	}
	disturbance := o.Float("disturbance", 0, method.NonNegative, "", "noise on the logits of the truth, which the map cannot represent")
	if disturbance > 0 {
		q.Population.Disturb = func(t *theory.Truth, rng *rand.Rand) { t.Misspecify(disturbance, rng) }
	}
	name := o.Word("map", "vq", "method whose map is studied")
	if err := cmp.Or(o.Finish("study rate has no"), d.Check(), q.Check()); err != nil {
		return own, data.Inputf("", "%w", err)
	}
	if most := max(d.Classes, d.Slots, d.Codewords, d.Atoms, q.Shifts); most > 1e6 {
		return own, data.Inputf("", "%d is too much for any machine; at most 1000000 are possible", most)
	}
	if q.Shifts > d.Codewords {
		return own, data.Inputf("", "shifts is %d; the frequencies of %d codewords have %[2]d cyclic shifts", q.Shifts, d.Codewords)
	}
	if q.Estimator.Map, err = mapOf(name, methods); err != nil {
		return own, err
	}
	claim := fmt.Sprintf("Theorems 1 and 2 for %s with C = %d, w = %d, K = %d", name, d.Classes, d.Slots, d.Codewords)
	return theory.NewStudy("rate", claim, q), nil
}

// mapOf is the map of a method.
func mapOf(name string, methods *method.Catalog) (layers.Map, error) {
	if name == "vq" {
		// The prior is left out: its shift is free, which the study would find and take out.
		return layers.Bilinear{Prior: layers.UniformPrior{}}, nil
	}
	m, err := methods.Find(name)
	if err != nil {
		return nil, err
	}
	model, _, err := m.Build(method.Options{})
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
