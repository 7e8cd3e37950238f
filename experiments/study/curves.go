package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
)

// sizeCurves show LCE and NLL along the size of the calibration set.
var sizeCurves = figures("Along the size of the calibration set",
	"Fitted on a stratified part of the calibration rows; validation rows, test rows and the shared embedding stay the same.",
	plain(func(f *Findings, s *subject) []*report.Drawing {
		places := map[float64]string{}
		for _, c := range f.Cells {
			places[100*fraction(c.Spec)] = strconv.FormatFloat(100*fraction(c.Spec), 'g', 3, 64)
		}
		panels := s.along("calibration rows fitted on, %", places, func(r *row) (string, float64) { return title(r.spec), 100 * fraction(r.spec) },
			ownMetric(metrics.LCE), sharedMetric(metrics.LCE), sharedMetric(metrics.NLL))
		return s.curves("calsize", "LCE in either embedding and NLL of %s for various sizes of the calibration set.", panels)
	}))

// along are panels of quantities along x, which has these places.
func (s *subject) along(x string, places map[float64]string, value func(*row) (name string, x float64), quantities ...quantity) (panels []report.LinePanel) {
	for _, q := range quantities {
		title := q.title
		switch {
		case q.own:
			title += ", own embedding"
		case q.metric.Local():
			title += ", shared embedding"
		}
		panels = append(panels, report.LinePanel{Title: title + ": " + s.Title(), X: x, Y: q.title, Log: true, Places: places, Series: s.lines(q, value)})
	}
	return panels
}

// lines joins the rows of one name, by their place.
func (s *subject) lines(q quantity, value func(*row) (name string, x float64)) []report.Series {
	var out []report.Series
	for _, r := range s.rows {
		name, x := value(r)
		v := r.spread(q)
		k := slices.IndexFunc(out, func(line report.Series) bool { return line.Name == name })
		if k < 0 {
			k = len(out)
			out = append(out, report.Series{Name: name, Ours: r.spec.Method == tableOrder[0], Style: style(r.spec.Catalog, r.spec.Method)})
		}
		out[k].X, out[k].Mean, out[k].SD = append(out[k].X, x), append(out[k].Mean, v.Mean), append(out[k].SD, v.SD)
		out[k].Seeds = append(out[k].Seeds, r.values(q))
	}
	return out
}

// codebookCurves show the metrics along |C|.
var codebookCurves = figures("Along the size of the codebook", "", plain(func(_ *Findings, s *subject) []*report.Drawing {
	places := map[float64]string{}
	for _, r := range s.rows {
		places[float64(r.spec.Codewords())] = strconv.Itoa(r.spec.Codewords())
	}
	panels := s.along("codewords |C|", places, func(r *row) (string, float64) {
		return fmt.Sprintf("VQ, w = %d", r.spec.Slots()), float64(r.spec.Codewords())
	}, ownMetric(metrics.LCE), sharedMetric(metrics.LCE), sharedMetric(metrics.ECCE), sharedMetric(metrics.NLL))
	return s.curves("codebook", "VQ on %s along the number of codewords.", panels)
}))

// sizeMaps are heat maps of the w × |C| grid.
var sizeMaps = figures("The grid of slots and codewords", "Means over the seeds; darker is larger.", plain(func(_ *Findings, s *subject) []*report.Drawing {
	var slots, codewords []int
	for _, r := range s.rows {
		slots, codewords = append(slots, r.spec.Slots()), append(codewords, r.spec.Codewords())
	}
	slots, codewords = sortedSet(slots), sortedSet(codewords)
	var panels []report.HeatPanel
	for _, view := range []struct {
		title string
		q     quantity
	}{{"LCE own", ownMetric(metrics.LCE)}, {"LCE shared", sharedMetric(metrics.LCE)}, {"MLCE shared", sharedMetric(metrics.MLCE)}, {"NLL", sharedMetric(metrics.NLL)}} {
		values := mat.NewDense(len(codewords), len(slots), nil)
		values.Apply(func(_, _ int, _ float64) float64 { return nan }, values)
		for _, r := range s.rows {
			values.Set(slices.Index(codewords, r.spec.Codewords()), slices.Index(slots, r.spec.Slots()), r.spread(view.q).Mean)
		}
		if !slices.ContainsFunc(values.RawMatrix().Data, func(v float64) bool { return !math.IsNaN(v) }) {
			continue
		}
		panels = append(panels, report.HeatPanel{
			Title: view.title + ": " + s.Title(), X: "slots w", Y: "codewords |C|", Values: values,
			Rows: words(codewords), Columns: words(slots), Width: 9 * vg.Centimeter, Height: 5 * vg.Centimeter,
			Text: func(v float64) string { return alone(v, view.q.metric) },
		})
	}
	if panels == nil {
		return nil
	}
	return []*report.Drawing{s.drawing("sizes", "VQ on %s for every pair of slots and codewords.", report.Heat(panels, 2))}
}))

func sortedSet(x []int) []int {
	slices.Sort(x)
	return slices.Compact(x)
}

func words(x []int) []string { return data.Each(x, strconv.Itoa) }
