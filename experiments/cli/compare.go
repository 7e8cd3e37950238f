package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/compare"
	"calibra/experiments/metrics"
	"calibra/experiments/report"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

type compareCmd struct {
	In      string        `required:"" type:"path" placeholder:"F.npz" help:"Features file with cal_features, cal_logits, cal_labels and test_*."`
	Methods []string      `default:"all" placeholder:"NAME,…" help:"What to fit, by the names that calibra methods lists; all are the published ones (${default})."`
	Seeds   seeds         `default:"42-46" placeholder:"LIST" help:"Seeds, such as 42,43,50-52 (${default})."`
	Split   data.Protocol `placeholder:"paper|tables|none" help:"Where validation rows come from, as for fit (paper for methods that stop early, none for the others)."`
	Jobs    int           `help:"Fits side by side (one a core)."`
	Out     string        `required:"" type:"path" placeholder:"DIR" help:"Directory for report.html, tables.md, tables.tex, results.csv, metrics.json and figures."`

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

func (c *compareCmd) Run(ctx context.Context, methods *experiments.Catalog) error {
	executor, err := c.executor()
	if err != nil {
		return err
	}
	s := compare.Settings{Catalog: methods, Executor: executor, Methods: c.names(methods), Seeds: c.Seeds, Split: c.Split, Jobs: c.Jobs}
	if s.Set, err = c.values(methods, s.Methods); err != nil {
		return err
	}
	src, err := data.Open(c.In)
	if err != nil {
		return err
	}
	warnEmptyClasses(src)
	undo, err := experiments.PrepareDir(c.Out, compare.Group, compare.Files...)
	if err != nil {
		return err
	}
	bar := newFitBar(os.Stderr, s.Fits())
	s.Observe = bar.ended
	fits, err := compare.Run(ctx, src, s)
	bar.clear()
	if err != nil {
		undo()
		return err
	}
	r := &compare.Result{Data: strings.TrimSuffix(filepath.Base(c.In), ".npz"), Split: cmp.Or(c.Split, "as each method needs"), Seeds: s.Seeds, Fits: fits, TestRows: src.Test.Len()}
	if r.Rows, err = compare.Rows(ctx, fits, s.Methods, c.Split != data.PaperTables); err != nil {
		undo()
		return err
	}
	if len(r.Rows) == 0 {
		undo()
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
		undo()
		return err
	}
	printComparison(os.Stdout, r)
	fmt.Printf("\nwrote %s\n", filepath.Join(c.Out, "report.html"))
	failed := 0
	for _, f := range fits {
		if f.Err != nil {
			failed++
			fmt.Fprintf(os.Stderr, "calibra: failed: %s, seed %d: %v\n", f.Method, f.Seed, f.Err)
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d fits failed; the tables are without them", failed, len(fits))
	}
	return nil
}

// names are the methods asked for, each once.
func (c *compareCmd) names(methods *experiments.Catalog) []string {
	var names []string
	for _, name := range c.Methods {
		if name != "all" {
			names = append(names, name)
			continue
		}
		for _, m := range methods.List() {
			if !slices.Contains(experiments.Beyond, m.Name) {
				names = append(names, m.Name)
			}
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	place := func(name string) int {
		return slices.Index(methods.Names(), name)
	}
	slices.SortStableFunc(names, func(a, b string) int { return place(a) - place(b) })
	return names
}

// printComparison prints the table of results, the best of a column in **, the
// second in _.
func printComparison(out io.Writer, r *compare.Result) {
	t := r.Results()
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "method\t")
	for _, h := range t.Values {
		fmt.Fprintf(w, "%s %s\t", h.Text, h.Arrow)
	}
	fmt.Fprintln(w, "seconds\t")
	for i, row := range t.Blocks[0].Rows {
		fmt.Fprintf(w, "%s\t", row.Labels[0])
		for _, cell := range row.Cells {
			around := map[metrics.Mark]string{metrics.Best: "**", metrics.Second: "_"}[cell.Mark]
			fmt.Fprintf(w, "%s%s%s\t", around, cell.Text, around)
		}
		fmt.Fprintf(w, "%.1f\t\n", r.Rows[i].Seconds.Mean)
	}
	w.Flush()
	fmt.Fprintln(out, "† worse than the best by more than chance (test rows resampled for both alike, Holm-corrected, 5 %)")
}

// fitBar shows how far a comparison is: a bar with the time left on a terminal, else
// a line every few seconds.
type fitBar struct {
	out         *os.File
	bar         *progressbar.ProgressBar
	began, next time.Time
	done, of    int
	spent, all  float64
}

func newFitBar(out *os.File, fits []compare.Fit) *fitBar {
	b := &fitBar{out: out, began: time.Now(), next: time.Now(), of: len(fits)}
	for _, f := range fits {
		b.all += f.Cost
	}
	if term.IsTerminal(int(out.Fd())) {
		b.bar = progressbar.NewOptions(1000, progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(40),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false))
		b.bar.Describe(fmt.Sprintf("0 of %d fits", b.of))
	}
	return b
}

func (b *fitBar) ended(f compare.Fit) {
	b.done++
	b.spent += f.Cost
	left := time.Duration(float64(time.Since(b.began)) * (b.all - b.spent) / b.spent).Round(time.Second)
	text := fmt.Sprintf("%d of %d fits, about %v left", b.done, b.of, left)
	if b.bar != nil {
		b.bar.Describe(text)
		_ = b.bar.Set(int(1000 * b.spent / b.all)) // a terminal that cannot be written to shows nothing
		return
	}
	if now := time.Now(); now.After(b.next) || b.done == b.of {
		b.next = now.Add(5 * time.Second)
		fmt.Fprintf(b.out, "%s; last %s seed %d, %.1f s\n", text, f.Method, f.Seed, f.Time.Seconds())
	}
}

func (b *fitBar) clear() {
	if b.bar != nil {
		_ = b.bar.Finish()
	}
}
