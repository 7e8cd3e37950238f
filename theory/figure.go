package theory

import (
	"io"
	"math"
	"slices"

	"calibra/data"
)

// Figure is a set of curves on common axes. It is drawn by whoever shows it, such as
// package report.
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
	// Low and High are the ends of each point's 95 % interval, NaN where it has none; nil
	// if no point has one.
	Low, High []float64
	Style     Style
}

// Style says how a curve is drawn.
type Style int

const (
	Marks      Style = iota // measured points
	Joined                  // measured points in order
	Prediction              // what the theory says: a dashed line
)

// curve is that of measured points in order with this label; a new one if there is none.
func (f *Figure) curve(label string) *Curve {
	at := slices.IndexFunc(f.Curves, func(c Curve) bool { return c.Label == label })
	if at < 0 {
		at, f.Curves = len(f.Curves), append(f.Curves, Curve{Label: label, Style: Joined})
	}
	return &f.Curves[at]
}

// add appends a point with its interval.
func (c *Curve) add(x float64, y Estimate) {
	c.X, c.Y = append(c.X, x), append(c.Y, y.Value)
	c.Low, c.High = append(c.Low, y.Low), append(c.High, y.High)
}

// add adds the figure's points to a folder, as prefix-name.csv.
func (f Figure) add(to *data.Folder, prefix string) error {
	records := [][]string{{"curve", f.XLabel, f.YLabel, "low", "high"}}
	for _, curve := range f.Curves {
		for i := range curve.X {
			low, high := math.NaN(), math.NaN()
			if curve.Low != nil {
				low, high = curve.Low[i], curve.High[i]
			}
			records = append(records, []string{curve.Label, full(curve.X[i]), full(curve.Y[i]), full(low), full(high)})
		}
	}
	return to.WriteFile(prefix+"-"+f.Name+".csv", func(w io.Writer) error { return data.NewCSVWriter(w).WriteAll(records) })
}

// powerLaw returns the prediction scale·x^exponent over the range of xs.
func powerLaw(label string, scale, exponent float64, xs []float64) Curve {
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range xs {
		low, high = math.Min(low, x), math.Max(high, x)
	}
	x := []float64{low, high}
	return Curve{Label: label, X: x, Y: []float64{scale * math.Pow(low, exponent), scale * math.Pow(high, exponent)}, Style: Prediction}
}
