package bench

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strconv"

	"calibra/experiments"
	"calibra/experiments/report"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/stat"
)

// growth is how the time of a workload is expected to grow along one axis: as the axis
// to the power of Expected, once what is counted there outweighs the rest.
type growth struct {
	Key      string // of the workload in the JSON report
	Title    string // what it is
	Axis     string // rows, classes, codewords or slots
	Expected float64
	measure  timed
	along    []int
	at       func(int) size
}

// growths are the axes of the three workloads. Stage 2 costs K·C² a row however many slots
// there are, stage 1 2·M·K a row, and LCE meets all pairs of rows.
var growths = []growth{
	{
		Key: "calibrator_epoch_s", Title: "stage 2, 10 classes", measure: calibrator, Axis: "rows",
		along: []int{10000, 20000, 40000, 80000}, at: func(n int) size { return ofRows(n, 10) }, Expected: 1,
	},
	{
		Key: "calibrator_epoch_s", Title: "stage 2, 1,024 rows", measure: calibrator, Axis: "classes",
		along: []int{10, 30, 100, 300, 1000}, at: func(n int) size { return ofRows(1024, n) }, Expected: 2,
	},
	{
		Key: "calibrator_epoch_s", Title: "stage 2, 1,024 rows, 100 classes", measure: calibrator, Axis: "codewords",
		along: []int{32, 64, 128, 256, 512}, at: func(n int) size { return size{Rows: 1024, Classes: 100, Codewords: n, Slots: Slots} }, Expected: 1,
	},
	{
		Key: "calibrator_epoch_s", Title: "stage 2, 1,024 rows, 100 classes", measure: calibrator, Axis: "slots",
		along: []int{16, 32, 64, 128, 256}, at: func(n int) size { return size{Rows: 1024, Classes: 100, Codewords: Codewords, Slots: n} },
	},
	{
		Key: "quantizer_epoch_s", Title: "stage 1, 2,048 rows", measure: quantizer, Axis: "codewords",
		along: []int{32, 64, 128, 256, 512}, at: func(n int) size { return size{Rows: 2048, Classes: 10, Codewords: n, Slots: Slots} }, Expected: 1,
	},
	{
		Key: "quantizer_epoch_s", Title: "stage 1, 2,048 rows", measure: quantizer, Axis: "slots",
		along: []int{16, 32, 64, 128, 256}, at: func(n int) size { return size{Rows: 2048, Classes: 10, Codewords: Codewords, Slots: n} },
	},
	{
		Key: "lce_s", Title: "LCE, 10 classes", measure: lce, Axis: "rows",
		along: []int{2500, 5000, 10000, 20000}, at: func(n int) size { return ofRows(n, 10) }, Expected: 2,
	},
}

// Scale is how the time of one workload grows along one axis.
type Scale struct {
	growth
	Measured float64 // the exponent of a line through the logarithms, beside that which is expected
	Points   []Point
}

// Point is one measurement: an epoch, or one evaluation of LCE.
type Point struct {
	size
	Seconds float64
	along   float64
}

// Scales times epochs of both stages and LCE as rows, classes, codewords and slots grow.
// Before each measurement observe, if not nil, is told how many of all are done and which
// is next.
func Scales(ctx context.Context, e experiments.Executor, reps int, observe func(done, of int, next string)) ([]Scale, error) {
	var done, of int
	for _, g := range growths {
		of += len(g.along)
	}
	var scales []Scale
	for _, g := range growths {
		s := Scale{growth: g}
		for _, n := range g.along {
			if observe != nil {
				observe(done, of, fmt.Sprintf("%s, %d %s", g.Title, n, g.Axis))
			}
			seconds, err := g.measure(ctx, e, g.at(n), reps)
			if err != nil {
				return nil, err
			}
			s.Points = append(s.Points, Point{g.at(n), seconds, float64(n)})
			done++
		}
		s.Measured = s.exponent()
		scales = append(scales, s)
	}
	return scales, nil
}

// Efficiency is how well a workload uses threads.
type Efficiency struct {
	Key       string
	Threads   int
	One, All  float64 // seconds on one thread, and on all
	Efficient float64 // One / (Threads · All): 1 where no thread ever waits
}

// Efficiencies times each workload on one thread and on all. It sets GOMAXPROCS meanwhile, by which kernels
// and metrics alike count threads.
func Efficiencies(ctx context.Context, workloads []Workload, reps int, observe func(done, of int, next string)) ([]Efficiency, error) {
	all := simd.Threads()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	var out []Efficiency
	for i, w := range workloads {
		if observe != nil {
			observe(i, len(workloads), w.Key+" on one thread and on all")
		}
		e := Efficiency{Key: w.Key, Threads: all}
		for _, on := range []struct {
			threads int
			seconds *float64
		}{{1, &e.One}, {all, &e.All}} {
			runtime.GOMAXPROCS(on.threads)
			figure, err := w.Measure(ctx, reps)
			if err != nil {
				return nil, err
			}
			*on.seconds = figure
			if w.PerSecond {
				*on.seconds = 1 / figure
			}
		}
		e.Efficient = e.One / (float64(all) * e.All)
		out = append(out, e)
	}
	return out, nil
}

// DrawScales draws the times beside those that the expected exponent would give, from the
// last point down.
func DrawScales(scales []Scale) *report.Figure {
	var panels []report.LinePanel
	for _, s := range scales {
		along, seconds := s.line()
		ticks, ideal := map[float64]string{}, make([]float64, len(along))
		last := len(along) - 1
		for i, at := range along {
			ticks[at] = strconv.Itoa(int(at))
			ideal[i] = seconds[last] * math.Pow(at/along[last], s.Expected)
		}
		panels = append(panels, report.LinePanel{Title: s.Title, X: s.Axis, Y: s.unit(), Log: true, LogY: true, Places: ticks, Named: true, Series: []report.Series{
			{Name: fmt.Sprintf("measured, exponent %.2f", s.Measured), Ours: true, X: along, Mean: seconds},
			{Name: fmt.Sprintf("expected, exponent %g", s.Expected), Kind: report.Prediction, X: along, Mean: ideal},
		}})
	}
	return report.Lines(panels)
}

// exponent is the slope of a line through the logarithms of times and places.
func (s Scale) exponent() float64 {
	x, y := s.line()
	for i := range x {
		x[i], y[i] = math.Log(x[i]), math.Log(y[i])
	}
	_, slope := stat.LinearRegression(x, y, nil, false)
	return slope
}

// line is the places of the points and their times.
func (s Scale) line() (along, seconds []float64) {
	for _, p := range s.Points {
		along, seconds = append(along, p.along), append(seconds, p.Seconds)
	}
	return along, seconds
}

// unit is what is timed; panels of one unit share their axis.
func (s Scale) unit() string {
	if s.Key == "lce_s" {
		return "seconds"
	}
	return "seconds an epoch"
}
