package compare

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// Result is a finished comparison.
type Result struct {
	Data     string // what it was made on
	Split    data.Protocol
	Seeds    []uint64
	Fits     []Fit
	Rows     []Row
	TestRows int
}

// columns of the table of results: local metrics in each method's own embedding and
// in the shared one, then the global ones, as in the paper.
var columns = []struct {
	metric metrics.Metric
	title  string
	own    bool
}{
	{metrics.LCE, "LCE own", true}, {metrics.MLCE, "MLCE own", true},
	{metrics.LCE, "LCE shared", false}, {metrics.MLCE, "MLCE shared", false},
	{metrics.ECCE, "ECCE", false}, {metrics.ECE, "ECE", false}, {metrics.Accuracy, "ACC", false}, {metrics.NLL, "NLL", false},
}

// Results is the table of means and standard deviations over the seeds, the best of
// a column and the second marked. A dagger is beside LCE and NLL of a method that is
// significantly worse than the best.
func (r *Result) Results() *report.Table {
	t := &report.Table{Labels: []string{"Method"}, Caption: "Mean ± standard deviation over the seeds. Best in bold, second underlined. † worse than the best by more than chance (test rows resampled for both alike, Holm-corrected, 5 %)."}
	block := report.Block{Name: r.Data}
	for _, row := range r.Rows {
		block.Rows = append(block.Rows, report.Row{Labels: []string{row.Method}, Cells: make([]report.Cell, len(columns)), Ours: row.Method == "vq"})
	}
	for j, c := range columns {
		arrow := "↓"
		if c.metric.HigherIsBetter() {
			arrow = "↑"
		}
		t.Values = append(t.Values, report.Head{Text: c.title, Arrow: arrow})
		column := make([]metrics.Spread, len(r.Rows))
		for i, row := range r.Rows {
			column[i] = row.Shared[c.metric]
			if c.own {
				column[i] = row.Own[c.metric]
			}
		}
		for i, mark := range metrics.Marks(c.metric, column) {
			text := column[i].Format(c.metric)
			if !c.own && r.Rows[i].Against[c.metric].Significant() {
				text += "†"
			}
			block.Rows[i].Cells[j] = report.Cell{Text: text, Mark: mark}
		}
	}
	t.Blocks = []report.Block{block}
	return t
}

// intervals is the table of 95 % intervals, local metrics in the shared embedding.
func (r *Result) intervals() *report.Table {
	t := &report.Table{Labels: []string{"Method"}, Caption: "95 % bootstrap intervals over the test rows, the mean of the seeds' intervals; local metrics in the shared embedding."}
	block := report.Block{Name: r.Data}
	shown := []metrics.Metric{metrics.LCE, metrics.MLCE, metrics.ECCE, metrics.ECE, metrics.Accuracy, metrics.NLL, metrics.Brier}
	for _, m := range shown {
		t.Values = append(t.Values, report.Head{Text: m.Title()})
	}
	for _, row := range r.Rows {
		cells := make([]report.Cell, len(shown))
		for j, m := range shown {
			cells[j].Text = "–"
			if i := row.Intervals[m]; !math.IsNaN(i.Low) {
				cells[j].Text = fmt.Sprintf("%.4f – %.4f", i.Low, i.High)
			}
		}
		block.Rows = append(block.Rows, report.Row{Labels: []string{row.Method}, Cells: cells})
	}
	t.Blocks = []report.Block{block}
	return t
}

// differences is the table of the paired comparisons.
func (r *Result) differences() *report.Table {
	t := &report.Table{Labels: []string{"Method"}, Caption: "Difference to the best method on the same test rows, its 95 % interval, and the p-value of no difference, Holm-corrected."}
	block := report.Block{Name: r.Data}
	for _, m := range tested {
		t.Values = append(t.Values, report.Head{Text: m.Title() + " difference"}, report.Head{Text: "interval"}, report.Head{Text: "p"})
	}
	for _, row := range r.Rows {
		var cells []report.Cell
		for _, m := range tested {
			c := row.Against[m]
			if c == nil {
				cells = append(cells, report.Cell{Text: "–"}, report.Cell{Text: "–"}, report.Cell{Text: "–"})
				continue
			}
			cells = append(cells, report.Cell{Text: fmt.Sprintf("%+.5f", c.Difference)},
				report.Cell{Text: fmt.Sprintf("%+.5f – %+.5f", c.Interval.Low, c.Interval.High)}, report.Cell{Text: fmt.Sprintf("%.4f", c.Corrected)})
		}
		block.Rows = append(block.Rows, report.Row{Labels: []string{row.Method}, Cells: cells})
	}
	t.Blocks = []report.Block{block}
	return t
}

