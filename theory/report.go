package theory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"

	"calibra/data"
	"calibra/data/disk"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Report is a study's table and its figures.
type Report struct {
	Study   string
	Claim   string
	Seed    uint64
	Rows    []Row
	Figures []Figure
}

// Row is one quantity of a study.
type Row struct {
	Study    string
	Seed     uint64
	Key      string // names the quantity within its study, the same for every seed and effort
	Quantity string // what it is, in words
	Estimate
	Target float64 // the number that the theory gives; NaN where it gives none
	Theory string  // the theory's prediction, in words
	Band   *Band   // nil: reported, not judged
	// Level is the probability that the value falls outside the band where the claim
	// holds; 0 where only rounding, no chance, is in the value.
	Level float64
	// Notices is the least error of the prediction that the row notices with probability 0.9: in parts of the
	// prediction, so that 0.25 is a factor of 1.25 or, where it is 0, as a difference. NaN: that is not known.
	Notices float64
	Where   []string // the cases that were counted, with their seeds, where the row counts
}

// Verdict is "pass" or "FAIL", or empty where there is no band. A value that is not
// a number fails.
func (r Row) Verdict() string {
	switch {
	case r.Band == nil:
		return ""
	case r.Band.holds(r.Value):
		return "pass"
	}
	return "FAIL"
}

// Judged counts the rows that have a band, and the rows that lie in their band.
func Judged(rows []Row) (judged, in int) {
	for _, row := range rows {
		switch row.Verdict() {
		case "pass":
			judged, in = judged+1, in+1
		case "FAIL":
			judged++
		}
	}
	return judged, in
}

// Failures lists the quantities outside their band.
func (r *Report) Failures() []string {
	failed := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Verdict() != "FAIL" })
	return data.Each(failed, func(row Row) string { return row.Quantity })
}

// Interval is the 95 % interval as a report prints it, "[0.9, 1.1]"; empty where there is none.
func (e Estimate) Interval() string {
	low, high := e.bounds()
	if math.IsNaN(low) {
		return ""
	}
	return "[" + numeric.Short(low) + ", " + numeric.Short(high) + "]"
}

// MarshalJSON leaves out what is not there: interval, target, band, level, verdict. An
// open end of the band is null.
func (r Row) MarshalJSON() ([]byte, error) {
	fields := struct {
		Study    string         `json:"study"`
		Seed     uint64         `json:"seed"`
		Key      string         `json:"key"`
		Quantity string         `json:"quantity"`
		Value    jsonNumber     `json:"value"`
		Interval *[2]float64    `json:"interval,omitempty"`
		Error    float64        `json:"error,omitempty"` // standard error
		Target   *jsonNumber    `json:"target,omitempty"`
		Theory   string         `json:"theory,omitempty"`
		Band     *[2]jsonNumber `json:"band,omitempty"`
		Level    *float64       `json:"level,omitempty"`
		Notices  *jsonNumber    `json:"notices,omitempty"`
		Verdict  string         `json:"verdict,omitempty"`
		Where    []string       `json:"where,omitempty"`
	}{
		Study: r.Study, Seed: r.Seed, Key: r.Key, Quantity: r.Quantity, Value: jsonNumber(r.Value),
		Theory: r.Theory, Verdict: r.Verdict(), Where: r.Where,
	}
	if finite("target", r.Target) == nil {
		fields.Target = (*jsonNumber)(&r.Target)
	}
	if low, high := r.bounds(); finite("interval", low, high) == nil {
		fields.Interval, fields.Error = &[2]float64{low, high}, r.Error
	}
	if r.Band != nil {
		fields.Band, fields.Level = &[2]jsonNumber{jsonNumber(r.Band.Low), jsonNumber(r.Band.High)}, &r.Level
		fields.Notices = (*jsonNumber)(&r.Notices)
	}
	return json.Marshal(fields)
}

// jsonNumber is null where it is not finite.
type jsonNumber float64

