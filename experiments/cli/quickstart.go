package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/experiments/study"
	"calibra/graph/work"
)

type quickstartCmd struct {
	Seed uint64 `default:"0" help:"Seed of everything (${default})."`
	Out  string `default:"runs/quickstart" type:"output" placeholder:"DIR" help:"Directory for report.html, features.npz, results.csv and the fitted model of pool (${default})."`
	JSON bool   `help:"Print the results as JSON."`
}

// quickMethods are the methods of the quickstart, the settings that are not their defaults, and
// what each is. The w of vq is the best on validation rows of 32, 64 and 128.
var quickMethods = []struct {
	name, set, line string
	seconds         float64 // about what its fit takes, beside the others
}{
	{name: "nc", line: "the network itself", seconds: 0.1},
	{name: "ts", line: "temperature scaling", seconds: 0.2},
	{name: "vq", set: "codebook.slots=128", line: "paper's, w = 128", seconds: 7},
	{name: "pool", line: "correction and forest", seconds: 25},
}

// quickTraining and quickFloors are about what the training of the network takes beside them, and
// the measuring of each.
const quickTraining, quickFloors = 15, 1.5

// quickFiles are what the quickstart writes besides the run.
var quickFiles = []string{"results.csv", "features.npz"}

func (c *quickstartCmd) folder() folder {
	return folder{c.Out, run.Group, append(quickFiles, run.Files...)}
}

func (c *quickstartCmd) Run(ctx context.Context, t *terminal) error {
	t.note("training a network on the 20,000 rows of UCI letter, then calibrating it in three ways")
	q, err := c.compute(ctx, t)
	if err != nil {
		return c.unfinished(ctx, err)
	}
	page, err := q.document()
	if err != nil {
		return err
	}
	list := page.Sections[0].Tables[0]
	out := disk.NewFolder(c.Out, run.Group)
	defer out.Discard()
	q.last().Add(out)
	out.WriteFile("results.csv", list.WriteCSV)
	out.WriteFile("features.npz", data.NPZ(sourceArrays(q.source)...))
	out.WriteFile(run.Page, page.WriteHTML)
	if err := out.Commit(); err != nil {
		return c.unfinished(ctx, err)
	}
	if c.JSON {
		return t.json(map[string]any{"results": list.Objects(), "found": q.verdict.Text()[0], "verdict": q.verdict, "out": c.Out})
	}
	size := fmt.Sprintf("UCI letter: %d calibration rows, %d test rows, %d classes", q.source.Cal.Len(), q.source.Test.Len(), q.source.Classes)
	page.Terminal = append([]report.Part{{Lines: []string{size}}}, page.Terminal...)
	t.document(page)
	return t.closing(q.verdict.Brief(), "features, the run of pool and "+filepath.Join(relative(c.Out), "report.html"))
}

// unfinished is the error of a quickstart that wrote nothing.
func (c *quickstartCmd) unfinished(ctx context.Context, err error) error {
	if ctx.Err() != nil { // err names weights that are kept, in memory
		return fmt.Errorf("the quickstart was not finished and nothing was written: %w", ctx.Err())
	}
	return err
}

// quick is what the quickstart finds.
type quick struct {
	weighed
	source *data.Source
}

// compute trains the network, fits the methods and weighs them.
func (c *quickstartCmd) compute(ctx context.Context, t *terminal) (*quick, error) {
	costs := []float64{quickTraining}
	for _, m := range quickMethods {
		costs = append(costs, m.seconds+quickFloors)
	}
	step := t.divide(ctx, costs...)
	training := step(0, "train the network")
	problem, err := source.EncodeTable(training, data.Letter(), source.MLPs[0], c.Seed)
	if err != nil {
		return nil, err
	}
	q := &quick{source: problem.Source}
	for i, of := range quickMethods {
		m, err := method.Find(of.name)
		if err != nil {
			return nil, err
		}
		spec := run.Spec{Method: of.name, Data: "letter", Split: m.Split(), Seed: c.Seed, Set: of.set}
		here := step(1+i, of.name)
		run, err := spec.Fit(work.Piece(here, "fit", 0, of.seconds, quickFloors), q.source, nil)
		if err != nil {
			return nil, err
		}
		if err := q.add(work.Piece(here, "measure with noise floors", 1, of.seconds, quickFloors), run, run); err != nil {
			return nil, err
		}
	}
	q.judge()
	q.verdict.Commands = study.Commands(quoted(filepath.Join(relative(c.Out), "features.npz")), run.Spec{Method: q.verdict.ToUse(), Seed: c.Seed}, 0)
	return q, nil
}

// last is the run that is written.
func (q *quick) last() *run.Run { return q.runs[len(q.runs)-1].Run }

// table is one line for each run.
func (q *quick) table() *report.Table {
	t := q.weighed.table()
	t.Values = append([]report.Head{{Text: "what it is", Key: "what", Wrap: true}}, append(t.Values, report.Head{Text: "MLCE", Drop: 1})...)
	for i, r := range q.runs {
		row := &t.Blocks[0].Rows[i]
		row.Labels = []string{r.Spec.Method}
		row.Cells = append(report.Texts(quickMethods[i].line), append(row.Cells, report.Number(r.Outcome.Metrics.Values[metrics.MLCE], 4))...)
	}
	return t
}

// document is the page.
func (q *quick) document() (*report.Document, error) {
	const intro = "A small network on UCI Letter Recognition, calibrated in three ways."
	d, err := q.weighed.document("Quickstart", intro, q.last().Spec.Method, q.table())
	if err != nil {
		return nil, err
	}
	d.Files = quickFiles
	d.Head, err = provenance(report.Fact{Name: "Data", Value: "UCI Letter Recognition, embedded"})
	return d, err
}

// sourceArrays are the arrays of a features file.
func sourceArrays(src *data.Source) (arrays []data.Array) {
	for _, part := range []struct {
		name string
		rows *data.Set
	}{{"cal", src.Cal}, {"test", src.Test}} {
		arrays = append(arrays, data.Array{Name: part.name + "_features", Value: part.rows.Features},
			data.Array{Name: part.name + "_logits", Value: part.rows.Logits}, data.Array{Name: part.name + "_labels", Value: part.rows.Labels})
	}
	return arrays
}
