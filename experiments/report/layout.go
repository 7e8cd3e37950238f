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

// newGrid is a figure of plots of one size, at most so many side by side. bars may be nil.
func newGrid(plots []*chart, columns int, width, height vg.Length, legend []key, bars map[*plot.Plot]colourBar) *Figure {
	f := &Figure{columns: min(columns, len(plots)), cell: vg.Point{X: width, Y: height}, legend: legend, bars: bars}
	for _, p := range plots {
		f.take(p)
	}
	for _, a := range bars {
		f.besides = max(f.besides, a.width())
	}
	return f
}

// take adds a plot, and keeps the first error.
func (f *Figure) take(p *chart) {
	if f.err == nil && p.err != nil {
		f.err = fmt.Errorf("report: draw %s: %w", p.Title.Text, p.err)
	}
	f.panels = append(f.panels, panel{p.Plot, p.Title.Text, p.X.Label.Text, p.Y.Label.Text})
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
		l.columns = max(1, min(f.columns, int((room+gap)/(narrowest*f.cell.X+f.besides+gap))))
		l.cell.X = min(widest*f.cell.X, (room-vg.Length(l.columns-1)*gap)/vg.Length(l.columns)-f.besides)
		l.cell.Y *= l.cell.X / f.cell.X
	}
	across := vg.Length(l.columns)*(l.cell.X+f.besides+gap) - gap
	if width == 0 {
		room = across
	}
	rows := vg.Length((len(f.panels) + l.columns - 1) / l.columns)
	l.left = margin + (room-across)/2
	l.legend = flow(f.legend, across)
	if high := (highest*width-heightOf(l.legend))/rows - gap; width > 0 && l.cell.Y > high {
		l.cell.Y = max(high, flattest*l.cell.Y)
	}
	l.size = vg.Point{X: room + 2*margin, Y: rows*(l.cell.Y+gap) - gap + 2*margin + heightOf(l.legend)}
	if f.headline != nil {
		l.above = f.headline.height(room)
		l.size.Y += l.above
	}
	l.fold()
	return l
}

// higher is by how much a panel of a card is higher than wide so that its plot is a square: title and axis take more above and below.
const higher = vg.Length(20)

// card is a layout of one size: words, and below them squares that fill what is left.
func (l *layout) card() *layout {
	room := cardWidth - 2*margin
	l.above, l.legend, l.size = l.headline.height(room), flow(l.Figure.legend, room), vg.Point{X: cardWidth, Y: cardHeight}
	l.cell.Y = max(cardCell/2, cardHeight-2*margin-l.above-heightOf(l.legend))
	n := vg.Length(l.columns)
	l.cell.X = min((room-(n-1)*gap)/n, l.cell.Y-higher)
	l.left = margin + (room-n*(l.cell.X+gap)+gap)/2
	l.fold()
	return l
}

// fold breaks titles and names of axes into lines that the cell has room for; places breaks them once more.
func (l *layout) fold() {
	for _, p := range l.panels {
		fitNames(p.Plot, l.cell)
		p.Title.Text = wrapped(p.title, p.Title.TextStyle, l.cell.X)
		p.X.Label.Text = wrapped(p.x, p.X.Label.TextStyle, l.cell.X)
		p.Y.Label.Text = wrapped(p.y, p.Y.Label.TextStyle, l.cell.Y)
	}
}

// grid are the plots in rows of one length, nil where there is none.
func (l *layout) grid(columns int) (rows [][]*plot.Plot) {
	for some := range slices.Chunk(l.panels, columns) {
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
	below := heightOf(l.legend)
	drawLegend(draw.Crop(page, l.left, -margin, margin, 0), l.legend)
	if l.above > 0 {
		l.headline.draw(draw.Crop(page, margin, -margin, 0, -margin))
	}
	page = draw.Crop(page, l.left, -l.left-l.besides, margin+below, -margin-l.above)
	for i, c := range l.places(page, l.columns) {
		l.place(i, c)
	}
}

// places are where the plots lie, each with its axes.
func (l *layout) places(page draw.Canvas, columns int) []draw.Canvas {
	grid := l.grid(columns)
	tiles := draw.Tiles{Rows: len(grid), Cols: columns, PadX: gap + l.besides, PadY: gap}
	for i, c := range slices.Concat(plot.Align(grid, tiles, page)...) { // a title has the room that the names of the axes leave
		if i < len(l.panels) {
			p := l.panels[i]
			p.Title.Text = wrapped(p.title, p.Title.TextStyle, c.Max.X-c.Min.X)
			size := p.DataCanvas(c).Size() // names of axes stand amid their axis
			p.X.Label.Text = wrapped(p.x, p.X.Label.TextStyle, size.X)
			p.Y.Label.Text = wrapped(p.y, p.Y.Label.TextStyle, size.Y)
		}
	}
	return slices.Concat(plot.Align(grid, tiles, page)...)[:len(l.panels)]
}

// place draws the i-th plot, and the bar of its colours on its right.
func (l *layout) place(i int, c draw.Canvas) {
	p := l.panels[i].Plot
	p.Draw(c)
	if a, ok := l.bars[p]; ok {
		beside := p.DataCanvas(c)
		beside.Min.X, beside.Max.X = beside.Max.X, c.Max.X+l.besides
		a.draw(beside)
	}
}
