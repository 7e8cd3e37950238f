package report

import (
	"bytes"
	"fmt"
	"image/png"
	"io"
	"math"
	"strconv"
	"sync"
	"time"

	"calibra/data"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
)

// Figure is plots side by side, or above each other, with a legend below them if it has
// entries. One that cannot be drawn, such as of numbers that are not finite, shows the reason where it is rendered.
type Figure struct {
	plots   []*chart
	columns int      // at most
	cell    vg.Point // the size of a plot, where the page leaves room
	legend  []key
	points  points // what is drawn, as numbers
	// headline stands above the plots of a figure by itself; nil for none.
	headline *headline
	says     string // what a screen reader reads in a file of it
	err      error  // why it cannot be drawn
}

// points is the data of a figure: a table with a line for each mark.
type points struct {
	head []string
	rows [][]string
}

// add adds a line of texts, numbers and whole numbers; what is not a number is left empty.
func (p *points) add(values ...any) {
	var row []string
	for _, v := range values {
		text := fmt.Sprint(v)
		if x, ok := v.(float64); ok {
			if text = strconv.FormatFloat(x, 'g', -1, 64); math.IsNaN(x) {
				text = ""
			}
		}
		row = append(row, text)
	}
	p.rows = append(p.rows, row)
}

// at is the i-th of values, NaN where there are none.
func at(values []float64, i int) float64 {
	if values == nil {
		return math.NaN()
	}
	return values[i]
}

// WriteCSV writes the numbers behind the figure, a line for each mark.
func (f *Figure) WriteCSV(w io.Writer) error {
	return data.WriteCSV(w, append([][]string{f.points.head}, f.points.rows...))
}

// Style says where figures are shown. The zero value is a screen: as wide as the figure needs, on white, letters of 10
// points. With a Column it is paper: as wide as the column, without a background, letters of 7.5 points as outlines.
type Style struct {
	Column vg.Length
}

const (
	margin  = vg.Length(6)  // the white around a figure
	letters = vg.Length(10) // the size of letters before scaling
	dpi     = 192           // of a PNG, twice that of a screen
)

// scale is from the layout to the page.
func (style Style) scale() float64 {
	if style.Column > 0 {
		return 0.75
	}
	return 1
}

// Formats are the file formats a figure can be drawn in.
var Formats = []string{"svg", "png", "pdf"}

// undated stands in PDF files, for equal figures give equal bytes.
var undated = sync.OnceFunc(func() {
	fpdf.SetDefaultCreationDate(time.Unix(0, 0).UTC())
	fpdf.SetDefaultModificationDate(time.Unix(0, 0).UTC())
})

// Render draws the figure for a screen in one of Formats.
func (f *Figure) Render(format string) ([]byte, error) { return Style{}.Render(f, format) }

// Render draws a figure in one of Formats, a PNG at 192 dots an inch. Equal figures
// give equal bytes.
func (style Style) Render(f *Figure, format string) ([]byte, error) {
	if f.err != nil {
		return nil, f.err
	}
	l, scale := f.layout(style.Column/vg.Length(style.scale())), style.scale()
	w, h := l.size.X, l.size.Y
	page := onPage(nil, l.size)
	var file io.WriterTo
	switch format {
	case "svg":
		c := newSVG(w, h)
		c.says = f.says
		page.Canvas, file = c, c
		if style.Column > 0 {
			page.Canvas, c.scale = outlined{c}, scale
		}
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(w, h), vgimg.UseDPI(int(dpi*scale)))
		page.Canvas, file = c, pngFile{c}
	case "pdf":
		undated()
		c := vgpdf.New(w*vg.Length(scale), h*vg.Length(scale))
		c.Scale(scale, scale)
		page.Canvas, file = outlined{straight{c}}, c
	default:
		return nil, fmt.Errorf("report: draw a figure: there is no format %q", format)
	}
	if style.Column == 0 && format != "png" {
		// an SVG has no ground of its own, and black letters are lost on a dark one; a PNG is white
		page.FillPolygon(white, corners(page.Rectangle))
	}
	l.draw(page)
	var out bytes.Buffer
	if _, err := file.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("report: write a figure: %w", err)
	}
	return out.Bytes(), nil
}

// pngFile writes a canvas as PNG. It compresses little, as most of the time of a figure went into that.
type pngFile struct{ *vgimg.Canvas }

func (f pngFile) WriteTo(w io.Writer) (int64, error) {
	return 0, (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(w, f.Image())
}

// onPage is a canvas of a size.
func onPage(c vg.Canvas, size vg.Point) draw.Canvas {
	return draw.Canvas{Canvas: c, Rectangle: vg.Rectangle{Max: size}}
}

// corners are those of a rectangle, one after the other.
func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}
