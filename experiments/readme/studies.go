package readme

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/study"
)

// methods of the paper's tables, in their order, its kernel calibration beside its authors'.
var methods = []string{"vq", "sm", "dc", "kc", "kc-original", "ln", "ps", "ir", "ts", "pc", "nc"}

// quantity is a number of a line of a study's results.csv.
type quantity struct {
	title  string
	metric metrics.Metric
	value  func(record) (float64, error)
	floor  bool // of another column, and not ranked
}

func value(title string, m metrics.Metric, column string) quantity {
	return quantity{title: title, metric: m, value: func(r record) (float64, error) { return r.number(column) }}
}

// noise is the floor of the column before it.
func noise(title string, m metrics.Metric, column string) quantity {
	q := value(title, m, column)
	q.floor = true
	return q
}

// aboveNoise is a column less what a perfectly calibrated model would show in it.
func aboveNoise(title string, m metrics.Metric, column string) quantity {
	return quantity{title: title, metric: m, value: func(r record) (float64, error) {
		x, err := r.number(column)
		if err != nil {
			return 0, err
		}
		noise, err := r.number(column + "_noise")
		return x - noise, err
	}}
}

// claims is what the paper's questions ask: local error (Q1), in sparse regions (Q2),
// and global error (Q3).
func claims(dir string) (string, error) {
	return studied(dir, []quantity{
		value("LCE own ↓", metrics.LCE, "lce_own"), noise("noise, own", metrics.LCE, "lce_own_noise"), value("LCE ↓", metrics.LCE, "lce"), noise("noise", metrics.LCE, "lce_noise"),
		value("LCE, sparse third ↓", metrics.LCE, "lce_sparse"), noise("noise", metrics.LCE, "lce_sparse_noise"),
		value("MLCE own ↓", metrics.MLCE, "mlce_own"), noise("noise, own", metrics.MLCE, "mlce_own_noise"), value("MLCE ↓", metrics.MLCE, "mlce"), noise("noise", metrics.MLCE, "mlce_noise"),
		value("ECCE ↓", metrics.ECCE, "ecce"), value("ECE ↓", metrics.ECE, "ece"),
		value("ACC ↑", metrics.Accuracy, "accuracy"), value("NLL ↓", metrics.NLL, "nll"),
	})
}

// studied is a table of study main, a method a row.
func studied(dir string, quantities []quantity) (string, error) {
	lines, err := readCSV(dir, "main.csv")
	if err != nil {
		return "", err
	}
	t := table{head: []string{"method"}}
	byMethod := map[string][]record{}
	for _, r := range lines {
		byMethod[r["method"]] = append(byMethod[r["method"]], r)
	}
	for _, m := range methods {
		if byMethod[m] != nil {
			t.rows = append(t.rows, []string{study.MethodTitle(m)})
		}
	}
	for _, q := range quantities {
		t.head = append(t.head, q.title)
		var spreads []metrics.Spread
		var counts []int // seeds of each row
		for _, m := range methods {
			if byMethod[m] == nil {
				continue
			}
			counts = append(counts, len(byMethod[m]))
			s, err := spread(byMethod[m], q.value)
			if err != nil {
				return "", fmt.Errorf("main.csv: %w", err)
			}
			spreads = append(spreads, s)
		}
		text := withSD(q.metric, counts)
		cells := column(q.metric, spreads, text)
		if q.floor {
			for i, s := range spreads {
				cells[i] = meanOnly(q.metric)(i, s)
			}
		}
		for i, cell := range cells {
			t.rows[i] = append(t.rows[i], cell)
		}
	}
	return origin("main", lines) + ", mean±standard deviation:\n\n" + t.String(), nil
}

func spread(lines []record, value func(record) (float64, error)) (metrics.Spread, error) {
	var values []float64
	for _, r := range lines {
		x, err := value(r)
		if err != nil {
			return metrics.Spread{}, err
		}
		values = append(values, x)
	}
	return metrics.NewSpread(values), nil
}

