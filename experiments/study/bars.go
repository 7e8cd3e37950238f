package study

import (
	"context"
	"fmt"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// LocalBars are the figures of Q1, in either embedding.
func LocalBars(_ context.Context, f *Findings) (*report.Section, error) {
	section := &report.Section{
		Title: "Local calibration (Q1)",
		Note:  "Lower is better; error bars are one standard deviation over the seeds. The red ticks are the noise floor: what the metric shows, in the shared embedding, of a perfectly calibrated model with these predictions, whose labels are redrawn from them.",
	}
	for _, s := range f.subjects() {
		for _, view := range []struct {
			name, title string
			of          func(metrics.Metric) quantity
			floor       bool
		}{{"own", "own embedding", ownMetric, false}, {"shared", "shared embedding", sharedMetric, true}} {
			var panels []report.BarPanel
			for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE} {
				panels = append(panels, s.bars(fmt.Sprintf("%s, %s: %s", m.Title(), view.title, s.Title()), view.of(m), view.floor))
			}
			d, err := bars("q1-"+view.name+"-"+s.slug(), fmt.Sprintf("LCE and MLCE of %s in %s.", s.Title(), the(view.title)), panels)
			if err != nil {
				return nil, err
			}
			section.Figures = append(section.Figures, d)
		}
	}
	return section, nil
}

func the(embedding string) string {
	if embedding == "own embedding" {
		return "each method's own embedding"
	}
	return "the embedding shared by all methods"
}

// GlobalBars are the figures of Q3.
func GlobalBars(_ context.Context, f *Findings) (*report.Section, error) {
	section := &report.Section{Title: "Global calibration (Q3)", Note: "Lower is better; error bars are one standard deviation over the seeds, red ticks the noise floor."}
	for _, s := range f.subjects() {
		var panels []report.BarPanel
		for _, m := range []metrics.Metric{metrics.ECCE, metrics.NLL} {
			panels = append(panels, s.bars(fmt.Sprintf("%s: %s", m.Title(), s.Title()), sharedMetric(m), m == metrics.ECCE))
		}
		d, err := bars("q3-"+s.slug(), fmt.Sprintf("ECCE and NLL of %s.", s.Title()), panels)
		if err != nil {
			return nil, err
		}
		section.Figures = append(section.Figures, d)
	}
	return section, nil
}

func bars(name, caption string, panels []report.BarPanel) (*report.Drawing, error) {
	figure, err := report.Bars(panels)
	return &report.Drawing{Name: name, Caption: caption, Figure: figure}, err
}

// bars is a panel of the subject's rows.
func (s *subject) bars(title string, q quantity, floor bool) report.BarPanel {
	panel := report.BarPanel{Title: title}
	for _, r := range s.rows {
		v := r.spread(q)
		bar := report.Bar{Name: MethodTitle(r.spec.Method), Ours: r.spec.Method == "vq", Mean: v.Mean, SD: v.SD, Floor: nan}
		if floor {
			bar.Floor = r.spread(noiseOf(q.metric)).Mean
		}
		panel.Bars = append(panel.Bars, bar)
	}
	return panel
}

// NoiseFloor is the table of what is left of each metric above its noise floor.
func NoiseFloor(_ context.Context, f *Findings) (*report.Section, error) {
	var columns []quantity
	for _, m := range []metrics.Metric{metrics.LCE, metrics.MLCE, metrics.ECCE, metrics.ECE} {
		columns = append(columns, noiseOf(m), excess(m))
	}
	return &report.Section{
		Title: "Noise floor",
		Note:  "A finite sample makes even a perfectly calibrated model look wrong. Noise is what each metric shows of labels redrawn from the model's own predictions, in the shared embedding; what exceeds it is miscalibration. A sharper model has a lower floor, so raw values of different models do not compare their calibration alone.",
		Tables: []*report.Table{
			f.table("Noise floor of each metric, and what exceeds it.", columns),
		},
	}, nil
}
