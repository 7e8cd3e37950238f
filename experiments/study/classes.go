package study

import (
	"cmp"
	"math"
	"strconv"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// classesStudy varies m, the classes of a row that a bilinear map treats separately. Data of up to m
// classes leave the cell out: it is the last but one, the exact map.
var classesStudy = Study{
	Name: "ablate-classes", Line: "m ∈ {2, 4, 8, … 256, all} classes that the map of a row looks at apart: error and time",
	Grid: func(*experiments.Origin) []experiments.Spec {
		var specs []experiments.Spec
		for m := 2; m <= 256; m *= 2 {
			specs = append(specs, experiments.Spec{Method: "vq-centred", Set: classesKey + "=" + strconv.Itoa(m)})
		}
		return append(specs, experiments.Spec{Method: "vq-centred"}, experiments.Spec{Method: "vq-nc"})
	},
	Vary:  []Field{byMethod, byClasses},
	Views: []View{classCurves, Results, timeTable},
}

const classesKey = "bilinear.classes"

// byClasses is m.
var byClasses = Field{"m", func(s experiments.Spec) string {
	if m := apart(s); m > 0 {
		return strconv.Itoa(m)
	}
	if s.Method == "vq-nc" {
		return "–"
	}
	return "all"
}}

// apart is the m of the spec's settings, 0 for all.
func apart(s experiments.Spec) int {
	m, _ := strconv.Atoi(s.Value(classesKey))
	return m
}

// alongClasses are the rows of a subject along m, and those of the head alone.
type alongClasses struct {
	maps    *subject
	heads   []*row
	classes float64 // 0 without results
}

func newAlongClasses(s *subject) alongClasses {
	a := alongClasses{maps: &subject{s.source, nil}}
	for _, r := range s.rows {
		for _, res := range r.results {
			a.classes = float64(res.Classes)
		}
		if r.spec.Method == "vq-nc" {
			a.heads = append(a.heads, r)
		} else {
			a.maps.rows = append(a.maps.rows, r)
		}
	}
	return a
}

// place is m of a row, all classes where it has none.
func (a alongClasses) place(r *row) float64 { return cmp.Or(float64(apart(r.spec)), a.classes) }

// panel shows a quantity.
func (a alongClasses) panel(q quantity) report.LinePanel {
	panel := report.LinePanel{Title: q.title + ": " + a.maps.Title(), X: "classes m of a row", Y: q.title, Log: true, Places: map[float64]string{}}
	for _, r := range a.maps.rows {
		panel.Places[a.place(r)] = strconv.Itoa(int(a.place(r)))
	}
	panel.Series = a.maps.lines(q, func(r *row) (string, float64) { return title(r.spec), a.place(r) })
	if q.title == epochSeconds.title {
		panel.LogY = true
		panel.Series = append(panel.Series, quadratic(a.maps.rows, q, a.place, a.classes)...)
		return panel
	}
	for _, r := range a.heads {
		if v := r.spread(q).Mean; !math.IsNaN(v) {
			panel.Series = append(panel.Series, report.Series{Name: title(r.spec), Style: style(r.spec.Catalog, r.spec.Method), Kind: report.Floor, X: []float64{a.place(a.maps.rows[0]), a.classes}, Mean: []float64{v, v}})
		}
	}
	return panel
}

var epochSeconds = quantity{metric: metrics.NLL, title: "seconds per epoch", value: stageOf("calibrate", perEpoch)}

// classCurves show error and time along m.
var classCurves = figures("Along the classes that a row looks at apart",
	"The map of a row sees the m classes that p̂ ranks first, and the others as one with their mass; the last point is the exact map. The dashed line of the times is the exact map's times (m/C)², the price of its C² concentrations; the dotted line of the errors is the quantized head before the map.",
	plain(func(_ *Findings, s *subject) []*report.Drawing {
		a := newAlongClasses(s)
		if a.classes == 0 || len(a.maps.rows) == 0 {
			return nil
		}
		panels := data.Each([]quantity{sharedMetric(metrics.NLL), klToTruth, epochSeconds}, a.panel)
		return s.curves("classes", "Error and time of a stage-2 epoch on %s along m.", panels)
	}))

// quadratic is the exact map's value times (m/C)² at every m, nothing without that map.
func quadratic(rows []*row, q quantity, place func(*row) float64, classes float64) []report.Series {
	line := report.Series{Name: "exact map × (m/C)²", Style: Style("nc"), Kind: report.Prediction}
	exact := nan
	for _, r := range rows {
		if place(r) == classes {
			exact = r.spread(q).Mean
		}
	}
	if math.IsNaN(exact) {
		return nil
	}
	for _, r := range rows {
		m := place(r)
		line.X, line.Mean = append(line.X, m), append(line.Mean, exact*m*m/(classes*classes))
	}
	return []report.Series{line}
}