// origin says which command gives the numbers, on which seeds.
func origin(name string, lines []record) string {
	seeds := func(value func(record) bool) string {
		var out []string
		for _, r := range lines {
			if value(r) && !slices.Contains(out, r["seed"]) {
				out = append(out, r["seed"])
			}
		}
		return strings.Join(out, ",")
	}
	all := seeds(func(record) bool { return true })
	var fewer []string
	for _, m := range methods {
		if s := seeds(func(r record) bool { return r["method"] == m }); s != "" && s != all {
			fewer = append(fewer, study.MethodTitle(m)+": "+s)
		}
	}
	text := fmt.Sprintf("`./calibra study %s --data %s.npz --split %s --seeds %s%s --out runs/%[1]s`", name, lines[0]["data"], lines[0]["split"], all, only(name, lines))
	if fewer != nil {
		text += " (" + strings.Join(fewer, "; ") + ")"
	}
	return text
}

// only is the flag that restricts the study to the methods of the file, if it has more.
func only(name string, lines []record) string {
	s, err := study.ByName(name)
	if err != nil {
		panic("readme: " + err.Error())
	}
	var there []string
	for _, r := range lines {
		if !slices.Contains(there, r["method"]) {
			there = append(there, r["method"])
		}
	}
	for _, spec := range s.Grid(nil) {
		if !slices.Contains(there, spec.Method) {
			return " --methods " + strings.Join(there, ",")
		}
	}
	return ""
}

// sizes are the results of study calsize, in the order of the file.
type sizes struct {
	lines             []record
	methods, fraction []string
}

func readSizes(dir string) (*sizes, error) {
	lines, err := readCSV(dir, "calsize.csv")
	if err != nil {
		return nil, err
	}
	s := &sizes{lines: lines}
	for _, r := range lines {
		if !slices.Contains(s.methods, r["method"]) {
			s.methods = append(s.methods, r["method"])
		}
		if !slices.Contains(s.fraction, r["calibration_fraction"]) {
			s.fraction = append(s.fraction, r["calibration_fraction"])
		}
	}
	return s, nil
}

// at is the spread of a metric over the seeds, and whether there is one.
func (s *sizes) at(method, fraction string, m metrics.Metric) (metrics.Spread, bool, error) {
	var lines []record
	for _, r := range s.lines {
		if r["method"] == method && r["calibration_fraction"] == fraction {
			lines = append(lines, r)
		}
	}
	if lines == nil {
		return metrics.Spread{}, false, nil
	}
	v, err := spread(lines, func(r record) (float64, error) { return r.number(m.String()) })
	return v, true, err
}

// percent is the fraction of the calibration rows, in %.
func percent(fraction string) (float64, error) {
	x, err := strconv.ParseFloat(fraction, 64)
	if err != nil {
		return 0, fmt.Errorf("calsize.csv: the calibration_fraction %q is no number", fraction)
	}
	return 100 * x, nil
}

// calibrationSize says what the picture shows.
func calibrationSize(dir string) (string, error) {
	s, err := readSizes(dir)
	if err != nil {
		return "", err
	}
	return origin("calsize", s.lines) + ":\n\n![LCE and NLL along the share of calibration rows fitted on](experiments/readme/calsize.svg)\n", nil
}

// calibrationSizePicture draws LCE and NLL along the share of calibration rows.
func calibrationSizePicture(dir string) ([]byte, error) {
	s, err := readSizes(dir)
	if err != nil {
		return nil, err
	}
	var panels []report.LinePanel
	for _, m := range []metrics.Metric{metrics.LCE, metrics.NLL} {
		panel := report.LinePanel{Title: s.lines[0]["data"], X: "calibration rows fitted on, %", Y: m.Title(), Log: true, Places: map[float64]string{}}
		for _, method := range s.methods {
			line := report.Series{Name: study.MethodTitle(method), Ours: method == "vq", Style: study.Style(method)}
			for _, f := range s.fraction {
				x, err := percent(f)
				if err != nil {
					return nil, err
				}
				panel.Places[x] = strconv.FormatFloat(x, 'g', 3, 64)
				v, ok, err := s.at(method, f, m)
				if err != nil {
					return nil, err
				}
				if ok {
					line.X, line.Mean, line.SD = append(line.X, x), append(line.Mean, v.Mean), append(line.SD, v.SD)
				}
			}
			panel.Series = append(panel.Series, line)
		}
		panels = append(panels, panel)
	}
	figure, err := report.Lines(panels)
	if err != nil {
		return nil, err
	}
	return figure.Render("svg")
}