// Document is the whole report.
func (r *Result) Document() (*report.Document, error) {
	figures, err := r.figures()
	if err != nil {
		return nil, err
	}
	var seeds []string
	for _, seed := range r.Seeds {
		seeds = append(seeds, strconv.FormatUint(seed, 10))
	}
	d := &report.Document{
		Title: "Methods compared",
		Intro: fmt.Sprintf("%d methods on %s, %d test rows, seeds %s.", len(r.Rows), r.Data, r.TestRows, strings.Join(seeds, ", ")),
		Sections: []*report.Section{
			{Title: "Results", Note: "Local metrics are measured in each method's own embedding, as in the paper's tables, and in one embedding shared by all methods, which compares methods and not embeddings. Methods without an embedding of their own have the same number in both.", Tables: []*report.Table{r.Results()}, Figures: figures},
			{Title: "Intervals", Tables: []*report.Table{r.intervals()}},
			{Title: "Differences", Tables: []*report.Table{r.differences()}},
		},
		Facts: []report.Fact{{Name: "split", Value: string(r.Split)}, {Name: "protocol", Value: metrics.Tables.String()}},
	}
	for _, f := range r.Fits {
		for _, short := range f.Short {
			d.Facts = append(d.Facts, report.Fact{Name: fmt.Sprintf("%s, seed %d, stopped short", f.Method, f.Seed), Value: short})
		}
		if f.Err != nil {
			d.Failures = append(d.Failures, fmt.Sprintf("%s, seed %d: %v", f.Method, f.Seed, f.Err))
		}
	}
	return d, nil
}

// figures are bars of the local metrics in both embeddings, and of the global ones.
func (r *Result) figures() ([]*report.Drawing, error) {
	bars := func(title string, value func(Row) metrics.Spread, seeds func(Fit) float64) report.BarPanel {
		panel := report.BarPanel{Title: title}
		for _, row := range r.Rows {
			v := value(row)
			bar := report.Bar{Name: row.Method, Ours: row.Method == "vq", Mean: v.Mean, SD: v.SD, Floor: math.NaN()}
			for _, f := range r.Fits {
				if f.Err == nil && f.Method == row.Method {
					bar.Seeds = append(bar.Seeds, seeds(f))
				}
			}
			panel.Bars = append(panel.Bars, bar)
		}
		return panel
	}
	var local []report.BarPanel
	for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE} {
		own := bars(m.Title()+", own embedding", func(row Row) metrics.Spread { return row.Own[m] }, func(f Fit) float64 { return f.own().Values[m] })
		shared := bars(m.Title()+", shared embedding", func(row Row) metrics.Spread { return row.Shared[m] }, func(f Fit) float64 { return f.Shared.Values[m] })
		for _, bar := range slices.Concat(own.Bars, shared.Bars) { // one scale for both
			own.Top = max(own.Top, bar.Reach())
		}
		shared.Top = own.Top
		local = append(local, own, shared)
	}
	var global []report.BarPanel
	for _, m := range []metrics.Metric{metrics.ECCE, metrics.NLL} {
		global = append(global, bars(m.Title(), func(row Row) metrics.Spread { return row.Shared[m] }, func(f Fit) float64 { return f.Shared.Values[m] }))
	}
	var drawn []*report.Drawing
	for _, d := range []struct {
		name, caption string
		panels        []report.BarPanel
	}{{"local", "LCE and MLCE in each method's own embedding and in the one shared by all, on one scale.", local}, {"global", "ECCE and NLL.", global}} {
		figure, err := report.Bars(d.panels)
		if err != nil {
			return nil, err
		}
		drawn = append(drawn, &report.Drawing{Name: d.name, Caption: d.caption, Figure: figure})
	}
	return drawn, nil
}

