package study

import (
	"context"
	"fmt"
	"math"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

var nan = math.NaN()

// Profiles are the figures of Q2.
func Profiles(_ context.Context, f *Findings) (*report.Section, error) {
	section := &report.Section{
		Title: "Local error by support (Q2)",
		Note:  "Rows are cut into 15 quantile bins of the effective sample size of their neighbourhood, sparse on the left; lines are means over the seeds, bands one standard deviation. The dotted line is the noise floor: what the profile would be if the predictions were perfectly calibrated.",
	}
	for _, s := range f.subjects() {
		var panels []report.ProfilePanel
		for _, view := range []struct {
			title string
			of    func(*Result) *metrics.Profile
		}{{"own embedding", ownProfile}, {"shared embedding", func(r *Result) *metrics.Profile { return r.ESS }}} {
			panel := report.ProfilePanel{Title: view.title + ": " + s.Title()}
			for _, r := range s.rows {
				line := report.ProfileLine{Name: MethodTitle(r.spec.Method), Ours: r.spec.Method == "vq", Style: Style(r.spec.Method)}
				for _, res := range r.results {
					if p := view.of(res); p != nil {
						line.Seeds = append(line.Seeds, *p)
					}
				}
				if line.Seeds != nil {
					panel.Profiles = append(panel.Profiles, line)
				}
			}
			panels = append(panels, panel)
		}
		figure, err := report.Profiles(panels)
		if err != nil {
			return nil, err
		}
		if figure == nil {
			continue
		}
		section.Figures = append(section.Figures, &report.Drawing{
			Name: "q2-" + s.slug(), Caption: fmt.Sprintf("Local calibration error of %s along the effective sample size.", s.Title()), Figure: figure,
		})
	}
	return section, nil
}

// ownProfile is in the method's own embedding, or the shared one if it has none.
func ownProfile(r *Result) *metrics.Profile {
	if r.OwnESS != nil {
		return r.OwnESS
	}
	return r.ESS
}

// Sparsest is the table of local error in the sparse, the middle and the dense
// third of the rows.
func Sparsest(_ context.Context, f *Findings) (*report.Section, error) {
	var columns []quantity
	for _, view := range []struct {
		name string
		of   func(*Result) *metrics.Profile
	}{{"own", ownProfile}, {"shared", func(r *Result) *metrics.Profile { return r.ESS }}} {
		for third, name := range []string{"sparse", "middle", "dense"} {
			columns = append(columns, quantity{metric: metrics.LCE, title: "LCE " + name + ", " + view.name, of: func(r *Result) float64 {
				return thirdOf(view.of(r), third)
			}})
		}
	}
	return &report.Section{
		Title:  "Sparse, middle, dense",
		Note:   "The profile in numbers: mean local error of the thirds of the rows with the smallest, middle and largest effective sample size.",
		Tables: []*report.Table{f.table("Local calibration error by thirds of the effective sample size.", columns)},
	}, nil
}

// thirdOf is the mean error of the third, 0 to 2, of a profile's rows.
func thirdOf(p *metrics.Profile, third int) float64 {
	if p == nil {
		return nan
	}
	var sum, rows float64
	n := len(p.Count)
	for k := third * n / 3; k < (third+1)*n/3; k++ {
		if p.Count[k] > 0 {
			sum += p.LCE[k] * float64(p.Count[k])
			rows += float64(p.Count[k])
		}
	}
	return sum / rows
}
