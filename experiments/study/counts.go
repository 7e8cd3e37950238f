package study

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// countColumn is a number that no metric is, with the key of package paper.
type countColumn struct {
	head, key string
	name      string // of a column of results.csv
	decimals  int
	value     func(*Result) float64
}

// counts is a table of such numbers beside the paper's.
func (f *Findings) counts(caption string, columns []countColumn) *report.Table {
	t := &report.Table{Caption: caption, Labels: f.heads()}
	for _, c := range columns {
		t.Values = append(t.Values, report.Head{Text: c.head})
		if c.key != "" {
			t.Values = append(t.Values, report.Head{Text: "paper"})
		}
	}
	for _, s := range f.subjects() {
		for _, r := range s.rows {
			out := report.Row{Labels: r.labels, Winner: r == s.best(sharedMetric(metrics.NLL))}
			for _, c := range columns {
				out.Cells = append(out.Cells, report.Cell{Text: count(r.spread(quantity{value: c.value}), c.decimals)})
				if c.key == "" {
					continue
				}
				text := "–"
				if n, ok := f.inPaper(s, r, c.key); ok {
					text = count(n.Spread, min(c.decimals, decimals(n.Mean)))
				}
				out.Cells = append(out.Cells, report.Cell{Text: text})
			}
			t.Add(s.Title(), out)
		}
	}
	return t
}

// decimals is how many a number has as it is printed.
func decimals(v float64) int {
	_, after, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	return len(after)
}

// usageColumns tell how often the slots of the test rows are assigned to each codeword.
var usageColumns = []countColumn{
	{head: "fewest", key: "usage_min", name: "fewest", value: used(func(n []int) float64 { return float64(slices.Min(n)) })},
	{head: "most", key: "usage_max", name: "most", value: used(func(n []int) float64 { return float64(slices.Max(n)) })},
	{head: "sd", key: "usage_sd", name: "sd", value: used(usageSD)},
	{head: "assignments, millions", key: "assignments_millions", name: "millions", decimals: 3, value: used(func(n []int) float64 { return float64(sum(n)) / 1e6 })},
	{head: "dead", name: "dead", decimals: 1, value: used(func(n []int) float64 {
		return float64(len(slices.DeleteFunc(slices.Clone(n), func(v int) bool { return v > 0 })))
	})},
	{head: "effective number", name: "effective", decimals: 1, value: used(perplexity)},
}

// used is a number of a result's assignments, NaN of a method without codes.
func used(value func([]int) float64) func(*Result) float64 {
	return func(r *Result) float64 {
		if r.Usage == nil {
			return nan
		}
		return value(r.Usage)
	}
}

// usageTable is the paper's table of codeword usage, with dead codewords and the
// effective number of codewords.
var usageTable = tables("Codeword usage",
	"How often the slots of the test rows are assigned to each codeword. The effective number is the exponential of the assignments' entropy: |C| if all codewords are used alike.",
	func(f *Findings) []*report.Table {
		return []*report.Table{f.counts("Assignments of the test slots to codewords.", usageColumns)}
	})

func sum(n []int) int {
	total := 0
	for _, v := range n {
		total += v
	}
	return total
}

func usageSD(n []int) float64 {
	x := make([]float64, len(n))
	for k, v := range n {
		x[k] = float64(v)
	}
	return metrics.NewSpread(x).SD
}

func perplexity(n []int) float64 {
	var entropy float64
	total := float64(sum(n))
	for _, v := range n {
		if v > 0 {
			p := float64(v) / total
			entropy -= p * math.Log(p)
		}
	}
	return math.Exp(entropy)
}

// usageCurve shows the assignments of all codewords, most used first.
var usageCurve = figures("Usage by rank", "", plain(func(_ *Findings, s *subject) []*report.Drawing {
	var series []report.Series
	for _, r := range s.rows {
		line := report.Series{Name: title(r.spec), Ours: true, Style: style(r.spec.Catalog, r.spec.Method)}
		for rank := range r.spec.Codewords() {
			var share []float64
			for _, res := range r.results {
				n := slices.Sorted(slices.Values(res.Usage))
				share = append(share, 100*float64(n[len(n)-1-rank])/float64(sum(n)))
			}
			v := metrics.NewSpread(share)
			line.X, line.Mean, line.SD = append(line.X, float64(rank+1)), append(line.Mean, v.Mean), append(line.SD, v.SD)
		}
		if len(r.results) > 0 {
			series = append(series, line)
		}
	}
	if series == nil {
		return nil
	}
	panels := []report.LinePanel{{Title: s.Title(), X: "codeword, most used first", Y: "% of assignments", Series: series}}
	return []*report.Drawing{s.drawing("usage", "Share of the test slots of %s that each codeword has.", report.Lines(panels))}
}))

// timeTable is seconds per epoch of both stages.
var timeTable = tables("Training time",
	"Wall time as it was when the cell ran, beside whatever else ran on the machine: with several jobs a cell has one core. The paper's times are of an accelerator.",
	func(f *Findings) []*report.Table {
		return []*report.Table{f.counts("Seconds per epoch, epochs, and seconds of the whole fit and of the predictions of the test rows.", []countColumn{
			{head: "divide s/epoch", key: "divide_seconds_per_epoch", decimals: 4, value: stageOf("divide", perEpoch)},
			{head: "calibrate s/epoch", key: "calibrate_seconds_per_epoch", decimals: 4, value: stageOf("calibrate", perEpoch)},
			{head: "divide epochs", decimals: 1, value: stageOf("divide", epochs)},
			{head: "calibrate epochs", decimals: 1, value: stageOf("calibrate", epochs)},
			{head: "fit, s", decimals: 1, value: func(r *Result) float64 { return r.Fit }},
			{head: "prediction, s", decimals: 2, value: func(r *Result) float64 { return r.Predict }},
		})}
	})

func perEpoch(s Stage) float64 { return s.Seconds / float64(s.Epochs) }

func epochs(s Stage) float64 { return float64(s.Epochs) }

func stageOf(name string, value func(Stage) float64) func(*Result) float64 {
	return func(r *Result) float64 {
		for _, s := range r.Stages {
			if s.Name == name && s.Epochs > 0 {
				return value(s)
			}
		}
		return nan
	}
}
