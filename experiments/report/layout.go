package report

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// gap is the white between the plots of a figure.
const gap = vg.Length(18)

// newGrid is a figure of plots of one size, at most so many side by side, and of the numbers that they show.
func newGrid(plots []*chart, columns int, width, height vg.Length, legend []key, numbers points) *Figure {
	f := &Figure{plots: plots, columns: min(columns, len(plots)), legend: legend, points: numbers}
	f.cell = vg.Point{X: width, Y: height}
	for _, p := range plots {
		if f.err == nil && p.err != nil {
			f.err = fmt.Errorf("report: draw %s: %w", p.Title.Text, p.err)
		}
		p.title, p.x, p.y = p.Title.Text, p.X.Label.Text, p.Y.Label.Text
	}
	return f
}

// layout is a figure on a page.
type layout struct {
	*Figure
	columns int
	cell    vg.Point
	legend  [][]key // in lines
	left    vg.Length
	above   vg.Length // what the headline takes
	size    vg.Point
}

const (
	narrowest = 0.8 // of a cell's width, before its figure gets a column less
	widest    = 1.4 // of a cell's width
	highest   = 2.5 // of a page's width, which a column of 84 mm has room for, and a caption below
	flattest  = 0.6 // of a cell's height
)

// layout is that on a page of this width, and of the width that the figure needs where it is 0.
func (f *Figure) layout(width vg.Length) *layout {
	l := &layout{Figure: f, columns: f.columns, cell: f.cell}
	if f.headline != nil && width == 0 {
		return l.card()
	}
	room := width - 2*margin
	if width > 0 {
		l.columns = max(1, min(f.columns, int((room+gap)/(narrowest*f.cell.X+gap))))
		l.cell.X = min(widest*f.cell.X, (room-vg.Length(l.columns-1)*gap)/vg.Length(l.columns))
		l.cell.Y *= max(flattest, l.cell.X/f.cell.X)
	}
	across := vg.Length(l.columns)*(l.cell.X+gap) - gap
	if width == 0 {
		room = across
	}
	rows := vg.Length((len(f.plots) + l.columns - 1) / l.columns)
	l.left = margin + (room-across)/2
	l.legend = flow(f.legend, across)
	if f.headline != nil {
		l.above = f.headline.height(room)
	}
	if high := (highest*width-heightOf(l.legend)-l.above)/rows - gap; width > 0 && l.cell.Y > high {
		l.cell.Y = max(high, flattest*l.cell.Y)
	}
	l.size = vg.Point{X: room + 2*margin, Y: rows*(l.cell.Y+gap) - gap + 2*margin + heightOf(l.legend) + l.above}
	l.fold()
	return l
}

// card is a layout of one size: words, and below them panels that fill what is left.
func (l *layout) card() *layout {
	room := cardWidth - 2*margin
	l.above, l.legend, l.size = l.headline.height(room), flow(l.Figure.legend, room), vg.Point{X: cardWidth, Y: cardHeight}
	l.cell.Y = max(cardCell/2, cardHeight-2*margin-l.above-heightOf(l.legend))
	n := vg.Length(l.columns)
	l.cell.X = min((room-(n-1)*gap)/n, 1.6*l.cell.Y)
	l.left = margin + (room-n*(l.cell.X+gap)+gap)/2
	l.fold()
	return l
}

// fold breaks titles and names of axes into lines that the cell has room for; places breaks them once more.
func (l *layout) fold() {
	for _, p := range l.plots {
		p.wrap(l.cell.X, l.cell)
	}
}

// grid are the plots in rows of one length, nil where there is none.
func (l *layout) grid(columns int) (rows [][]*plot.Plot) {
	for some := range slices.Chunk(l.plots, columns) {
		row := make([]*plot.Plot, columns)
		for j, p := range some {
			row[j] = p.Plot
		}
		rows = append(rows, row)
	}
	return rows
}

// draw gives every plot's data area one size, and lines them up.
func (l *layout) draw(page draw.Canvas) {
	drawLegend(draw.Crop(page, l.left, -margin, margin, 0), l.legend)
	if l.above > 0 {
		l.headline.draw(draw.Crop(page, margin, -margin, 0, -margin))
	}
	page = draw.Crop(page, l.left, -l.left, margin+heightOf(l.legend), -margin-l.above)
	for i, c := range l.places(page, l.columns) {
		l.plots[i].Draw(c)
	}
}

// places are where the plots lie, each with its axes.
func (l *layout) places(page draw.Canvas, columns int) []draw.Canvas {
	grid := l.grid(columns)
	tiles := draw.Tiles{Rows: len(grid), Cols: columns, PadX: gap, PadY: gap}
	aligned := slices.Concat(plot.Align(grid, tiles, page)...)
	for i, p := range l.plots { // a title has the room that the names of the axes leave, and these stand amid their axis
		p.wrap(aligned[i].Size().X, p.DataCanvas(aligned[i]).Size())
	}
	all := slices.Concat(plot.Align(grid, tiles, page)...)[:len(l.plots)]
	for i, p := range l.plots {
		if room := p.DataCanvas(all[i]).Size(); p.square && room.X > room.Y {
			all[i].Max.X -= room.X - room.Y
		}
	}
	return all
}
