package cli

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/compare"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

type compareCmd struct {
	In      string        `required:"" type:"path" placeholder:"F.npz" help:"Features file with cal_features, cal_logits, cal_labels and test_*."`
	Methods []string      `default:"all" placeholder:"NAME,…" help:"What to fit, by the names that calibra methods lists; all are the published ones (${default})."`
	Seeds   seeds         `default:"42-46" placeholder:"LIST" help:"Seeds, such as 42,43,50-52 (${default})."`
	Split   data.Protocol `placeholder:"paper|tables|none" help:"Where validation rows come from, as for fit (paper for methods that stop early, none for the others)."`
	Jobs    int           `help:"Fits side by side (one a core)."`
	Out     string        `required:"" type:"path" placeholder:"DIR" help:"Directory for report.html, tables.md, tables.tex, results.csv, metrics.json and figures."`

	JSON bool `help:"Print the table as JSON."`

	settingFlags
	deviceFlag
}

func (compareCmd) Help() string {
	return `Example:

  calibra compare --in features.npz --out runs/compare
  calibra compare --in features.npz --methods vq,ts,dc,sm --seeds 42-44 --out runs/four

Local metrics are measured in each method's own embedding and in one shared by all.
LCE and NLL of every method are compared with the best one's on the same test rows.`
}

func (c *compareCmd) Run(ctx context.Context, t *terminal, methods *experiments.Catalog) error {
	names, err := c.names(methods)
	if err != nil {
		return err
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	s := compare.Settings{Catalog: methods, Executor: executor, Methods: names, Seeds: c.Seeds, Split: c.Split, Jobs: c.Jobs}
	if s.Set, err = c.values(methods, names); err != nil {
		return err
	}
	src, err := data.Open(c.In)
	if err != nil {
		return err
	}
	if err := src.Require("cal_labels", "test_labels"); err != nil {
		return err
	}
	for _, name := range names {
		m, _ := methods.Find(name)
		for _, key := range m.Needs {
			if err := src.Require("cal_"+key, "test_"+key); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	warnEmptyClasses(t, src)
	undo, err := experiments.PrepareDir(c.Out, compare.Group, compare.Files...)
	if err != nil {
		return err
	}
	defer undo()
	bar := t.progress()
	var done, spent, all float64
	fits := s.Fits()
	for _, f := range fits {
		all += f.Cost
	}
	s.Observe = func(f compare.Fit) {
		done, spent = done+1, spent+f.Cost
		bar.at(spent, all, fmt.Sprintf("%.0f of %d fits%s; last %s seed %d", done, len(fits), bar.left(spent, all), f.Method, f.Seed))
	}
	fits, err = compare.Run(ctx, src, s)
	bar.clear()
	if err != nil {
		return err
	}
	r := &compare.Result{Data: strings.TrimSuffix(filepath.Base(c.In), ".npz"), Split: cmp.Or(c.Split, "as each method needs"), Seeds: s.Seeds, Fits: fits, TestRows: src.Test.Len()}
	if r.Rows, err = compare.Rows(ctx, fits, s.Methods, c.Split != data.PaperTables); err != nil {
		return err
	}
	if len(r.Rows) == 0 {
		return fmt.Errorf("no method could be fitted; %s, seed %d: %w", fits[0].Method, fits[0].Seed, fits[0].Err)
	}
	digest, err := data.Digest(c.In)
	if err != nil {
		return err
	}
	head, err := provenance(report.Fact{Name: "Data", Value: r.Data + ", " + digest})
	if err != nil {
		return err
	}
	if err := r.Write(c.Out, head); err != nil {
		return err
	}
	if c.notice != "" {
		t.note("%s", c.notice)
	}
	if err := c.report(t, r); err != nil {
		return err
	}
	var causes []error
	for _, f := range fits {
		if f.Err != nil {
			causes = append(causes, f.Err)
			t.warn("failed: %s, seed %d: %v", f.Method, f.Seed, f.Err)
		}
	}
	if len(causes) > 0 {
		return failed(fmt.Sprintf("%d of %d fits failed; the tables are without them", len(causes), len(fits)), causes)
	}
	return nil
}

// report prints the table of results, and in one line what was found and where it is.
func (c *compareCmd) report(t *terminal, r *compare.Result) error {
	list := reported(r.Results(), resultDrops)
	list.columns = append(list.columns, column{head: "seconds", drop: 3})
	for i := range list.rows {
		list.rows[i] = append(list.rows[i], decimals(r.Rows[i].Seconds.Mean, 1))
	}
	if c.JSON {
		return t.json(map[string]any{"methods": list.objects(), "seeds": r.Seeds, "test_rows": r.TestRows, "out": c.Out})
	}
	if err := t.tables(list); err != nil {
		return err
	}
	found := ""
	for _, row := range r.Rows {
		if row.Against[metrics.NLL] == nil && !math.IsNaN(row.Shared[metrics.NLL].Mean) {
			found = fmt.Sprintf("%s has the least NLL, %.4f", row.Method, row.Shared[metrics.NLL].Mean)
			break
		}
	}
	worse := 0
	for _, row := range r.Rows {
		if row.Against[metrics.NLL].Significant() {
			worse++
		}
	}
	fitted := 0
	for _, f := range r.Fits {
		if f.Err == nil {
			fitted++
		}
	}
	if err := t.printf("† worse than the best by more than chance (5 %%, corrected for all methods)\n"); err != nil {
		return err
	}
	return t.closing("%s, and %d of %d other methods are worse by more than chance; %d of %d fits; wrote %s",
		found, worse, len(r.Rows)-1, fitted, len(r.Fits), filepath.Join(c.Out, "report.html"))
}

// names are the methods asked for, each once, in the catalog's order.
func (c *compareCmd) names(methods *experiments.Catalog) ([]string, error) {
	wanted := map[string]bool{}
	for _, name := range c.Methods {
		if name != "all" {
			if _, err := methods.Find(name); err != nil {
				return nil, err
			}
			wanted[name] = true
			continue
		}
		for _, m := range methods.List() {
			wanted[m.Name] = wanted[m.Name] || !slices.Contains(experiments.Beyond, m.Name)
		}
	}
	return slices.DeleteFunc(methods.Names(), func(name string) bool { return !wanted[name] }), nil
}
