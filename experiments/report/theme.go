package report

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"calibra/data"

	"github.com/lucasb-eyer/go-colorful"
	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	plottext "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// The theme of all figures: one font, one grid, one order of colours.

// ours is the colour of the paper's calibrator in every figure, and the first of classes.
var ours = color.NRGBA{0x0b, 0x4f, 0xa8, 0xff}

// others are the colours beside ours, near those of the schemes of Tol and of Okabe and Ito. Each has a contrast of 3
// and more to the page. Neighbours in this order, ours before the first, stay apart for colour-blind readers too, on a
// page in the light and in the dark (theme_test.go), and so do all of the first seven.
var others = []color.NRGBA{
	{0x66, 0x66, 0x66, 0xff}, {0xcc, 0x75, 0xa0, 0xff}, {0x8f, 0x97, 0x2c, 0xff}, {0x66, 0x33, 0x22, 0xff},
	{0x3c, 0x93, 0xf1, 0xff}, {0x7b, 0x98, 0x7b, 0xff}, {0xaa, 0x44, 0x99, 0xff}, {0x5f, 0x9a, 0x9e, 0xff},
	{0xd5, 0x5e, 0x00, 0xff}, {0x03, 0xa3, 0x8f, 0xff}, {0x33, 0x22, 0x88, 0xff}, {0x86, 0x98, 0x40, 0xff},
	{0x11, 0x77, 0x33, 0xff}, {0xb3, 0x8b, 0x29, 0xff}, {0x91, 0x91, 0x91, 0xff}, {0xc3, 0x84, 0x30, 0xff},
}

// Colours is how many colours there are beside ours; a style of one more has the next mark too.
var Colours = len(others)

// glyphs are the marks beside the circle of ours.
var glyphs = []draw.GlyphDrawer{
	draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}, draw.PyramidGlyph{}, draw.BoxGlyph{}, draw.CrossGlyph{}, draw.PlusGlyph{},
}

var (
	ink   = color.NRGBA{0x22, 0x22, 0x22, 0xff}
	grey  = color.NRGBA{0x80, 0x80, 0x80, 0xff}
	muted = color.NRGBA{0x7b, 0x91, 0xa8, 0xff} // bars beside ours
	shade = color.NRGBA{0xc4, 0xc4, 0xc4, 0xff} // of what has an edge
	pale  = color.NRGBA{0xe4, 0xe4, 0xe4, 0xff} // the grid
	white = color.NRGBA{0xff, 0xff, 0xff, 0xff} // the page
	night = color.NRGBA{0x14, 0x19, 0x1f, 0xff} // the page in the dark, --page of report.css
)

// contrast is (L₁ + .05)/(L₂ + .05) of the relative luminances, the larger above (WCAG 2).
func contrast(a, b color.NRGBA) float64 {
	luminance := func(c color.NRGBA) float64 {
		exact, _ := colorful.MakeColor(c)
		r, g, b := exact.LinearRgb()
		return .2126*r + .7152*g + .0722*b + .05
	}
	x, y := luminance(a), luminance(b)
	return max(x, y) / min(x, y)
}

// dark is what a colour is in the dark: of the same hue, and as far from that page as it is from a white one.
func dark(c color.NRGBA) (turned color.NRGBA) {
	exact, _ := colorful.MakeColor(c)
	hue, chroma, _ := exact.Hcl()
	low, high := 0., 1.
	for range 12 { // 2⁻¹² is less than a step of 8 bits
		middle := (low + high) / 2
		r, g, b := colorful.Hcl(hue, chroma, middle).Clamped().RGB255()
		if turned = (color.NRGBA{r, g, b, c.A}); contrast(turned, night) < contrast(c, white) {
			low = middle
		} else {
			high = middle
		}
	}
	return turned
}

// darkStyle turns the colours of figures below a selector to those of the dark.
func darkStyle(below string) string {
	all := append([]color.NRGBA{ink, grey, muted, shade, pale, white, ours}, others...)
	for _, g := range gaps {
		all = append(all, g.colour)
	}
	for _, a := range answers {
		all = append(all, a.colour)
	}
	rules := data.Each(all, func(c color.NRGBA) string {
		const rule = `%[3]s[fill="%[1]s"]{fill:%[2]s}%[3]s[stroke="%[1]s"]{stroke:%[2]s}`
		return fmt.Sprintf(rule, hex(c), hex(dark(c)), below)
	})
	slices.Sort(rules)
	return "@media screen and (prefers-color-scheme:dark){" + strings.Join(slices.Compact(rules), "") + "}"
}

// look is the colour and the mark of a series.
func look(style int, isOurs bool) (color.NRGBA, draw.GlyphDrawer) {
	if isOurs {
		return ours, draw.CircleGlyph{}
	}
	return others[style%len(others)], glyphs[style%len(glyphs)]
}

// faint is c as the fill of a band, which has edges.
func faint(c color.NRGBA) color.NRGBA {
	c.A = 0x2a
	return c
}

// band is what lies between two lines, and its edges.
func band(fill, edge color.Color, low, high plotter.XYs) (area *plotter.Polygon, all []plot.Plotter) {
	back := slices.Clone(high)
	slices.Reverse(back)
	area = newFill(fill, slices.Concat(low, back)...)
	return area, []plot.Plotter{area, newLine(edge, vg.Points(.8), low...), newLine(edge, vg.Points(.8), high...)}
}

