package theory

import (
	"cmp"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"calibra/data"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Figure is a set of curves on common axes.
type Figure struct {
	Name, Title    string
	XLabel, YLabel string
	LogX, LogY     bool
	Curves         []Curve
}

// Curve is a run of points (X_i, Y_i), drawn as marks or as a line.
type Curve struct {
	Label string
	X, Y  []float64
	Style Style
}

// Style says how a curve is drawn.
type Style int

const (
	Marks      Style = iota // measured points
	Joined                  // measured points in order
	Prediction              // what the theory says: a dashed line
)

// palette is Okabe and Ito's, told apart with any colour vision; black is left for predictions.
var palette = []color.RGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {120, 120, 120, 255}, {90, 60, 30, 255},
}

const (
	figureWidth  = 16 * vg.Centimeter
	figureHeight = 12 * vg.Centimeter
)

// save writes the figure to path.svg and path.png and its points to path.csv.
func (f Figure) save(path string) error {
	records := [][]string{{"curve", f.XLabel, f.YLabel}}
	for _, curve := range f.Curves {
		for i := range curve.X {
			records = append(records, []string{curve.Label, full(curve.X[i]), full(curve.Y[i])})
		}
	}
	if err := writeCSV(path+".csv", records); err != nil {
		return err
	}
	p := plot.New()
	for _, text := range []*draw.TextStyle{
		&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle,
		&p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle,
	} {
		text.Font.Variant = "Sans"
	}
	p.X.Tick.Marker, p.Y.Tick.Marker = exactTicks{}, exactTicks{}
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.XLabel, f.YLabel
	p.Title.Padding = 2 * vg.Millimeter
	if f.LogX {
		p.X.Tick.Marker = decades{}
	}
	if f.LogY {
		p.Y.Tick.Marker = decades{}
	}
	p.Add(plotter.NewGrid())
	legend := p.Legend // below the plot, where it covers no point
	legend.Top, legend.Left = true, true
	legend.TextStyle.Font.Size, legend.Padding = vg.Points(9), vg.Points(2)
	curves := slices.Clone(f.Curves) // predictions last, over what was measured
	slices.SortStableFunc(curves, func(a, b Curve) int { return cmp.Compare(a.Style, b.Style) })
	measured := 0
	for _, curve := range curves {
		points := f.drawable(curve)
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		line.Width = vg.Points(1)
		if curve.Style == Prediction {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
			p.Add(line)
			if curve.Label != "" {
				legend.Add(curve.Label, line)
			}
			continue
		}
		colour := palette[measured%len(palette)]
		measured++
		line.Color, marks.Color = colour, colour
		marks.Shape, marks.Radius = draw.CircleGlyph{}, vg.Points(2)
		if curve.Style == Joined {
			p.Add(line, marks)
			legend.Add(curve.Label, line, marks)
		} else {
			p.Add(marks)
			legend.Add(curve.Label, marks)
		}
	}
	for _, format := range []string{"svg", "png"} {
		picture, err := draw.NewFormattedCanvas(figureWidth, figureHeight, format)
		if err != nil {
			return err
		}
		const margin = 4 * vg.Millimeter
		page := draw.New(picture)
		page.SetColor(color.White)
		page.Fill(page.Rectangle.Path())
		page = draw.Crop(page, margin, -margin, margin, -margin)
		entries := legend.Rectangle(page).Size().Y
		p.Draw(draw.Crop(page, 0, 0, entries+margin, 0))
		legend.Draw(draw.Crop(page, 0, 0, 0, entries-page.Rectangle.Size().Y))
		err = data.WriteFile(path+"."+format, func(w io.Writer) error {
			_, err := picture.WriteTo(w)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// exactTicks are those of gonum/plot, whose own names round 1.15 to 1.1.
type exactTicks struct{}

func (exactTicks) Ticks(low, high float64) []plot.Tick {
	ticks := plot.DefaultTicks{}.Ticks(low, high)
	for i, tick := range ticks {
		if tick.Label != "" {
			ticks[i].Label = strconv.FormatFloat(tick.Value, 'g', 5, 64)
		}
	}
	return ticks
}

// decades ticks an axis of log₁₀ values, for on a plot.LogScale gonum/plot looks for
// the axis label at the middle of the values, not of the axis, and leaves room for it there.
// Where fewer than two decades show, 2 and 5 are named beside 1.
type decades struct{}

func (decades) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	for e := math.Floor(low); e <= high; e++ {
		for digit := 1.0; digit < 10; digit++ {
			tick := plot.Tick{Value: e + math.Log10(digit)}
			if tick.Value < low || tick.Value > high {
				continue
			}
			if digit == 1 || high-low < 2 && (digit == 2 || digit == 5) {
				tick.Label = strconv.FormatFloat(digit*math.Pow(10, e), 'g', 6, 64)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// drawable returns the finite points of the curve, on a log axis log₁₀ of those that have one.
func (f Figure) drawable(curve Curve) plotter.XYs {
	var points plotter.XYs
	for i, x := range curve.X {
		y := curve.Y[i]
		if f.LogX {
			x = math.Log10(x)
		}
		if f.LogY {
			y = math.Log10(y)
		}
		if finite("point", x, y) == nil {
			points = append(points, plotter.XY{X: x, Y: y})
		}
	}
	return points
}

// powerLaw returns the prediction scale·x^exponent over the range of xs.
func powerLaw(label string, scale, exponent float64, xs []float64) Curve {
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range xs {
		low, high = math.Min(low, x), math.Max(high, x)
	}
	x := []float64{low, high}
	return Curve{label, x, []float64{scale * math.Pow(low, exponent), scale * math.Pow(high, exponent)}, Prediction}
}
