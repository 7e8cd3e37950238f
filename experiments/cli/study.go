package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/report"
	"calibra/experiments/source"
	"calibra/experiments/study"
)

type studyCmd struct {
	Name string   `arg:"" optional:"" help:"Study to run. Without it, all studies are listed."`
	Data []string `type:"rows" placeholder:"DATA" help:"letter, satellite, digits (embedded); cubic, proximity, proximity100, longtail1000, rare, calibrated (synthetic); a features file; a MedMNIST npz; a CIFAR archive; a labelled csv; or a directory of weather data."`
	tableFlags
	encoderFlag
	Shifted string       `type:"path" placeholder:"F.npz" group:"For one study only:" help:"For study ood: a features file whose test rows are the shifted rows for --data F.npz."`
	Shift   source.Shift `placeholder:"region|noise|thin|given|KIND-SEVERITY" group:"For one study only:" help:"For study ood: which rows count as shifted. A region of the table that classifier and calibrator never saw (region), the test rows with noise on their columns (noise), the test rows where calibration rows are sparse (thin), or the shifted rows that come with the data (given). Of images also the test images corrupted as in CIFAR-10-C, such as fog-3: ${corruptions} or all in turn (corrupt), at the severities 1 to 5. Without this flag, the first of given, region, noise and thin that the data have."`
	AsSeeds bool         `help:"Take the features files of --data for one data set: the trainings of its classifier, one for each seed."`
	Seeds   seeds        `placeholder:"LIST" help:"Seeds, such as 42,43,50-52 (42-46)."`
	Methods []string     `aliases:"method" placeholder:"NAME" help:"Only these of the study's methods (all). A sweep needs them; --method is the same flag."`
	Split   data.Holdout `placeholder:"paper|tables" group:"Validation:" help:"Where validation rows come from: 10 % of the test rows as in the published tables (tables), or 10 % of the calibration rows as in the paper's text (paper) (tables)."`
	Jobs    int          `placeholder:"N" most:"1024" help:"Number of cells to compute at the same time (one per core)."`
	Out     string       `type:"output" placeholder:"DIR" help:"Directory for report.html, tables, results.csv and figures."`
	Cells   string       `type:"output" placeholder:"DIR" group:"Parts of a study, on many machines:" help:"Directory of computed cells, which several studies may share (OUT/cells)."`
	Accept  bool         `name:"accept-cells" group:"Parts of a study, on many machines:" help:"Take cells that other code computed as they are; the report counts them. Without it they are computed again."`
	Random  *int         `least:"1" most:"1000000" placeholder:"N" group:"For one study only:" help:"For study sweep: try N combinations of settings drawn at random (all combinations)."`

	JSON bool `help:"Print the list of studies, or the results, as JSON."`

	inputFlags
	gridFlags
	settingFlags
	deviceFlag
	boardFlag
	figureFlags
}

// folder is that of the report, where there is one.
func (c *studyCmd) folder() folder {
	if c.List || c.part() {
		return folder{}
	}
	s, err := study.ByName(c.Name)
	if err != nil {
		s = &study.Study{} // a sweep is made of its settings
	}
	return folder{c.Out, s.Group(), s.FileNames()}
}

func (c *studyCmd) list(t *terminal) error {
	list := &report.Table{Labels: []string{"study"}, Values: []report.Head{{Text: "what it shows", Key: "what", Wrap: true}}}
	for _, s := range slices.Concat(study.Studies, []*study.Study{{Name: study.SweepName, Line: study.SweepLine}}) {
		list.Add("", report.Row{Labels: []string{s.Name}, Cells: report.Texts(s.Line)})
	}
	if c.JSON {
		return t.json(list.Objects())
	}
	return t.tables(list)
}

// asked is a study as the flags describe it: its cells, and what writes and prints their report.
type asked struct {
	plan   *study.Plan
	report func(context.Context, *terminal) error
}

