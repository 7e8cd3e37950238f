package theory

import (
	"image/color"
	"io"
	"math"
	"strconv"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
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
	figureHeight = 11 * vg.Centimeter
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
	p.BackgroundColor = color.White
	if f.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
	}
	if f.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
	}
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, f.rises()
	p.Legend.TextStyle.Font.Size, p.Legend.Padding = vg.Points(9), vg.Points(2)
	measured := 0
	for _, curve := range f.Curves {
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
				p.Legend.Add(curve.Label, line)
			}
			continue
		}
		colour := palette[measured%len(palette)]
		measured++
		line.Color, marks.Color = colour, colour
		marks.Shape, marks.Radius = draw.CircleGlyph{}, vg.Points(2)
		if curve.Style == Joined {
			p.Add(line, marks)
			p.Legend.Add(curve.Label, line, marks)
		} else {
			p.Add(marks)
			p.Legend.Add(curve.Label, marks)
		}
	}
	for _, format := range []string{"svg", "png"} {
		picture, err := draw.NewFormattedCanvas(figureWidth, figureHeight, format)
		if err != nil {
			return err
		}
		const margin = 4 * vg.Millimeter
		p.Draw(draw.Crop(draw.New(picture), margin, -margin, margin, -margin))
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

// rises tells whether the first curve ends higher than it starts, so that the
// upper left corner is free.
func (f Figure) rises() bool {
	x, y := f.Curves[0].X, f.Curves[0].Y
	return y[floats.MaxIdx(x)] > y[floats.MinIdx(x)]
}

// drawable returns the finite points of the curve, positive ones on a log axis.
func (f Figure) drawable(curve Curve) plotter.XYs {
	var points plotter.XYs
	for i, x := range curve.X {
		y := curve.Y[i]
		if finite("point", x, y) != nil || f.LogX && x <= 0 || f.LogY && y <= 0 {
			continue
		}
		points = append(points, plotter.XY{X: x, Y: y})
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