// own are the scores in the method's own embedding, which is the shared one if it has none.
func (f Fit) own() *Scores {
	if f.Own != nil {
		return f.Own
	}
	return &f.Shared
}

// Group is the data.Folder group of a comparison, and Files are its files.
const Group = "compare"

// Files are the names of the files of a comparison besides its figures.
var Files = append([]string{"results.csv", "metrics.json"}, report.Files...)

// Write puts report.html, tables.md, tables.tex, results.csv, metrics.json and figures into
// dir, all or none of them. But for the head of the page they hold no times: the same seeds
// give the same bytes. head says where the comparison comes from.
func (r *Result) Write(dir string, head []report.Fact) error {
	d, err := r.Document()
	if err != nil {
		return err
	}
	d.Head, d.Files = head, []string{"results.csv", "metrics.json", "tables.tex", "tables.md"}
	f := data.NewFolder(dir, Group)
	defer f.Discard()
	for name, write := range map[string]func(io.Writer) error{"results.csv": r.writeCSV, "metrics.json": r.writeJSON} {
		if err := f.WriteFile(name, write); err != nil {
			return err
		}
	}
	if err := d.Add(f); err != nil {
		return err
	}
	return f.Commit()
}

// writeCSV writes one line for each metric of each fit in each embedding.
func (r *Result) writeCSV(out io.Writer) error {
	w := csv.NewWriter(out)
	lines := [][]string{{"method", "seed", "embedding", "metric", "value", "low", "high"}}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', -1, 64) }
	for _, f := range r.Fits {
		if f.Err != nil {
			continue
		}
		add := func(embedding string, s *Scores, m metrics.Metric) {
			if v := s.Values[m]; !math.IsNaN(v) {
				lines = append(lines, []string{f.Method, strconv.FormatUint(f.Seed, 10), embedding, m.String(), number(v), number(s.Intervals[m].Low), number(s.Intervals[m].High)})
			}
		}
		for m := range metrics.Metrics {
			add("shared", &f.Shared, m)
			if f.Own != nil && m.Local() {
				add("own", f.Own, m)
			}
		}
	}
	if err := w.WriteAll(lines); err != nil {
		return fmt.Errorf("compare: write the results: %w", err)
	}
	return nil
}

// writeJSON writes the means, intervals and comparisons of all methods.
func (r *Result) writeJSON(out io.Writer) error {
	type value struct {
		metrics.Spread
		CI *[2]float64 `json:"ci,omitempty"`
	}
	type method struct {
		Metrics map[string]value   `json:"metrics"`
		Own     map[string]value   `json:"own_embedding,omitempty"`
		Against map[string]*Paired `json:"against_best,omitempty"`
	}
	methods := map[string]method{}
	for _, row := range r.Rows {
		m := method{Metrics: map[string]value{}, Against: map[string]*Paired{}}
		for k := range metrics.Metrics {
			if math.IsNaN(row.Shared[k].Mean) {
				continue
			}
			v := value{Spread: row.Shared[k]}
			if i := row.Intervals[k]; !math.IsNaN(i.Low) {
				v.CI = &[2]float64{i.Low, i.High}
			}
			m.Metrics[k.String()] = v
			if row.HasOwn && k.Local() {
				if m.Own == nil {
					m.Own = map[string]value{}
				}
				m.Own[k.String()] = value{Spread: row.Own[k]}
			}
		}
		for k, c := range row.Against {
			m.Against[k.String()] = c
		}
		methods[row.Method] = m
	}
	failures := map[string]string{}
	for _, f := range r.Fits {
		if f.Err != nil {
			failures[fmt.Sprintf("%s/%d", f.Method, f.Seed)] = f.Err.Error()
		}
	}
	text, err := json.MarshalIndent(struct {
		Protocol metrics.Protocol  `json:"protocol"`
		Split    data.Protocol     `json:"split"`
		Seeds    []uint64          `json:"seeds"`
		Methods  map[string]method `json:"methods"`
		Failures map[string]string `json:"failures,omitempty"`
	}{metrics.Tables, r.Split, r.Seeds, methods, failures}, "", "  ")
	if err != nil {
		return fmt.Errorf("compare: write the metrics: %w", err)
	}
	_, err = out.Write(append(text, '\n'))
	return err
}