func (x jsonNumber) MarshalJSON() ([]byte, error) {
	if finite("number", float64(x)) != nil {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// columns of a table of rows.
var columns = []string{"study", "key", "quantity", "value", "low", "high", "target", "theory", "band_low", "band_high", "level", "notices", "verdict"}

func (r Row) record() []string {
	band := []string{"", "", "", ""}
	if r.Band != nil {
		band = []string{full(r.Band.Low), full(r.Band.High), full(r.Level), full(r.Notices)}
	}
	low, high := r.bounds()
	return append([]string{r.Study, r.Key, r.Quantity, full(r.Value), full(low), full(high), full(r.Target), r.Theory}, append(band, r.Verdict())...)
}

// WriteCSV writes rows of any studies as one table, columns study, key, quantity, value, low,
// high, target, theory, band_low, band_high, level, notices, verdict; what is not there is empty.
func WriteCSV(w io.Writer, rows []Row) error {
	if w == nil {
		return errors.New("theory: there is nothing to write the rows to")
	}
	return data.WriteCSV(w, append([][]string{columns}, data.Each(rows, Row.record)...))
}

// Group is the disk.Folder group of reports.
const Group = "theory"

// Add adds the table as <study>.csv to a folder.
func (r *Report) Add(to *disk.Folder) error {
	if err := to.WriteFile(r.Study+".csv", func(w io.Writer) error { return WriteCSV(w, r.Rows) }); err != nil {
		return fmt.Errorf("theory: save %s: %w", r.Study, err)
	}
	return nil
}

// full prints a number so that it reads back unchanged, and nothing for NaN or the open end of a band.
func full(x float64) string {
	if finite("number", x) != nil {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// RowLevel is the false-alarm level of a judged row: the probability that it falls
// outside its band where the claim holds. At most 140 rows of a run are drawn by chance,
// so that the family-wise level of a run is below 1.5 %.
const RowLevel = 1e-4

// Band is the closed interval a value must lie in; an open end is infinite.
type Band struct{ Low, High float64 }

// String is the band as a report prints it, "-0.54 … -0.47" or "≤ 1e-12"; empty for nil.
func (b *Band) String() string {
	switch {
	case b == nil:
		return ""
	case b.Low == b.High:
		return "= " + numeric.Short(b.Low)
	case math.IsInf(b.Low, -1):
		return "≤ " + numeric.Short(b.High)
	case math.IsInf(b.High, 1):
		return "≥ " + numeric.Short(b.Low)
	}
	return numeric.Short(b.Low) + " … " + numeric.Short(b.High)
}

// holds reports whether a value lies in the band; one that is not a number does not.
func (b *Band) holds(value float64) bool { return value >= b.Low && value <= b.High }

// Chance is how far an estimate strays from what it estimates, except with probability
// RowLevel: its standard error times Student's quantile. With few replicates the
// standard error is itself uncertain, so the reach grows faster than 1/√R.
func (e Estimate) Chance() float64 {
	if e.Error == 0 {
		return 0
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: math.Max(1, float64(e.Freedom))}
	return e.Error * t.Quantile(1-RowLevel/2)
}

// noticed is how far the truth must be from the value that a band allows a distance reach, for e to be outside with
// probability 0.9, in parts of the prediction where that is not 0.
func (e Estimate) noticed(reach, prediction float64) float64 {
	if prediction == 0 {
		prediction = 1
	}
	return (reach + distuv.UnitNormal.Quantile(0.9)*e.Error) / math.Abs(prediction)
}

// Power is what the row would notice, in words; "" where that is not known.
func (r Row) Power() string {
	switch {
	case r.Band == nil || math.IsNaN(r.Notices):
		return ""
	case r.Notices == 0:
		return "any error"
	case r.Target == 0:
		return "a difference of " + numeric.Short(r.Notices)
	}
	return fmt.Sprintf("a factor of %.3g", 1+r.Notices)
}

// Judge adds a row with a band.
func (r *Report) Judge(row Row, band Band) {
	row.Study, row.Seed, row.Band = r.Study, r.Seed, &band
	if row.Error != 0 && row.Level == 0 {
		row.Level = RowLevel
	}
	r.Rows = append(r.Rows, row)
}

// Near judges an estimate that the theory puts at target; of NaN it only adds the row. tolerance is what the theory
// leaves open, such as a term of higher order; chance comes on top.
func (r *Report) Near(key, quantity string, e Estimate, target, tolerance float64, theory string) {
	if math.IsNaN(target) {
		r.Record(key, quantity, e, theory)
		return
	}
	reach := tolerance + e.Chance()
	r.Judge(Row{Key: key, Quantity: quantity, Estimate: e, Target: target, Theory: theory, Notices: e.noticed(reach, target)}, Band{target - reach, target + reach})
}

// Ratio judges a positive estimate, such as a root mean square, whose error grows with it:
// what the estimate strays by is that of the target.
func (r *Report) Ratio(key, quantity string, e Estimate, target, tolerance float64, theory string) {
	e.Error *= math.Min(1, target/e.Value)
	r.Near(key, quantity, e, target, tolerance, theory)
}

// Equal judges a count or a sum without rounding.
func (r *Report) Equal(key, quantity string, value, target float64, theory string) {
	r.Judge(Row{Key: key, Quantity: quantity, Estimate: Exact(value), Target: target, Theory: theory}, Band{target, target})
}

// Below judges that an estimate is at most bound, but for chance.
func (r *Report) Below(key, quantity string, e Estimate, bound float64, theory string) {
	r.Judge(Row{Key: key, Quantity: quantity, Estimate: e, Target: math.NaN(), Theory: theory, Notices: e.noticed(e.Chance(), bound)},
		Band{math.Inf(-1), bound + e.Chance()})
}

// Above judges that an estimate is at least bound, but for chance.
func (r *Report) Above(key, quantity string, e Estimate, bound float64, theory string) {
	r.Judge(Row{Key: key, Quantity: quantity, Estimate: e, Target: math.NaN(), Theory: theory, Notices: e.noticed(e.Chance(), bound)},
		Band{bound - e.Chance(), math.Inf(1)})
}

// Usual judges a positive number of a random problem, of which the theory predicts only that it is
// finite, or not zero, against the law of the same number in other problems: lognormal, with the
// mean and the standard deviation that it had under the 100 seeds of testdata/seeds.md.
func (r *Report) Usual(key, quantity string, value, mean, sd float64, theory string) {
	s2 := math.Log1p(numeric.Square(sd / mean))
	of := distuv.LogNormal{Mu: math.Log(mean) - s2/2, Sigma: math.Sqrt(s2)}
	band := Band{of.Quantile(RowLevel / 2), of.Quantile(1 - RowLevel/2)}
	r.Judge(Row{
		Key: key, Quantity: quantity, Estimate: Exact(value), Target: math.NaN(), Theory: theory, Level: RowLevel,
		Notices: band.High/of.Quantile(0.1) - 1,
	}, band)
}

// Rounding judges a number that is zero but for rounding.
func (r *Report) Rounding(key, quantity string, value, bound float64, theory string) {
	r.Judge(Row{Key: key, Quantity: quantity, Estimate: Exact(value), Target: 0, Theory: theory, Notices: bound}, Band{math.Inf(-1), bound})
}

// Rare judges how many of n cases there are, by name, each of probability at most rate.
func (r *Report) Rare(key, quantity string, where []string, n int, rate float64, theory string) {
	row := Row{Key: key, Quantity: quantity, Estimate: Exact(float64(len(where))), Target: math.NaN(), Theory: theory, Level: RowLevel, Where: where}
	// The most is the least c with P(Binomial(n, rate) > c) ≤ RowLevel; P(X ≥ c+1) is the regularized incomplete beta
	// function I_rate(c+1, n−c).
	most := sort.Search(n, func(c int) bool { return mathext.RegIncBeta(float64(c+1), float64(n-c), rate) <= RowLevel })
	// P(X > most) is 0.9 at this rate.
	row.Notices = mathext.InvRegIncBeta(float64(most+1), float64(max(n-most, 1)), 0.9)/rate - 1
	r.Judge(row, Band{0, float64(most)})
}

// Unsettled judges how many of n fits reached no minimum near θ*: at most that part.
func (r *Report) Unsettled(lost []string, n int, part float64) {
	r.Rare("unsettled", fmt.Sprintf("fits of %d that reach no minimum near θ*", n), lost, n, part, fmt.Sprintf("at most %g of them", part))
}

// Record adds a row that is not judged.
func (r *Report) Record(key, quantity string, e Estimate, theory string) {
	r.Rows = append(r.Rows, Row{Study: r.Study, Seed: r.Seed, Key: key, Quantity: quantity, Estimate: e, Target: math.NaN(), Theory: theory})
}

// Figure is a set of curves on common axes. It is drawn by whoever shows it, such as
// package report.
type Figure struct {
	Name, Title    string
	XLabel, YLabel string
	LogX, LogY     bool
	Curves         []Curve
}

// LogLog is a figure whose axes are both logarithmic.
func LogLog(name, title, x, y string, curves ...Curve) Figure {
	return Figure{Name: name, Title: title, XLabel: x, YLabel: y, LogX: true, LogY: true, Curves: curves}
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

// Style is how a curve is drawn: [Marks], [Joined] or [Prediction].
type Style int

const (
	Marks      Style = iota // measured points
	Joined                  // measured points in order
	Prediction              // what the theory predicts: a dashed line
)

// Curve is that of measured points in order with this label; a new one if there is none.
func (f *Figure) Curve(label string) *Curve {
	at := slices.IndexFunc(f.Curves, func(c Curve) bool { return c.Label == label })
	if at < 0 {
		at, f.Curves = len(f.Curves), append(f.Curves, Curve{Label: label, Style: Joined})
	}
	return &f.Curves[at]
}

// Add appends a point with its interval.
func (c *Curve) Add(x float64, y Estimate) {
	c.X, c.Y = append(c.X, x), append(c.Y, y.Value)
	low, high := y.bounds()
	c.Low, c.High = append(c.Low, low), append(c.High, high)
}

// Against adds a curve of n measured points, and what the theory predicts of each, which it returns. If the figure has
// a prediction of that label, this one goes on with it.
func (f *Figure) Against(label, theory string, n int, of func(i int) (x float64, measured Estimate, predicted float64)) Curve {
	measured, line := Curve{Label: label, Style: Joined}, Curve{Label: theory, Style: Prediction}
	if slices.ContainsFunc(f.Curves, func(c Curve) bool { return c.Label == theory }) {
		line.Label = ""
	}
	for i := range n {
		x, y, predicted := of(i)
		measured.Add(x, y)
		line.X, line.Y = append(line.X, x), append(line.Y, predicted)
	}
	f.Curves = append(f.Curves, measured, line)
	return line
}

// PowerLaw is the prediction scale·x^exponent over the range of the curve.
func (c Curve) PowerLaw(label string, scale, exponent float64) Curve {
	x := []float64{floats.Min(c.X), floats.Max(c.X)}
	y := data.Each(x, func(x float64) float64 { return scale * math.Pow(x, exponent) })
	return Curve{Label: label, X: x, Y: y, Style: Prediction}
}

// Vanishing is how large a sum may be that vanishes but for rounding.
const Vanishing = 1e-12
