package cli

import (
	"cmp"
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
				cells = append(cells, cell{text: v.Text, value: v.Text, look: map[metrics.Mark]look{metrics.Best: best, metrics.Second: second}[v.Mark]})
			}
			t.add(cells...)
		}
	}
	return t
}

// resultDrops are what the tables of results lose first.
var resultDrops = map[string]int{"MLCE own": 7, "MLCE shared": 6, "ECCE": 5, "LCE own": 4, "ECE": 2, "KL to truth": 1}
