package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/method"
	"calibra/experiments/report"
	"calibra/experiments/rowcheck"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/experiments/study"
	"calibra/experiments/verdict"

	"github.com/alecthomas/kong"
)

type compareCmd struct {
	In      string   `type:"input" placeholder:"F.npz" help:"Rows to calibrate and test: a features file, or data that a network is trained on first, as for fit."`
	Methods []string `placeholder:"NAME" help:"Methods to fit; calibra methods --all lists them. The word all stands for the published methods (${compared})."`
	AsSeeds bool     `help:"Take --in a-1.npz,a-2.npz for one data set: features of several trainings of its classifier, one for each seed."`
	Seeds   seeds    `placeholder:"LIST" help:"Seeds, such as 42,43,50-52 (42-46, and 42 with --folds)."`
	Folds   int      `most:"1000" placeholder:"K" help:"Take all labelled rows of the file as one set: predict every row by fits to the other K−1 of K folds, and judge them all. 5 is usual."`

	WholeGroups bool `help:"With --folds: keep rows that share a group (the array groups) in one fold, and count a group as one observation."`

	Split data.Holdout `placeholder:"paper|tables|none" group:"Validation:" help:"Where validation rows come from, as for fit (paper for methods that stop early, none for the others)."`
	Jobs  int          `placeholder:"N" most:"1024" help:"Number of fits to run at the same time (one per core)."`
	Out   string       `required:"" type:"output" placeholder:"DIR" help:"Directory for report.html, tables, results.csv, metrics.json and figures."`

	Runs []string `type:"paths" placeholder:"DIR" help:"Fit nothing; compare the finished fits in these folders. All must have been tested on the same rows."`

	JSON bool `help:"Print the table as JSON."`

	inputFlags
	tableFlags
	encoderFlag
	settingFlags
	deviceFlag
	boardFlag
	figureFlags

	copies *rowcheck.Copies // among the test rows, nil without
	doubts []string         // of the rows
}

func (c *compareCmd) folder() folder {
	return folder{c.Out, study.Compare.Group(), study.Compare.FileNames()}
}

func (c *compareCmd) Run(ctx context.Context, t *terminal, methods *method.Catalog) error {
	figures, err := c.export("compare", c.Out)
	switch {
	case err != nil:
		return err
	case c.In == "" && c.Runs == nil:
		return data.Inputf("", "name the rows by --in, such as calibra compare --in features.npz --out runs/compare, or finished fits by --runs")
	case c.Runs != nil:
		return c.finished(ctx, t, methods, figures)
	}
	if err := c.divisible(methods); err != nil {
		return err
	}
	set, err := c.settings(methods)
	if err != nil {
		return err
	}
	origin, err := c.origin(ctx, t, methods, &set)
	if err != nil {
		return err
	}
	names := set.Methods
	plan, err := c.plan(ctx, origin, set)
	if err != nil {
		return err
	}
	if c.Methods == nil {
		t.note("fitting %s; calibra methods --all lists %d more, and --methods names them", strings.Join(names, ", "), len(methods.List())-len(names))
	}
	size, err := origin.Size(ctx, set.Encoder)
	if err != nil {
		return err
	}
	step := t.divide(ctx, shared(plan.Seconds()), judging(size), placing(size, math.MaxInt), drawing(size))
	if err := t.run(step(0, "fit"), plan, c.Jobs); err != nil {
		return err
	}
	if err := useless(plan); err != nil {
		return err
	}
	findings := study.Compare.Findings(set, plan)
	findings.Doubts, findings.Notes = map[*source.Origin][]string{origin: c.doubts}, &t.said
	if c.Folds == 0 { // else no rows of the file are calibration rows
		findings.Inputs = map[*source.Origin]string{origin: quoted(relative(c.In)) + c.inputFlags.said() + c.tableFlags.said() + c.encoderFlag.said()}
		if err := c.shifted(step(1, "set methods beside the classifier"), t, methods, origin, findings); err != nil {
			return err
		}
		if err := c.where(step(2, "find where the classifier is wrong"), methods, origin, findings); err != nil {
			return err
		}
	}
	page, err := writeFindings(step(3, "write the page"), findings, c.Out, figures, origin)
	if err != nil {
		return err
	}
	t.note("%s", c.notice)
	incomplete := warnFailures(t, plan)
	return cmp.Or(c.report(t, findings, page), incomplete)
}

