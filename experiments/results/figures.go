package results

import (
	"fmt"
	"strconv"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/study"
)

// calibrationSize draws LCE and NLL along the share of calibration rows.
func calibrationSize(dir string) ([]byte, error) {
	lines, err := readCSV(dir, "calsize.csv")
	if err != nil {
		return nil, err
	}
	lines = where(lines, "data:cifar10-resnet")
	var panels []report.LinePanel
	for _, m := range []metrics.Metric{metrics.LCE, metrics.NLL} {
		panel := report.LinePanel{Title: lines[0]["data"], X: "calibration rows fitted on, %", Y: m.Title(), Log: true, Places: map[float64]string{}}
		for _, method := range distinct(lines, "method") {
			line := report.Series{Name: study.MethodTitle(method), Ours: method == "vq", Style: study.Style(method)}
			for _, fraction := range distinct(lines, "calibration_fraction") {
				share, err := strconv.ParseFloat(fraction, 64)
				if err != nil {
					return nil, fmt.Errorf("calsize.csv: the calibration_fraction %q is no number", fraction)
				}
				x := 100 * share
				panel.Places[x] = strconv.FormatFloat(x, 'g', 3, 64)
				runs := where(lines, "method:"+method+",calibration_fraction:"+fraction)
				if len(runs) == 0 {
					continue
				}
				v, err := spreadOf(runs, m.String())
				if err != nil {
					return nil, fmt.Errorf("calsize.csv: %w", err)
				}
				line.X, line.Mean, line.SD = append(line.X, x), append(line.Mean, v.Mean), append(line.SD, v.SD)
			}
			panel.Series = append(panel.Series, line)
		}
		panels = append(panels, panel)
	}
	return report.Lines(panels).Render("svg")
}

// shown are the sources of the picture of gains, real ones first.
var shown = []string{"letter", "satellite", "digits", "cifar10-resnet", "cifar100-resnet", "cubic", "proximity", "proximity100", "rare", "calibrated"}

// gain draws by how many percent the recommended method and the paper's change the NLL of the
// classifier as it is, with the intervals of the benchmark's tests.
func gain(dir string) ([]byte, error) {
	tests, err := readCSV(dir, "benchmark-tests.csv")
	if err != nil {
		return nil, err
	}
	values, err := readCSV(dir, "benchmark.csv")
	if err != nil {
		return nil, err
	}
	var methods []report.Changes
	for _, method := range []string{"stacked", "vq"} {
		m := report.Changes{Title: study.MethodTitle(method), Ours: method == "stacked", Subjects: shown}
		for _, source := range shown {
			runs := where(tests, "family:uncalibrated,tuned:true,against:nc,method:"+method+",data:"+source)
			if len(runs) != 1 {
				return nil, fmt.Errorf("benchmark-tests.csv has %d tests of %s against nc on %s, not 1", len(runs), method, source)
			}
			base, err := spreadOf(where(values, "method:nc,data:"+source), "nll")
			if err != nil {
				return nil, err
			}
			for _, end := range []struct {
				to     *[]float64
				column string
			}{{&m.At, "difference"}, {&m.Low, "low"}, {&m.High, "high"}} {
				d, err := runs[0].number(end.column)
				if err != nil {
					return nil, err
				}
				*end.to = append(*end.to, 100*d/base.Mean)
			}
		}
		methods = append(methods, m)
	}
	return report.Compare(methods, "change of NLL, %").Render("svg")
}