var dashes = []vg.Length{vg.Points(4), vg.Points(3)}

// dashed are those of predictions that are told apart.
var dashed = [][]vg.Length{dashes, {vg.Points(1.5), vg.Points(1.5)}, {vg.Points(8), vg.Points(2), vg.Points(1.5), vg.Points(2)}}

// chart is a plot in the theme, with its texts, which a layout breaks into lines, and what is wrong with the first part
// that cannot be drawn.
type chart struct {
	*plot.Plot
	title, x, y string
	square      bool // of one scale on both axes
	err         error
}

// wrap breaks the title into lines of a width, and the names of the axes into lines as long as these.
func (c *chart) wrap(title vg.Length, axes vg.Point) {
	c.Title.Text = wrapped(c.title, c.Title.TextStyle, title)
	c.X.Label.Text = wrapped(c.x, c.X.Label.TextStyle, axes.X)
	c.Y.Label.Text = wrapped(c.y, c.Y.Label.TextStyle, axes.Y)
}

// Add adds what is to be drawn, which needs points, all of them finite.
func (c *chart) Add(parts ...plot.Plotter) {
	for _, part := range parts {
		if c.err == nil {
			c.err = check(part)
		}
	}
	c.Plot.Add(parts...)
}

func check(part plot.Plotter) error {
	switch part := part.(type) {
	case *marked:
		for _, p := range part.parts {
			if err := check(p); err != nil {
				return err
			}
		}
	case *plotter.Polygon:
		_, err := plotter.CopyXYs(part.XYs[0])
		return err
	case plotter.XYer:
		if part.Len() == 0 {
			return errNothing
		}
		_, err := plotter.CopyXYs(part)
		return err
	}
	return nil
}

// newLine joins points; newFill fills the area within them.
func newLine(colour color.Color, width vg.Length, points ...plotter.XY) *plotter.Line {
	return &plotter.Line{XYs: points, LineStyle: draw.LineStyle{Color: colour, Width: width}}
}

func newFill(colour color.Color, points ...plotter.XY) *plotter.Polygon {
	return &plotter.Polygon{XYs: []plotter.XYs{points}, Color: colour}
}

// newBar is an interval above x.
func newBar(colour color.Color, x, low, high float64) *plotter.Line {
	return newLine(colour, vg.Points(0.9), plotter.XY{X: x, Y: low}, plotter.XY{X: x, Y: high})
}

// newDashes joins points by the dashes of what would be right.
func newDashes(points ...plotter.XY) *plotter.Line {
	line := newLine(grey, vg.Points(1), points...)
	line.Dashes = dashes
	return line
}

// newBox fills a rectangle.
func newBox(colour color.Color, left, right, bottom, top float64) *plotter.Polygon {
	return newFill(colour, plotter.XY{X: left, Y: bottom}, plotter.XY{X: right, Y: bottom}, plotter.XY{X: right, Y: top}, plotter.XY{X: left, Y: top})
}

// newDots is a disc at each point.
func newDots(colour color.Color, radius vg.Length, points ...plotter.XY) *plotter.Scatter {
	return &plotter.Scatter{XYs: points, GlyphStyle: draw.GlyphStyle{Color: colour, Radius: radius, Shape: draw.CircleGlyph{}}}
}

// newPlot is an empty plot in the theme.
func newPlot() *chart {
	p := plot.New()
	p.Title.Padding = vg.Points(6)
	for _, text := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label,
	} {
		text.Font.Variant, text.Font.Size, text.Color, text.Handler = "Sans", letters, ink, spaced{plottext.Plain{Fonts: font.DefaultCache}}
	}
	p.Title.TextStyle.Font.Weight = stdfont.WeightBold
	p.BackgroundColor = nil // a page has its own
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		axis.Label.Padding = vg.Points(4)
		axis.Padding = 0
		axis.LineStyle.Color, axis.Tick.Color = grey, grey
		axis.Tick.Marker = evenTicks{}
	}
	return &chart{Plot: p}
}

// spaced writes the lines of a text as far apart as their font asks: gonum/plot leaves room for that, and draws them so
// close that they touch.
type spaced struct{ plottext.Plain }

// Draw draws line by line from the point on, which is as that of [plottext.Plain].
func (s spaced) Draw(c vg.Canvas, txt string, style plottext.Style, at vg.Point) {
	sin, cos := math.Sincos(style.Rotation)
	lines := s.Lines(txt)
	for i, line := range lines {
		up := s.Extents(style.Font).Height * vg.Length(float64(len(lines)-1)*(1+float64(style.YAlign))-float64(i))
		s.Plain.Draw(c, line, style, at.Add(vg.Point{X: -up * vg.Length(sin), Y: up * vg.Length(cos)}))
	}
}

// errNothing is of a plot without a number.
var errNothing = errors.New("nothing was measured")

func newGridLines() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = pale, pale
	return grid
}

// textStyle is how a plot writes beside its axes.
func textStyle(size vg.Length) draw.TextStyle {
	style := newPlot().X.Tick.Label
	style.Font.Size = size
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	return style
}

// wrapped breaks the lines of a text into such no wider than width, where they have spaces.
func wrapped(text string, style draw.TextStyle, width vg.Length) string {
	lines := data.Each(strings.Split(text, "\n"), func(line string) string {
		return folded(line, func(part string) bool { return style.Width(part) <= width })
	})
	return strings.Join(lines, "\n")
}