// shifted adds to findings the verdict on methods with new priors, where the classes of a features file are more or
// less frequent among its test rows.
func (c *compareCmd) shifted(ctx context.Context, t *terminal, methods *method.Catalog, origin *source.Origin, findings *study.Findings) error {
	problem, err := origin.Features(ctx)
	if problem == nil || err != nil || !rowcheck.ClassesDiffer(problem.Source.Cal, problem.Source.Test) {
		return err
	}
	rows, err := unchanged(methods, problem.Source, c.In)
	if err != nil {
		return err
	}
	rows.source, rows.doubts = problem.Source, c.doubts
	v, err := rows.verdict(ctx, t, methods, 0, nil, func(fitted *verdict.Verdict) (*verdict.Verdict, error) {
		if fitted == nil || fitted.Cause != verdict.Shifted {
			return nil, nil
		}
		return fitted, nil
	})
	if v == nil || err != nil {
		return err
	}
	findings.Shifted = map[*source.Origin]*verdict.Verdict{origin: v}
	findings.Shares = map[*source.Origin]*report.Shares{origin: sharesOf(problem.Source)}
	return nil
}

// where adds to findings where the classifier is wrong, as calibra diagnose says it of these test rows, if the verdict
// is to use a method and the rows are of one features file.
func (c *compareCmd) where(ctx context.Context, methods *method.Catalog, origin *source.Origin, findings *study.Findings) error {
	problem, err := origin.Features(ctx)
	if problem == nil || err != nil {
		return err
	}
	verdicts := findings.Verdicts()
	if verdicts == nil || verdicts[0].Say != verdict.Use || verdicts[0].Cause == verdict.Shifted {
		return nil
	}
	d, err := place(ctx, methods, problem.Source, c.In, math.MaxInt)
	findings.Where = map[*source.Origin]*diagnosis.Diagnosis{origin: d}
	return err
}