func (c *studyCmd) Run(ctx context.Context, t *terminal, methods *method.Catalog) error {
	if c.Name == "" {
		if c.Data != nil || c.Methods != nil || c.Set != nil || c.Out != "" || c.List {
			return data.Inputf("", "name the study, such as calibra study main --data letter --out runs/main; calibra study lists them")
		}
		return c.list(t)
	}
	if err := c.gridFlags.settle(t); err != nil {
		return err
	}
	ask := c.grid
	if c.Name == study.SweepName {
		ask = c.sweep
	}
	if c.Random != nil && c.Name != study.SweepName {
		return data.Inputf("", "--random is of study sweep alone; leave it out of study %s", c.Name)
	}
	a, err := ask(ctx, t, methods)
	if err != nil {
		return err
	}
	t.note("%s", c.notice)
	if c.List {
		return printTasks(t, a.plan.Tasks)
	}
	c.warnStale(t, a.plan)
	if c.part() {
		return c.runPart(ctx, t, a.plan, c.Jobs, c.JSON)
	}
	return c.whole(ctx, t, a)
}

// whole computes what a study lacks, or only collects it, and reports all.
func (c *studyCmd) whole(ctx context.Context, t *terminal, a *asked) error {
	var err error
	step := t.divide(ctx, shared(a.plan.Seconds()), reporting)
	if c.Collect {
		err = warnMissing(t, a.plan)
	} else {
		err = t.run(step(0, "compute"), a.plan, c.Jobs)
	}
	if err != nil {
		return err
	}
	incomplete := warnFailures(t, a.plan)
	return cmp.Or(a.report(step(1, "write the report"), t), incomplete)
}

// grid is a study of Specs.
func (c *studyCmd) grid(ctx context.Context, t *terminal, methods *method.Catalog) (*asked, error) {
	s, err := study.ByName(c.Name)
	if err == nil {
		err = c.suits()
	}
	if err != nil {
		return nil, err
	}
	origins, inputs, err := c.origins(ctx, t, methods)
	if err != nil {
		return nil, err
	}
	settings, err := c.settings(methods, s, origins)
	if err != nil {
		return nil, err
	}
	return c.asked(ctx, t, s, settings, origins, inputs)
}

// asked is the study of these data.
func (c *studyCmd) asked(ctx context.Context, t *terminal, s *study.Study, settings study.Settings, origins []*source.Origin, inputs map[*source.Origin]string) (*asked, error) {
	if (c.Shift != "" || c.Shifted != "") && !s.Shifted(origins, settings) {
		return nil, data.Inputf("", "study %s judges on the test rows as they are; leave out --shift and --shifted, or run study ood", s.Name)
	}
	figures, err := c.export("study", c.Out)
	if err != nil {
		return nil, err
	}
	cells, skipped, err := s.Cells(ctx, origins, settings)
	if err != nil {
		return nil, err
	}
	for _, skip := range skipped {
		t.warn("skipped", "%s: left out of the grid: %s", skip.Data, skip.Why)
	}
	if len(cells) == 0 {
		return nil, data.Inputf("", "the study %s has no cells for these data, methods and seeds", s.Name)
	}
	store, err := study.OpenStore(c.Cells)
	if err != nil {
		return nil, err
	}
	store.Accept = c.Accept
	plan := study.NewPlan(store, cells)
	plan.Board = c.board()
	return &asked{plan: plan, report: func(ctx context.Context, t *terminal) error {
		f := s.Findings(settings, plan)
		f.Skipped, f.Inputs = skipped, inputs
		page, err := writeFindings(ctx, f, c.Out, figures, origins...)
		if err != nil {
			return err
		}
		return c.report(t, f, page, plan.Computed())
	}}, nil
}

// suits is an error unless the flags are those of a study. It fills in the directory of the cells.
func (c *studyCmd) suits() error {
	switch {
	case len(c.Data) == 0:
		return data.Inputf("", "a study needs --data, such as calibra study %s --data letter --out runs/%[1]s; "+
			"calibra study --help lists what it may name", c.Name)
	case c.Out == "" && c.Cells == "" && c.part():
		return data.Inputf("", "name the directory of the cells by --cells, or the directory of the report by --out")
	case c.Out == "" && !c.List && !c.part():
		return data.Inputf("", "a study needs --out, the directory for its report, such as --out runs/%s", c.Name)
	case c.Cells == "":
		c.Cells = filepath.Join(c.Out, "cells")
	}
	return nil
}

