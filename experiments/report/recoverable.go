package report

import (
	"fmt"

	"calibra/experiments/metrics"
	"calibra/experiments/verdict"
)

// RecoverableTable shows the savings of corrections, on rows that they were not fitted to.
func RecoverableTable(g *metrics.Recovered) *Table {
	t := &Table{Caption: "Savings by corrections, on rows that they were not fitted to", Labels: []string{"correction", "family"},
		Values: Heads("nats a row", "at least (one-sided 95 %)", "p (one-sided)")}
	for k, gain := range []metrics.Gain{g.NLL.Global, g.NLL.Local} {
		name := []string{"of the predictions alone", "by the latent space, beyond that"}[k]
		if k == 1 && g.LocalNLL == nil {
			continue
		}
		t.Add("", Row{Labels: []string{name, g.Families[k]}, Cells: Texts(fmt.Sprintf("%.5f", gain.Value), fmt.Sprintf("%.5f", gain.Low), verdict.P(gain.P))})
	}
	return t
}
