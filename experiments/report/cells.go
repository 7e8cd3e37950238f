package report

import (
	"fmt"
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// Cells is a slice through the cells of codewords, as [layers.Plane] describes it.
type Cells struct {
	Slots, Codewords *mat.Dense // n×2, K×2
	Off              []float64  // K
	Usage            []int      // K
	Axes             [2]string
}

// Drawing draws the cells, the slots as dots and the codewords, the larger the more slots have them.
func (c Cells) Drawing() *Drawing {
	p := newPlot()
	p.X.Label.Text, p.Y.Label.Text = c.Axes[0], c.Axes[1]
	n, _ := c.Slots.Dims()
	shown := data.Spread(n, mapRows)
	// A margin beyond 99 % of the dots and the codewords that slots have: others do not stretch the plane.
	var low, high [2]float64
	for k := range low {
		column := data.Each(shown, func(i int) float64 { return c.Slots.At(i, k) })
		slices.Sort(column)
		beyond := len(column) / 400 // on each of four sides
		low[k], high[k] = column[beyond], column[len(column)-1-beyond]
		for word, used := range c.Usage {
			if at := c.Codewords.At(word, k); used > 0 {
				low[k], high[k] = min(low[k], at), max(high[k], at)
			}
		}
		edge := max(.05*(high[k]-low[k]), 1e-9)
		low[k], high[k] = low[k]-edge, high[k]+edge
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = low[0], high[0], low[1], high[1]
	inside := func(at plotter.XY) bool {
		return at.X > low[0] && at.X < high[0] && at.Y > low[1] && at.Y < high[1]
	}
	points := points{head: []string{"codeword", "x", "y", "off", "slots", "corner x", "corner y"}}
	told := &marked{}
	var seen plotter.XYs
	for _, i := range shown {
		if at := (plotter.XY{X: c.Slots.At(i, 0), Y: c.Slots.At(i, 1)}); inside(at) {
			seen = append(seen, at)
		}
	}
	p.Add(newDots(shade, vg.Points(0.8), seen...))
	for k, used := range c.Usage {
		at := plotter.XY{X: c.Codewords.At(k, 0), Y: c.Codewords.At(k, 1)}
		corners := c.cell(k, plotter.XYs{
			{X: low[0], Y: low[1]}, {X: high[0], Y: low[1]}, {X: high[0], Y: high[1]}, {X: low[0], Y: high[1]},
		})
		if corners == nil {
			points.add(k, at.X, at.Y, c.Off[k], used, math.NaN(), math.NaN())
		}
		for _, corner := range corners {
			points.add(k, at.X, at.Y, c.Off[k], used, corner.X, corner.Y)
		}
		if len(corners) > 0 {
			p.Add(newLine(grey, vg.Points(0.6), append(corners, corners[0])...))
		}
		if inside(at) {
			p.Add(newDots(ink, vg.Points(1+9*math.Sqrt(float64(used)/float64(n))), at))
			told.label(at.X, at.Y, fmt.Sprintf("Codeword %d, %d of %d slots", k+1, used, n))
		}
	}
	p.Add(told)
	return &Drawing{Name: "cells", Figure: newGrid([]*chart{p}, 1, 11*vg.Centimeter, 9*vg.Centimeter, nil, points),
		Caption: "A slice through the Voronoi cells of the codewords. Small dots are slots of calibration rows, projected, of which the axes leave out at most 1 %; large dots are codewords, by how many slots have them. A codeword far from the slice may have its cell elsewhere, or none in it."}
}

// cell are the corners of the cell of codeword k within a convex area: what is left when the places nearer to each
// other codeword are cut off.
func (c Cells) cell(k int, area plotter.XYs) plotter.XYs {
	a := c.Codewords.RawRowView(k)
	for j := range c.Usage {
		b := c.Codewords.RawRowView(j)
		if j == k || a[0] == b[0] && a[1] == b[1] && (c.Off[k] < c.Off[j] || c.Off[k] == c.Off[j] && k < j) {
			continue
		}
		// nearer is how much nearer a place is to k: linear in the place.
		nearer := func(at plotter.XY) float64 {
			return floats.Dot(b, b) + c.Off[j] - floats.Dot(a, a) - c.Off[k] + 2*at.X*(a[0]-b[0]) + 2*at.Y*(a[1]-b[1])
		}
		var left plotter.XYs
		for i, from := range area {
			to := area[(i+1)%len(area)]
			f, t := nearer(from), nearer(to)
			if f >= 0 {
				left = append(left, from)
			}
			if f > 0 && t < 0 || f < 0 && t > 0 {
				left = append(left, plotter.XY{X: from.X + (to.X-from.X)*f/(f-t), Y: from.Y + (to.Y-from.Y)*f/(f-t)})
			}
		}
		if area = left; len(area) == 0 {
			break
		}
	}
	return area
}
