package report

import (
	"fmt"

	"calibra/data"

	"gonum.org/v1/plot/vg"
)

// Gains are the changes by one method on several sources.
type Gains struct {
	Method  string
	Ours    bool // in the colour of the paper's calibrator
	Sources []Gain
}

// Gain is a change of NLL in percent with its 95 % interval, NaN of equal predictions.
type Gain struct {
	Source            string
	Change, Low, High float64
}

// DrawGains draws the methods on one axis, below each other in each source: on the left of the line at 0 the NLL is
// lower. All methods have the same sources.
func DrawGains(all []Gains) *Figure {
	sources := data.Each(all[0].Sources, func(g Gain) string { return g.Source })
	var series []dotted
	points := points{head: []string{"method", "source", "change", "low", "high"}}
	for k, method := range all {
		_, shape := look(k, method.Ours)
		series = append(series, dotted{method.Method, method.Ours, shape, data.Each(method.Sources, func(g Gain) dot {
			points.add(method.Method, g.Source, g.Change, g.Low, g.High)
			says := fmt.Sprintf("%s, %s: %+.1f %% (%+.1f to %+.1f)", method.Method, g.Source, g.Change, g.Low, g.High)
			return dot{at: g.Change, low: g.Low, high: g.High, says: says}
		})})
	}
	var legend keys
	p := newLanes(sources)
	p.addDotted(series, &legend)
	p.X.Label.Text = "change of NLL, %"
	p.aroundZero()
	return newGrid([]*chart{p}, 1, 17*vg.Centimeter, vg.Length(len(sources)+2)*0.9*vg.Centimeter, legend, points)
}
