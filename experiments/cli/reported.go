package cli

import (
	"cmp"
	"math"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// reported is a table of a report for the terminal: a column of the data where there are
// several, the labels, and the values, of which those of high drop go where it is narrow.
func reported(r *report.Table, drops map[string]int) *table {
	t := &table{}
	if len(r.Blocks) > 1 {
		t.columns = append(t.columns, column{head: "data", left: true})
	}
	for _, label := range r.Labels {
		t.columns = append(t.columns, column{head: strings.ToLower(label), left: true})
	}
	for _, h := range r.Values {
		key := strings.ToLower(strings.ReplaceAll(h.Text, " ", "_"))
		t.columns = append(t.columns, column{head: strings.TrimSpace(h.Text + " " + h.Arrow), key: cmp.Or(map[string]string{"acc": "accuracy"}[key], key), drop: drops[h.Text]})
	}
	for _, b := range r.Blocks {
		for i, row := range b.Rows {
			var cells []cell
			if len(r.Blocks) > 1 {
				name := words(b.Name)
				if i > 0 {
					name.text = ""
				}
				cells = append(cells, name)
			}
			for _, label := range row.Labels {
				cells = append(cells, words(label))
			}
			for _, v := range row.Cells {
				shown := spreadOf(v)
				shown.look = map[metrics.Mark]look{metrics.Best: best, metrics.Second: second}[v.Mark]
				cells = append(cells, shown)
			}
			t.add(cells...)
		}
	}
	return t
}

// spreadOf is the cell with its mean and, of several seeds, their standard deviation, as they
// are; it has no value where that could not be measured.
func spreadOf(v report.Cell) cell {
	c := cell{text: v.Text}
	switch s := v.Spread; {
	case math.IsNaN(s.Mean) || math.IsInf(s.Mean, 0):
	case s.Runs == 0:
		c.value = v.Text
	case s.Runs == 1:
		c.value = s.Mean
	default:
		c.value, c.sd = s.Mean, s.SD
	}
	return c
}

// resultDrops are what the tables of results lose first.
var resultDrops = map[string]int{"MLCE own": 7, "MLCE shared": 6, "ECCE": 5, "LCE own": 4, "ECE": 2, "KL to truth": 1}
