package study

import (
	"math"
	"strings"

	"calibra/experiments/report"
)

var nan = math.NaN()

// profiles are the figures of Q2.
var profiles = figures("Local error by support (Q2)",
	"Rows are cut into 15 quantile bins of the effective sample size of their neighbourhood, sparse on the left; lines are means over the seeds, bands one standard deviation. The dotted line is the noise floor: what the profile would be if the predictions were perfectly calibrated.",
	func(f *Findings, s *subject) []*report.Drawing {
		var panels []report.ProfilePanel
		for _, view := range f.embeddings() {
			panel := report.ProfilePanel{Title: strings.TrimPrefix(view.title+": "+s.Title(), ": ")}
			for _, r := range s.rows {
				line := report.ProfileLine{Name: title(r.spec), Ours: r.spec.Method == tableOrder[0], Style: style(r.spec.Catalog, r.spec.Method)}
				for _, res := range r.results {
					if p := view.of(res).profile; p != nil {
						line.Seeds = append(line.Seeds, *p)
					}
				}
				if line.Seeds != nil {
					panel.Profiles = append(panel.Profiles, line)
				}
			}
			panels = append(panels, panel)
		}
		return s.drawing("q2", "Local calibration error of %s along the effective sample size.", report.Profiles(panels))
	})

// sparsest is the table of local error where calibration rows are sparse, middling and
// dense.
var sparsest = tables("Sparse, middle, dense",
	"Thirds of the test rows by the distance to their tenth nearest calibration row in the shared embedding: the same rows for every method, fixed before any was fitted. Noise is the error of the same rows for labels redrawn from the model's own predictions. (Above, the effective sample size is counted inside each method's own bins, so its sparse rows differ from method to method.)",
	func(f *Findings) (all []*report.Table) {
		for _, view := range f.embeddings() {
			var columns []quantity
			for third := range thirds {
				q, floor := inThird(third, view)
				columns = append(columns, q, floor, above(q, floor))
			}
			all = append(all, f.table("Local calibration error by density, in "+view.words+".", columns))
		}
		return all
	})