// origins opens the data of the flags. inputs is how the command line names each.
func (c *studyCmd) origins(ctx context.Context, t *terminal, methods *method.Catalog) (origins []*source.Origin, inputs map[*source.Origin]string, err error) {
	inputs = map[*source.Origin]string{}
	fitted := methods.List()
	if c.Methods != nil {
		if fitted, err = found(methods, c.Methods); err != nil {
			return nil, nil, err
		}
	}
	settings := c.tableFlags.settings(c.scores())
	settings.Shifted = c.Shifted
	for _, arg := range c.Data {
		o, err := source.Registry(methods.RawSources()).Open(arg, settings)
		if err != nil {
			return nil, nil, err
		}
		if o.Notice != "" {
			t.warn("raw_rows", "warning: of %s %s", o.Name, o.Notice)
		}
		p, err := o.Features(ctx)
		if err != nil {
			return nil, nil, err
		}
		if p != nil {
			warnUnread(t, arg, p.Source.Unread)
			if err := c.told(t, p.Source, p.Beside, fitted...); err != nil {
				return nil, nil, err
			}
		}
		origins, inputs[o] = append(origins, o), quoted(arg)+c.inputFlags.said()+c.tableFlags.said()+c.encoderFlag.said()
	}
	if !c.AsSeeds {
		c.Seeds = c.Seeds.orFirst(5)
	} else {
		c.Seeds = c.Seeds.orFirst(len(origins))
		o, err := asSeeds(ctx, t, origins, c.Seeds)
		if err != nil {
			return nil, nil, err
		}
		origins, inputs = []*source.Origin{o}, map[*source.Origin]string{o: inputs[origins[0]]}
	}
	return origins, inputs, nil
}

// settings are those of the flags for the study of these data.
func (c *studyCmd) settings(methods *method.Catalog, s *study.Study, origins []*source.Origin) (study.Settings, error) {
	var none study.Settings
	named, err := found(methods, c.Methods)
	if err != nil {
		return none, err
	}
	executor, err := c.executor()
	if err != nil {
		return none, err
	}
	settings := study.Settings{
		Catalog: methods, Executor: executor, Methods: namesOf(named), Seeds: c.Seeds,
		Split: cmp.Or(c.split(c.Split), data.PaperTables), Shift: c.Shift, Encoder: c.Encoder,
	}
	settings.Set, err = c.values(methods, s.MethodNames(origins, settings))
	return settings, err
}

// writeFindings writes the report of findings on these data.
func writeFindings(ctx context.Context, f *study.Findings, dir string, figures report.Export, origins ...*source.Origin) (page *report.Document, err error) {
	named := data.Each(origins, func(o *source.Origin) report.Fact {
		return report.Fact{Name: "Data", Value: o.Name + ", " + o.Digest}
	})
	if f.Head, err = provenance(named...); err != nil {
		return nil, err
	}
	if page, err = f.Write(ctx, dir, figures); err != nil && len(f.Failures) < len(f.Cells) {
		return nil, fmt.Errorf("%w; the cells are kept, the same command goes on with them", err)
	}
	return page, err
}

// report prints the page's table, what was found and, in a line, how many cells are there; or as JSON the table with
// more.
func (c *studyCmd) report(t *terminal, f *study.Findings, page *report.Document, there int) error {
	line, result := fmt.Sprintf("%d of %d cells are computed", there, len(f.Cells)), map[string]any{}
	switch {
	case f.Study.Judging.HeldOut:
		result["test"], result["chosen"] = page.Sections[1].Tables[0].Objects(), f.Choices()
	case f.Study.Statements != nil:
		result["found"] = data.Each(page.Verdict, func(s report.Statement) map[string]any { return map[string]any{"data": s.Title, "lines": s.Lines} })
	default:
		verdicts := f.Verdicts()
		result["verdicts"] = verdicts
		if kept := f.Kept(); kept != nil {
			result["classifier_kept"] = kept
			page.Terminal[0].Lines = data.Each(kept, func(text string) string { return text + "." })
		}
		if text := briefly(verdicts); text != "" {
			line += "; " + text
		}
	}
	if c.JSON {
		maps.Copy(result, map[string]any{"study": f.Study.Name, "results": study.Objects(page.Terminal[0].Table), "cells": len(f.Cells), "computed": there, "out": c.Out})
		return t.json(result)
	}
	t.document(page)
	return t.closing(line, filepath.Join(relative(c.Out), "report.html"))
}
