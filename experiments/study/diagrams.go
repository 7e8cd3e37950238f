package study

import (
	"context"
	"fmt"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// ReliabilityDiagrams show the top class's confidence against its hits.
func ReliabilityDiagrams(_ context.Context, f *Findings) (*report.Section, error) {
	section := &report.Section{
		Title: "Reliability",
		Note:  "Frequency of hits against the confidence of the top class in 15 bins, the mean over the seeds. Bars are 95 % Wilson intervals of as many rows as one seed tests, grey bars the share of the rows in each bin; ECE is the mean gap of these bins.",
	}
	for _, s := range f.subjects() {
		var diagrams []report.Diagram
		for _, r := range s.rows {
			var curves []*metrics.Curve
			for _, res := range r.results {
				c := &metrics.Curve{}
				for _, b := range res.Bins {
					c.Count, c.Confidence, c.Frequency = append(c.Count, b.Count), append(c.Confidence, b.Confidence), append(c.Frequency, b.Accuracy)
				}
				curves = append(curves, c)
			}
			if curves != nil {
				diagrams = append(diagrams, report.Diagram{Name: MethodTitle(r.spec.Method), Curve: metrics.PoolCurves(curves)})
			}
		}
		if diagrams == nil {
			continue
		}
		figure, err := report.Diagrams(diagrams)
		if err != nil {
			return nil, err
		}
		section.Figures = append(section.Figures, &report.Drawing{
			Name: "reliability-" + s.slug(), Caption: fmt.Sprintf("Reliability diagrams of %s.", s.Title()), Figure: figure,
		})
	}
	return section, nil
}

// ShiftNote says what the shifted rows of each data set are.
func ShiftNote(_ context.Context, f *Findings) (*report.Section, error) {
	section := &report.Section{Title: "The shift", Note: "Methods are fitted and stopped on rows in distribution and judged on shifted rows: of raw tables, a region that neither the encoder nor the calibrator saw, the fifth of the rows farthest along the first principal component; of the weather data, eval_out, other climates; of a features file, the test rows of --shifted or, without it, the half of the test rows that lie farthest from their tenth nearest calibration row in the shared embedding, where few rows were seen, as of synthetic data. Models are those of the study main, where its cells are at hand."}
	return section, nil
}
