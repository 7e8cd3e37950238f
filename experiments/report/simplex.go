package report

import (
	"fmt"
	"math"

	"calibra/experiments/diagnosis"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// simplexes draws predictions of three classes in their triangle, methods side by side: some rows in the colours of their
// labels, and of each cell of the triangle an arrow from what is said to what happens. Arrows that calibrated
// predictions would not show, beyond two standard errors, are strong. It is nil where there are other than three classes.
func simplexes(all []Shown, names []string) *Figure {
	var plots []*chart
	points := points{head: []string{"method", "part", "p0", "p1", "p2", "label or rows", "happened0", "happened1", "happened2"}}
	for _, s := range all {
		if s.Simplex != nil {
			plots = append(plots, s.triangle(names))
			for i, q := range s.Simplex.Points {
				points.add(s.Name, "row", q[0], q[1], q[2], s.Simplex.Labels[i], "", "", "")
			}
			for _, c := range s.Simplex.Cells {
				points.add(s.Name, "cell", c.Mean[0], c.Mean[1], c.Mean[2], c.Rows, c.Share[0], c.Share[1], c.Share[2])
			}
		}
	}
	if plots == nil {
		return nil
	}
	f := newGrid(plots, 2, 8.5*vg.Centimeter, 8.5*vg.Centimeter, nil, nil)
	f.points = points
	return f
}

// inTriangle is where probabilities lie in a triangle whose corners are the classes.
func inTriangle(p [3]float64) plotter.XY {
	return plotter.XY{X: p[1] + p[2]/2, Y: p[2] * math.Sqrt(3) / 2}
}

func (s Shown) triangle(names []string) *chart {
	p := newPlot()
	p.Title.Text = s.Name
	p.HideAxes()
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.12, 1.12, -0.12, math.Sqrt(3)/2+0.1
	edges := plotter.XYs{{X: 0, Y: 0}, {X: 1, Y: 0}, {X: 0.5, Y: math.Sqrt(3) / 2}, {X: 0, Y: 0}}
	p.Add(newLine(grey, vg.Points(1), edges...))
	for i, q := range s.Simplex.Points {
		p.Add(newDots(faded(ClassColour(s.Simplex.Labels[i])), vg.Points(1.4), inTriangle(q)))
	}
	for _, c := range s.Simplex.Cells {
		p.Add(arrowOf(c))
	}
	for k, corner := range edges[:3] {
		p.addCorner(corner, k, names)
	}
	return p
}

// addCorner marks the corner of a class, with its name beside it, outside.
func (c *chart) addCorner(at plotter.XY, class int, names []string) {
	name := fmt.Sprintf("class %d", class)
	if class < len(names) {
		name = clippedName(names[class])
	}
	style := textStyle(letters)
	style.XAlign = draw.XCenter
	label := &plotter.Labels{XYs: plotter.XYs{at}, Labels: []string{name}, TextStyle: []draw.TextStyle{style}, Offset: vg.Point{Y: vg.Points(-14)}}
	if at.Y > 0 {
		label.Offset.Y = vg.Points(14)
	}
	c.Add(newDots(ClassColour(class), vg.Points(4), at), label)
}

// surely is from how many standard errors on an arrow is strong.
const surely = 2

// arrowOf goes from the mean probabilities of a cell to the shares of its labels.
func arrowOf(c diagnosis.SimplexCell) *marked {
	from, to := inTriangle(c.Mean), inTriangle(c.Share)
	colour := faded(grey)
	if c.Z > surely {
		colour = ink
	}
	m := &marked{}
	line := plotter.XYs{from, to}
	dx, dy := to.X-from.X, to.Y-from.Y
	if length := math.Hypot(dx, dy); length > 0 {
		const barb = 0.022
		for _, side := range []float64{1, -1} {
			back := plotter.XY{X: to.X - barb*(dx-side*dy/2)/length, Y: to.Y - barb*(dy+side*dx/2)/length}
			line = append(line, back, to)
		}
	}
	m.add(newLine(colour, vg.Points(1.1), line...))
	m.label(from.X, from.Y, fmt.Sprintf("%d rows: said %.2f, %.2f, %.2f; happened %.2f, %.2f, %.2f", c.Rows, c.Mean[0], c.Mean[1], c.Mean[2], c.Share[0], c.Share[1], c.Share[2]))
	return m
}
