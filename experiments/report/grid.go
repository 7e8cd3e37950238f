package report

import (
	"image/color"

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

// newGrid is a figure of plots of one size, a row after the other.
func newGrid(plots []*plot.Plot, columns int, width, height vg.Length, legend *plot.Legend) *Figure {
	columns = min(columns, len(plots))
	f := &Figure{legend: legend}
	for len(plots) > 0 {
		row := make([]*plot.Plot, columns)
		copy(row, plots)
		plots = plots[min(columns, len(plots)):]
		f.grid = append(f.grid, row)
	}
	f.width = vg.Length(columns)*width + vg.Length(columns-1)*gap + 2*margin
	f.height = vg.Length(len(f.grid))*height + vg.Length(len(f.grid)-1)*gap + 2*margin
	if legend != nil {
		entries := legend.Rectangle(draw.New(vgimg.New(f.width, f.height))).Size()
		f.strip = max(leastLegend, entries.X+gap)
		f.width += f.strip
		f.height = max(f.height, entries.Y+2*margin+gap)
	}
	return f
}

// drawGrid gives every plot's data area one size and lines them up.
func (f *Figure) drawGrid(page draw.Canvas) {
	if f.legend != nil {
		f.legend.Draw(draw.Crop(page, page.Max.X-page.Min.X-f.strip+gap/2, 0, 0, -gap))
		page = draw.Crop(page, 0, -f.strip, 0, 0)
	}
	tiles := draw.Tiles{Rows: len(f.grid), Cols: len(f.grid[0]), PadX: gap, PadY: gap}
	for i, row := range plot.Align(f.grid, tiles, page) {
		for j, canvas := range row {
			if p := f.grid[i][j]; p != nil {
				p.Draw(canvas)
			}
		}
	}
}

// newLegend is an empty legend in the style of all figures.
func newLegend() *plot.Legend {
	legend := newPlot().Legend
	legend.Top, legend.Left = true, true
	legend.Padding = vg.Points(3)
	return &legend
}

// ours is the colour of the paper's calibrator in every figure.
var ours = color.NRGBA{0x0b, 0x4f, 0xa8, 0xff}

// others are the colours of the methods beside it (Tol's muted and bright schemes),
// apart for colour-blind readers as long as the shapes of the marks help.
var others = []color.NRGBA{
	{0xcc, 0x66, 0x77, 0xff}, {0x11, 0x77, 0x33, 0xff}, {0xdd, 0xaa, 0x33, 0xff}, {0x88, 0x22, 0x55, 0xff},
	{0x44, 0xaa, 0x99, 0xff}, {0x99, 0x99, 0x33, 0xff}, {0xee, 0x77, 0x33, 0xff}, {0x88, 0xcc, 0xee, 0xff},
	{0xaa, 0x44, 0x99, 0xff}, {0x66, 0x66, 0x66, 0xff}, {0x33, 0x22, 0x88, 0xff}, {0xbb, 0xcc, 0x33, 0xff},
	{0x66, 0x33, 0x22, 0xff}, {0x00, 0x99, 0xee, 0xff}, {0xee, 0x33, 0x77, 0xff}, {0xaa, 0xaa, 0xaa, 0xff},
}

var glyphs = []draw.GlyphDrawer{
	draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
}

// Series is what one method shows in a figure of lines.
type Series struct {
	Name string
	Ours bool // drawn in front, in the colour of the paper's calibrator
	// Style picks the colour and the mark; give what is shown again elsewhere the same.
	Style int
	// X are the places, Mean and SD the values there; NaN where there is none.
	X, Mean, SD []float64
}

// style is the colour and the mark of each series.
func style(series []Series) (colours []color.NRGBA, marks []draw.GlyphDrawer) {
	for _, s := range series {
		if s.Ours {
			colours, marks = append(colours, ours), append(marks, draw.CircleGlyph{})
			continue
		}
		colours, marks = append(colours, others[s.Style%len(others)]), append(marks, glyphs[s.Style%len(glyphs)])
	}
	return colours, marks
}
