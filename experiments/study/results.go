package study

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/paper"
	"calibra/experiments/report"
)

// resultColumns are those of the table of results. Local metrics are in both embeddings, first as the paper prints them,
// where a method has one of its own.
func (f *Findings) resultColumns() []quantity {
	columns := []quantity{sharedMetric(metrics.NLL)}
	for _, in := range f.embeddings() {
		for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE} {
			q := in.metric(m)
			q.title = strings.TrimSpace(q.title + " " + strings.TrimSuffix(in.title, "embedding"))
			columns = append(columns, q)
		}
	}
	return append(columns, sharedMetric(metrics.ECCE), sharedMetric(metrics.ECE), sharedMetric(metrics.Accuracy))
}

// Objects are the rows of a table of results for programs, which find the local metrics of both embeddings there, though
// a table shows equal ones once.
func Objects(t *report.Table) []map[string]any {
	objects := t.Objects()
	for _, o := range objects {
		for _, metric := range []string{"lce", "mlce"} {
			for _, sd := range []string{"", "_sd"} {
				if value, there := o[metric+sd]; there {
					o[metric+"_own"+sd], o[metric+"_shared"+sd] = value, value
					delete(o, metric+sd)
				}
			}
		}
	}
	return objects
}

// known reports whether the posterior is.
func (f *Findings) known() bool {
	return slices.ContainsFunc(f.Results, func(r *Result) bool { return r != nil && r.Truth != nil })
}

// resultsNote explains how they are to be read.
func (f *Findings) resultsNote() string {
	note := "Mean and standard deviation over the seeds."
	if len(f.embeddings()) > 1 {
		note += " Local metrics are measured in each method's own embedding, as in the paper's tables, and in one embedding shared by all methods (PCA of the standardized features, fitted on the calibration rows), which compares methods and not embeddings. Methods without an embedding of their own have the same number in both."
	}
	return note
}

// Results is the table of all metrics and, where the paper has the data set, the
// same beside its numbers.
func Results(f *Findings) *report.Section {
	columns := f.resultColumns()
	if f.known() {
		columns = append(columns, truths...)
	}
	section := &report.Section{
		Title:  "Results",
		Note:   f.resultsNote(),
		Tables: []*report.Table{f.table("Results. Best in bold, second underlined.", append(columns, f.others()...))},
	}
	if f.known() {
		section.Note += " The posterior of synthetic data is known. True LCE is the mean |p − q| over all rows and classes, without noise from labels or smoothing by a kernel. KL to truth is the part of the negative log-likelihood that a better calibrator could save."
	}
	if t := f.besidePaper(); t.Blocks != nil {
		section.Tables = append(section.Tables, t)
	}
	return section
}

// headsOf are the heads of columns of quantities, with the direction that is better.
func headsOf(columns []quantity) []report.Head {
	return data.Each(columns, func(q quantity) report.Head {
		arrow := "↓"
		switch {
		case q.unranked:
			arrow = ""
		case q.metric.HigherIsBetter():
			arrow = "↑"
		}
		return report.Head{Text: q.title, Arrow: arrow, Drop: drops[q.title]}
	})
}

// drops are the columns of results that a narrow terminal loses, those of high numbers first.
var drops = map[string]int{"PHI Brier": 8, "MLCE own": 7, "MLCE shared": 6, "MLCE": 6, "ECCE": 5, "LCE own": 4, "PHI NLL": 3, "class-wise ECE": 2, "KL to truth": 1}

