package report

import (
	"fmt"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// gap is the white between the plots of a grid.
const gap = vg.Length(18)

// leastLegend is what the strip on the right of a grid has that its legend takes,
// and more where a name is longer.
const leastLegend = 3 * vg.Centimeter

// titleShare is the share of a plot's width that its title may take: other fonts that a browser has are wider.
const titleShare = 0.85

// newGrid is a figure of plots of one size, a row after the other. bars may be nil.
func newGrid(plots []*chart, columns int, width, height vg.Length, legend *plot.Legend, bars map[*plot.Plot]colourBar) *Figure {
	columns = min(columns, len(plots))
	f := &Figure{legend: legend, bars: bars}
	for i, p := range plots {
		f.take(p)
		p.Title.Text = wrapped(p.Title.Text, p.Title.TextStyle, titleShare*width)
		if i%columns == 0 {
			f.grid = append(f.grid, make([]*plot.Plot, columns))
		}
		f.grid[i/columns][i%columns] = p.Plot
	}
	for _, a := range bars {
		f.besides = max(f.besides, a.width())
	}
	f.width = vg.Length(columns)*(width+f.besides) + vg.Length(columns-1)*gap + 2*margin
	f.height = vg.Length(len(f.grid))*height + vg.Length(len(f.grid)-1)*gap + 2*margin
	if legend != nil {
		entries := legend.Rectangle(draw.New(vgimg.New(f.width, f.height))).Size()
		f.strip = max(leastLegend, entries.X+gap)
		f.width += f.strip
		f.height = max(f.height, entries.Y+2*margin+gap)
	}
	return f
}

// newStack is a figure of plots above each other that share the x axis's extent on the
// page; shares of the height sum to 1.
func newStack(plots []*chart, shares []float64, width, height vg.Length) *Figure {
	f := &Figure{shares: shares, width: width, height: height}
	for _, p := range plots {
		f.take(p)
		f.grid = append(f.grid, []*plot.Plot{p.Plot})
	}
	return f
}

// take keeps the first error of the plots.
func (f *Figure) take(p *chart) {
	if f.err == nil && p.err != nil {
		f.err = fmt.Errorf("report: draw %s: %w", p.Title.Text, p.err)
	}
}

// draw gives every plot's data area one size, or its share, and lines them up.
func (f *Figure) draw(page draw.Canvas) {
	if f.legend != nil {
		f.legend.Draw(draw.Crop(page, page.Max.X-page.Min.X-f.strip+gap/2, 0, 0, -gap))
		page = draw.Crop(page, 0, -f.strip, 0, 0)
	}
	page = draw.Crop(page, 0, -f.besides, 0, 0)
	tiles := draw.Tiles{Rows: len(f.grid), Cols: len(f.grid[0]), PadX: gap + f.besides, PadY: gap}
	if f.shares != nil {
		tiles.PadY = 0
	}
	top, height := page.Max.Y, page.Max.Y-page.Min.Y
	for i, row := range plot.Align(f.grid, tiles, page) {
		for j, c := range row {
			p := f.grid[i][j]
			if p == nil {
				continue
			}
			if f.shares != nil {
				c.Max.Y = top
				top -= vg.Length(f.shares[i]) * height
				c.Min.Y = top
			}
			p.Draw(c)
			if a, ok := f.bars[p]; ok {
				beside := p.DataCanvas(c)
				beside.Min.X, beside.Max.X = beside.Max.X, c.Max.X+f.besides
				a.draw(beside)
			}
		}
	}
}
