package report

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	mapRows = 1500 // drawn at most, evenly spaced in the file
	mapEdge = 3.2  // standard deviations, beyond which rows stand at the edge
	mapGap  = .1   // beyond which a colour is stronger
)

// gaps are the colours of gaps, from too much confidence to too little.
var gaps = []struct {
	says   string
	colour color.NRGBA
}{
	{"claims more than .10 too much", color.NRGBA{0xb2, 0x18, 0x2b, 0xff}}, {"claims too much", color.NRGBA{0xdc, 0x74, 0x4a, 0xff}},
	{"within chance", color.NRGBA{0x91, 0x91, 0x91, 0xff}},
	{"claims too little", color.NRGBA{0x6e, 0x95, 0xb2, 0xff}}, {"more than .10 too little", color.NRGBA{0x21, 0x66, 0xac, 0xff}},
}

// gapColour is grey within chance.
func gapColour(r diagnosis.Region) color.NRGBA {
	at := 2
	if r.BeyondChance {
		if at = 1; r.Gap < 0 {
			at = 3
		}
		if math.Abs(r.Gap) > mapGap {
			at = 2*at - 2
		}
	}
	return gaps[at].colour
}

// mapText is what is said of a place or region.
func mapText(name string, p diagnosis.Place, r diagnosis.Region) string {
	chance := "within chance"
	if r.BeyondChance {
		chance = "p " + metrics.Fixed(r.P, 3)
	}
	return fmt.Sprintf("%s, %d rows, confidence less accuracy %s, %s", name, len(p.Rows), gapText(p.Gap), chance)
}

// middleOf is the mean of rows on a plane.
func middleOf(at *mat.Dense, rows []int) (middle plotter.XY) {
	for _, i := range rows {
		middle.X += at.At(i, 0) / float64(len(rows))
		middle.Y += at.At(i, 1) / float64(len(rows))
	}
	return middle
}

// mapDrawing draws the planes of the map.
func mapDrawing(d *diagnosis.Diagnosis, m *diagnosis.Map) *Drawing {
	var plots []*chart
	points := points{head: []string{"plane", "part", "number", "x", "y", "rows", "gap", "p", "beyond_chance"}}
	for _, plane := range m.Planes {
		p := newPlot()
		p.Title.Text, p.X.Label.Text, p.Y.Label.Text = plane.Name, plane.Axes[0], plane.Axes[1]
		p.Add(newGridLines())
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -mapEdge, mapEdge, -mapEdge, mapEdge
		within := func(at plotter.XY) plotter.XY {
			return plotter.XY{X: max(-mapEdge, min(mapEdge, at.X)), Y: max(-mapEdge, min(mapEdge, at.Y))}
		}
		var rows plotter.XYs
		for i := 0; i < d.Rows; i += (d.Rows + mapRows - 1) / mapRows {
			rows = append(rows, within(middleOf(plane.At, []int{i})))
		}
		p.Add(newDots(shade, vg.Points(0.8), rows...))
		told := &marked{}
		for k, place := range slices.Concat(m.Places, m.Regions) {
			at := within(middleOf(plane.At, place.Rows))
			radius := vg.Points(2 + 22*math.Sqrt(float64(len(place.Rows))/float64(d.Rows)))
			part, number, tested := "region", k-len(m.Places)+1, diagnosis.Region{}
			if number < 1 {
				part, number, tested = "place", k, d.Places[k]
				p.Add(newDots(gapColour(tested), radius, at))
				told.label(at.X, at.Y, mapText("Place", place, tested))
			} else if tested = d.Regions[number-1]; tested.Named {
				p.addRing(at, radius, number)
				told.label(at.X, at.Y, mapText(fmt.Sprintf("Region %d: %s", number, tested.Describe), place, tested))
			} else {
				continue
			}
			points.add(plane.Name, part, number, at.X, at.Y, len(place.Rows), place.Gap, tested.P, tested.BeyondChance)
		}
		p.Add(told)
		plots = append(plots, p)
	}
	var legend keys
	for _, g := range gaps {
		legend.add(g.says, newDots(g.colour, vg.Points(4), plotter.XY{}))
	}
	return &Drawing{Name: "map", Figure: newGrid(plots, 2, 8.5*vg.Centimeter, 8.5*vg.Centimeter, legend, points),
		Caption: "The latent space. Each disc stands for rows near each other: it is grey where their accuracy is within chance of their confidence, else its colour shows which is larger; its area shows how many they are. Rings are the wrong regions, by their numbers."}
}

// addRing rings a region and writes its number into the ring.
func (c *chart) addRing(at plotter.XY, radius vg.Length, number int) {
	ring := newDots(ink, radius, at)
	ring.Shape = draw.RingGlyph{}
	style := textStyle(letters)
	style.XAlign = draw.XCenter
	c.Add(ring, &plotter.Labels{XYs: plotter.XYs{at}, Labels: []string{fmt.Sprint(number)}, TextStyle: []draw.TextStyle{style}})
}

// regionDrawing draws the reliability of the regions beside each other, of all of them the first.
func regionDrawing(regions []diagnosis.Place) *Drawing {
	const most = 10
	diagrams := make([]Diagram, min(most, len(regions)))
	for k := range diagrams {
		diagrams[k] = Diagram{Name: fmt.Sprintf("Region %d", k+1), Curve: regions[k].Top}
	}
	return &Drawing{Name: "reliability-regions", Figure: Diagrams(diagrams),
		Caption: "How often the top class is right, against its probability, in each region of the table. Grey bars are the shares of its rows."}
}

// longestName is how many letters an axis has room for.
const longestName = 14

// clippedName is a name as an axis has room for: of a longer one the beginning and the end.
func clippedName(name string) string {
	const end = 4
	if runes := []rune(name); len(runes) > longestName {
		return string(runes[:longestName-end-1]) + "…" + string(runes[len(runes)-end:])
	}
	return name
}