// table shows the quantities of every row of every subject.
func (f *Findings) table(caption string, columns []quantity) *report.Table {
	t := &report.Table{Caption: caption, Labels: f.heads(), Values: headsOf(columns)}
	for _, s := range f.shown() {
		best := s.best(sharedMetric(metrics.NLL))
		block := report.Block{Name: s.Title(), Rows: data.Each(s.rows, func(r *row) report.Row {
			return report.Row{Labels: r.labels, Cells: make([]report.Cell, len(columns)), Winner: r == best}
		})}
		for j, q := range columns {
			column := data.Each(s.rows, func(r *row) metrics.Spread { return r.spread(q) })
			for i, mark := range metrics.Marks(q.metric, column) {
				if q.unranked {
					mark = metrics.Unmarked
				}
				block.Rows[i].Cells[j] = report.Cell{Text: column[i].Format(q.metric), Mark: mark, Value: column[i]}
			}
		}
		t.Blocks = append(t.Blocks, block)
	}
	return t
}

// heads are those of the fields that distinguish the rows of a table.
func (f *Findings) heads() []string {
	return data.Each(f.Study.Vary, func(field Field) string { return field.Head })
}

// paperMetrics are the columns of the paper's tables.
var paperMetrics = []metrics.Metric{metrics.LCE, metrics.MLCE, metrics.ECCE, metrics.ECE, metrics.Accuracy, metrics.NLL}

// besidePaper is the table of the rows that the paper has.
func (f *Findings) besidePaper() *report.Table {
	var heads []report.Head
	for _, m := range paperMetrics {
		heads = append(heads, report.Heads(m.Title(), "paper", "difference")...)
	}
	const caption = "Here, in the paper, and here − paper. Local metrics in each method's own embedding. Where the classifier is another than the paper's, the difference is not one of methods alone."
	return f.byRow(f.shown(), caption, heads, func(s *subject, r *row) (cells []report.Cell) {
		any := false
		for _, m := range paperMetrics {
			in := sharedEmbedding
			if m.Local() {
				in = ownEmbedding
			}
			here := r.spread(in.metric(m))
			if n, ok := f.inPaper(s, r, m.String()); ok && r.spec.Fraction == 0 {
				any = true
				cells = append(cells, report.Texts(here.Format(m), n.Format(m), signed(here.Mean-n.Mean, m))...)
			} else {
				cells = append(cells, report.Texts(here.Format(m), "–", "–")...)
			}
		}
		if !any {
			return nil
		}
		return cells
	})
}

// byRow is a table of the rows of subjects, but those without cells.
func (f *Findings) byRow(subjects []*subject, caption string, heads []report.Head, cells func(*subject, *row) []report.Cell) *report.Table {
	t := &report.Table{Caption: caption, Labels: f.heads(), Values: heads}
	for _, s := range subjects {
		best := s.best(sharedMetric(metrics.NLL))
		for _, r := range s.rows {
			if shown := cells(s, r); shown != nil {
				t.Add(s.Title(), report.Row{Labels: r.labels, Cells: shown, Winner: r == best})
			}
		}
	}
	return t
}

func (f *Findings) inPaper(s *subject, r *row, metric string) (paper.Number, bool) {
	return paper.Find(f.Study.Paper, paper.Number{
		Dataset: s.origin.Dataset, Backbone: s.Backbone(), Method: r.spec.Method,
		Slots: r.spec.Slots(), Codewords: r.spec.Codewords(), Metric: metric,
	})
}

// signed is a difference with as many digits as its metric: "−.0014".
func signed(x float64, m metrics.Metric) string {
	if math.IsNaN(x) {
		return "–"
	}
	if x < 0 {
		return "−" + alone(-x, m)
	}
	return "+" + alone(x, m)
}

// alone is a value with as many digits as its metric, without a spread.
func alone(x float64, m metrics.Metric) string {
	return metrics.Spread{Mean: x, Runs: 1}.Format(m)
}

// count writes a spread of counts or seconds: "1790±208".
func count(s metrics.Spread, decimals int) string {
	if math.IsNaN(s.Mean) {
		return "–"
	}
	mean, sd := fmt.Sprintf("%.*f", decimals, s.Mean), fmt.Sprintf("%.*f", decimals, s.SD)
	if s.Runs == 1 || math.IsNaN(s.SD) || strings.Trim(sd, ".0") == "" {
		return mean
	}
	return mean + "±" + sd
}