// finished compares fits that ended before.
func (c *compareCmd) finished(ctx context.Context, t *terminal, methods *method.Catalog, figures report.Export) error {
	others := *c
	others.Runs, others.Out, others.JSON, others.deviceFlag, others.figureFlags = nil, "", false, deviceFlag{}, figureFlags{}
	if !reflect.ValueOf(others).IsZero() {
		return data.Inputf("", "--runs compares fits as they are; it takes only --out, --json, --device and the flags of figures beside; leave out the rest")
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	runs, err := study.ReadFinished(ctx, c.Runs, methods)
	if err != nil {
		return err
	}
	findings, err := study.CompareFinished(ctx, runs, executor)
	if err != nil {
		return err
	}
	page, err := writeFindings(ctx, findings, c.Out, figures)
	if err != nil {
		return err
	}
	return c.report(t, findings, page)
}

// settings are those of the flags.
func (c *compareCmd) settings(methods *method.Catalog) (set study.Settings, err error) {
	number := 5
	switch {
	case c.Folds > 0:
		number = 1
	case c.AsSeeds:
		number = strings.Count(c.In, ",") + 1
	}
	set = study.Settings{Catalog: methods, Seeds: c.Seeds.orFirst(number), Split: c.Split, Folds: c.Folds, Encoder: c.Encoder}
	if c.Folds == 0 {
		set.Split = c.split(c.Split)
	}
	if c.WholeGroups {
		set.Within = run.WholeGroups
	}
	if set.Methods, err = c.names(methods); err != nil {
		return set, err
	}
	if set.Executor, err = c.executor(); err != nil {
		return set, err
	}
	set.Set, err = c.values(methods, set.Methods)
	return set, err
}

// plan are the fits, with those that are there already.
func (c *compareCmd) plan(ctx context.Context, origin *source.Origin, set study.Settings) (*study.Plan, error) {
	cells, skipped, err := study.Compare.Cells(ctx, []*source.Origin{origin}, set)
	if err != nil {
		return nil, err
	}
	for _, skip := range skipped {
		return nil, data.Inputf(c.In, "cannot be divided: %s", skip.Why)
	}
	store, err := study.OpenStore(filepath.Join(c.Out, "cells"))
	if err != nil {
		return nil, err
	}
	plan := study.NewPlan(store, cells)
	plan.Board = c.board()
	return plan, nil
}

// useless is the error of fits of which nothing can be told, nil where some ended.
func useless(plan *study.Plan) error {
	failures := plan.Failures()
	for _, f := range failures {
		if input := (*data.InputError)(nil); errors.As(f, &input) {
			return f.Err // wrong for all seeds and, as a rule, all methods
		}
	}
	if len(failures) == len(plan.Tasks) {
		return fmt.Errorf("no method could be fitted; %w", failures[0])
	}
	return nil
}

// divisible refuses folds that make no sense.
func (c *compareCmd) divisible(methods *method.Catalog) error {
	switch {
	case c.Folds < 0 || c.Folds == 1:
		return data.Inputf("", "--folds is %d; there must be two or more", c.Folds)
	case c.Folds == 0 && c.WholeGroups:
		return data.Inputf("", "--whole-groups is about folds; give --folds 5 too")
	case c.Folds == 0:
		return nil
	case c.AsSeeds:
		return data.Inputf("", "--folds takes one file, and --as-seeds several; leave one of the two out")
	case c.Split == data.PaperTables:
		return data.Inputf("", "--split tables takes validation rows from the test rows, which --folds has not; choose paper or none")
	case brought(methods, c.In) || c.tableFlags != (tableFlags{}) || c.Encoder != "":
		return data.Inputf("", "--folds takes a file of predictions or features with labels; raw rows are split by themselves, so leave out --folds")
	}
	return nil
}

// open opens the rows: parted ones, or one set that folds divide.
func (c *compareCmd) open(ctx context.Context, methods *method.Catalog) (*source.Origin, error) {
	if c.Folds > 0 {
		return source.OpenWhole(ctx, c.In, c.scores())
	}
	return c.tableFlags.origin(methods, c.In, c.scores())
}

// origin is where the rows come from: what --in names, or the files that count as seeds.
func (c *compareCmd) origin(ctx context.Context, t *terminal, methods *method.Catalog, set *study.Settings) (*source.Origin, error) {
	if !c.AsSeeds {
		if _, absent := os.Stat(c.In); absent != nil && strings.Contains(c.In, ",") && !brought(methods, c.In) {
			return nil, data.Inputf(c.In, "does not exist; several files are seeds of one data set by --as-seeds")
		}
		return c.file(ctx, t, methods, set)
	}
	var files []*source.Origin
	paths := strings.Split(c.In, ",")
	for _, path := range slices.Backward(paths) { // what is said of one file is said of the first
		if c.In = path; !brought(methods, path) {
			c.In = kong.ExpandPath(path)
		}
		o, err := c.file(ctx, t, methods, set)
		if err != nil {
			return nil, err
		}
		files = slices.Insert(files, 0, o)
	}
	return asSeeds(ctx, t, files, set.Seeds)
}

// file is the origin of the file that --in names. Rows of a features file must have what each method needs; of the
// methods that nobody named those that need features are left out of rows without.
func (c *compareCmd) file(ctx context.Context, t *terminal, methods *method.Catalog, set *study.Settings) (*source.Origin, error) {
	origin, err := c.open(ctx, methods)
	if err != nil {
		return nil, err
	}
	problem, err := origin.Features(ctx)
	if err != nil && c.Folds == 0 {
		if whole, none := data.OpenWhole(ctx, c.In); none == nil && !whole.Pooled {
			return nil, data.Inputf(c.In, "has one labelled set and no split into calibration and test rows; add --folds 5, by which every row is predicted by fits that did not see it")
		}
	}
	if problem == nil || err != nil {
		return origin, err
	}
	src := problem.Source
	if c.WholeGroups {
		of := slices.Compact(slices.Sorted(slices.Values(src.Cal.Groups.Of)))
		switch {
		case of == nil:
			return nil, data.Inputf(c.In, "has no groups to keep whole; add the array groups, one for each row, or leave out --whole-groups")
		case len(of) < c.Folds:
			return nil, data.Inputf(c.In, "has %d groups of rows, too few for %d folds; choose from 2 to the number of groups", len(of), c.Folds)
		}
	}
	warnUnread(t, c.In, src.Unread)
	fitted, err := found(methods, set.Methods)
	if err != nil {
		return nil, err
	}
	if c.Methods == nil && src.Cal != nil && src.Cal.Features == nil {
		fitted = slices.DeleteFunc(fitted, readsFeatures)
		set.Methods = namesOf(fitted)
	}
	parts := []string{"cal_", "test_"}
	if c.Folds > 0 {
		parts = parts[:1]
	}
	for _, m := range fitted {
		for _, key := range m.Needs {
			for _, part := range parts {
				if err := src.Require(part + key); err != nil {
					return nil, fmt.Errorf("%s: %w", m.Name, err)
				}
			}
		}
		if err := m.Suits(src); err != nil {
			return nil, err
		}
		noteWeighing(t, m, src)
	}
	c.copies, c.doubts = problem.Beside.Copies, problem.Beside.Doubts(slices.ContainsFunc(fitted, readsFeatures))
	if err := c.told(t, src, problem.Beside, fitted...); err != nil {
		return nil, err
	}
	warnRareClasses(t, src)
	return origin, nil
}

// report prints the page's table of results, and in one line what was found and where it is.
func (c *compareCmd) report(t *terminal, f *study.Findings, page *report.Document) error {
	lines, verdicts := f.Lines(), f.Verdicts()
	shown := &page.Terminal[0]
	if c.Runs == nil {
		seconds := data.Each(lines, func(l study.Line) report.Cell { return report.Number(l.Seconds.Mean, 1) })
		shown.Table.Widen(report.Head{Text: "seconds", Drop: 3}, seconds)
	}
	if c.JSON {
		return t.json(c.json(f, study.Objects(shown.Table), lines, verdicts[0]))
	}
	shown.Lines = []string{"† worse than the best of its column by more than chance, at 5 %. Each p is corrected by Holm for all methods compared."}
	if text := f.CrossFitted(); text != "" {
		shown.Lines = append(shown.Lines, text)
	}
	for _, line := range lines {
		if line.Floored.Much() {
			page.Terminal = append(page.Terminal, report.Part{Lines: []string{line.Method + ": " + report.FlooredText(line.Floored, f.TestRows()) + "."}})
		}
		if line.Kept != "" {
			page.Terminal = append(page.Terminal, report.Part{Lines: []string{line.Kept + "."}})
		}
	}
	t.document(page)
	return t.closing(fmt.Sprintf("%d of %d fits; %s", len(f.Cells)-len(f.Failures), len(f.Cells), briefly(verdicts)), filepath.Join(relative(c.Out), "report.html"))
}

// json is what was found, with the methods as objects.
func (c *compareCmd) json(f *study.Findings, objects []map[string]any, lines []study.Line, v *verdict.Verdict) map[string]any {
	for i, line := range lines {
		if line.Floored != nil {
			objects[i]["floored"] = line.Floored
		}
		if line.Kept != "" {
			objects[i]["classifier_kept"] = line.Kept
		}
	}
	result := map[string]any{"methods": objects, "seeds": f.Settings.Seeds, "test_rows": f.TestRows(), "out": data.Line(c.Out), "verdict": v}
	if c.copies != nil {
		result["copies"] = c.copies
	}
	if c.Folds > 0 {
		result["folds"], result["whole_groups"], result["interval"] = c.Folds, c.WholeGroups, f.CrossFitted()
	}
	return result
}

// usual are the methods that compare fits where the user names none: the classifier as it is, the simplest one, and the
// recommended one with those that are taken in its place.
func usual(methods *method.Catalog) []string {
	return slices.Concat([]string{verdict.Classifier, "ts"}, method.Instead, []string{methods.Recommended().Name})
}

// names are the methods asked for, each once, in the catalog's order.
func (c *compareCmd) names(methods *method.Catalog) ([]string, error) {
	asked := c.Methods
	if asked == nil {
		asked = usual(methods)
	}
	all := slices.Contains(asked, "all")
	named, err := found(methods, slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return name == "all" }))
	if err != nil {
		return nil, err
	}
	wanted := namesOf(named)
	return namesOf(slices.DeleteFunc(slices.Clone(methods.List()), func(m method.Method) bool {
		return !(all && m.Group.Published()) && !slices.Contains(wanted, m.Name)
	})), nil
}
