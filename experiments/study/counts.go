package study

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
)

// countColumn is a number that no metric is, with the key of package paper.
type countColumn struct {
	head, key string
	name      string // in JSON and results.csv; "" is the key
	decimals  int
	value     func(*Result) float64
}

// counts is a table of such numbers beside the paper's.
func (f *Findings) counts(caption string, columns []countColumn) *report.Table {
	var heads []report.Head
	for _, c := range columns {
		heads = append(heads, report.Head{Text: c.head, Key: cmp.Or(c.name, c.key)})
		if c.key != "" {
			heads = append(heads, report.Head{Text: "paper", Key: cmp.Or(c.name, c.key) + "_paper"})
		}
	}
	return f.byRow(f.subjects(), caption, heads, func(s *subject, r *row) (cells []report.Cell) {
		for _, c := range columns {
			here := r.spread(quantity{value: c.value})
			cells = append(cells, report.Cell{Text: count(here, c.decimals), Value: here})
			if c.key == "" {
				continue
			}
			printed := report.Cell{Text: "–", Value: metrics.NewSpread(nil)}
			if n, ok := f.inPaper(s, r, c.key); ok {
				printed = report.Cell{Text: count(n.Spread, min(c.decimals, decimals(n.Mean))), Value: n.Spread}
			}
			cells = append(cells, printed)
		}
		return cells
	})
}

// decimals is how many a number has as it is printed.
func decimals(v float64) int {
	_, after, _ := strings.Cut(strconv.FormatFloat(v, 'f', -1, 64), ".")
	return len(after)
}

// usageColumns show how often the slots of the test rows are assigned to each codeword.
var usageColumns = []countColumn{
	{head: "fewest", key: "usage_min", name: "fewest", value: used(slices.Min[[]float64])},
	{head: "most", key: "usage_max", name: "most", value: used(slices.Max[[]float64])},
	{head: "sd", key: "usage_sd", name: "sd", value: used(func(n []float64) float64 { return metrics.NewSpread(n).SD })},
	{head: "assignments, millions", key: "assignments_millions", name: "millions", decimals: 3, value: used(func(n []float64) float64 { return floats.Sum(n) / 1e6 })},
	{head: "dead", name: "dead", decimals: 1, value: used(func(n []float64) float64 {
		return float64(floats.Count(func(v float64) bool { return v == 0 }, n))
	})},
	{head: "effective number", name: "effective", decimals: 1, value: used(layers.Perplexity)},
}

// used is a number of a result's assignments, NaN of a method without codes.
func used(value func(assignments []float64) float64) func(*Result) float64 {
	return func(r *Result) float64 {
		if r.Usage == nil {
			return nan
		}
		return value(numbersOf(r.Usage))
	}
}

// numbersOf are whole numbers as others.
func numbersOf(n []int) []float64 { return data.Each(n, func(v int) float64 { return float64(v) }) }

// usageTable is the paper's table of codeword usage, with dead codewords and the
// effective number of codewords.
var usageTable = tables("Codeword usage",
	"How often the slots of the test rows are assigned to each codeword. The effective number is the exponential of the assignments' entropy: |C| if all codewords are used alike.",
	func(f *Findings) []*report.Table {
		return []*report.Table{f.counts("Assignments of the test slots to codewords.", usageColumns)}
	})

// timeTable is seconds per epoch of both stages.
var timeTable = tables("Training time",
	"Wall time as it was when the cell ran, beside whatever else ran on the machine: with several jobs a cell has one core. The paper's times are of an accelerator.",
	func(f *Findings) []*report.Table {
		return []*report.Table{f.counts("Seconds per epoch, epochs, and seconds of the whole fit and of the predictions of the test rows.", []countColumn{
			{head: "divide s/epoch", key: "divide_seconds_per_epoch", decimals: 4, value: stageOf("divide", perEpoch)},
			{head: "calibrate s/epoch", key: "calibrate_seconds_per_epoch", decimals: 4, value: stageOf("calibrate", perEpoch)},
			{head: "divide epochs", name: "divide_epochs", decimals: 1, value: stageOf("divide", epochs)},
			{head: "calibrate epochs", name: "calibrate_epochs", decimals: 1, value: stageOf("calibrate", epochs)},
			{head: "fit, s", name: "fit_seconds", decimals: 1, value: func(r *Result) float64 { return r.Fit }},
			{head: "prediction, s", name: "prediction_seconds", decimals: 2, value: func(r *Result) float64 { return r.Predict }},
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
