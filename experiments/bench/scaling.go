package bench

import (
	"context"
	"math"
	"strconv"

	"calibra/experiments/report"
)

// Scaling times epochs of stage 2 as the rows and the classes grow, and draws both:
// cost should grow as N and, once C² outweighs what a step costs anyway, as C².
func Scaling(ctx context.Context, reps int) (*report.Figure, [][3]float64, error) {
	var measured [][3]float64 // rows, classes, seconds
	var panels []report.LinePanel
	grow := func(title, axis string, points [][2]int, x func(rows, classes int) float64, slope float64, perRow bool) error {
		var places, seconds, ideal []float64
		for _, p := range points {
			s, err := calibrator(ctx, p[0], p[1], reps)
			if err != nil {
				return err
			}
			measured = append(measured, [3]float64{float64(p[0]), float64(p[1]), s})
			if perRow {
				s /= float64(p[0])
			}
			at := x(p[0], p[1])
			places = append(places, at)
			seconds = append(seconds, s)
		}
		last := len(places) - 1
		for _, at := range places {
			ideal = append(ideal, seconds[last]*math.Pow(at/places[last], slope))
		}
		none := make([]float64, len(places))
		ticks := map[float64]string{}
		for _, at := range places {
			ticks[at] = strconv.Itoa(int(at))
		}
		y := "seconds an epoch"
		if perRow {
			y = "seconds a row"
		}
		panels = append(panels, report.LinePanel{Title: title, X: axis, Y: y, Log: true, LogY: true, Places: ticks, Series: []report.Series{
			{Name: "measured", X: places, Mean: seconds, SD: none},
			{Name: "ideal slope", Style: 1, X: places, Mean: ideal, SD: none},
		}})
		return nil
	}
	err := grow("10 classes", "rows N", [][2]int{{10000, 10}, {20000, 10}, {40000, 10}, {80000, 10}},
		func(rows, _ int) float64 { return float64(rows) }, 1, false)
	if err != nil {
		return nil, nil, err
	}
	err = grow("an epoch of 1,024 rows", "classes C", [][2]int{{1024, 10}, {1024, 30}, {1024, 100}, {1024, 300}, {1024, 1000}},
		func(_, classes int) float64 { return float64(classes) }, 2, true)
	if err != nil {
		return nil, nil, err
	}
	figure, err := report.Lines(panels)
	return figure, measured, err
}
