package results

import (
	"encoding/csv"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/study"
)

// record is a line of a csv file by the names of its columns.
type record map[string]string

// readLines reads a csv file, its head among the lines.
func readLines(dir, name string) ([][]string, error) {
	path := filepath.Join(dir, name)
	f, err := data.OpenFile(path)
	if err != nil {
		return nil, data.Inputf(path, "cannot be opened: %w; the page that shows it names the command that writes it", err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, data.Inputf(path, "is no csv file: %w", err)
	}
	return lines, nil
}

// readCSV reads a csv file with a head, of at least one line.
func readCSV(dir, name string) ([]record, error) {
	lines, err := readLines(dir, name)
	if err != nil {
		return nil, err
	}
	if len(lines) < 2 {
		return nil, data.Inputf(filepath.Join(dir, name), "holds no results")
	}
	var out []record
	for _, line := range lines[1:] {
		r := record{}
		for j, head := range lines[0] {
			r[head] = line[j]
		}
		out = append(out, r)
	}
	return out, nil
}

// number is the value of a column, of X-Y or of X/Y; NaN where the cell is empty.
func (r record) number(expression string) (float64, error) {
	for _, op := range "-/" {
		if x, y, ok := strings.Cut(expression, string(op)); ok {
			a, err := r.number(x)
			if err != nil {
				return 0, err
			}
			b, err := r.number(y)
			if op == '/' {
				return a / b, err
			}
			return a - b, err
		}
	}
	text, ok := r[expression]
	if !ok {
		return 0, fmt.Errorf("has no column %q", expression)
	}
	if text == "" {
		return math.NaN(), nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("column %s holds %q, no number", expression, text)
	}
	return x, nil
}

// distinct are the values of a column in the order of the file.
func distinct(lines []record, column string) (values []string) {
	for _, r := range lines {
		if v := r[column]; !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// axis is a column of the file and those of its values that are shown.
type axis struct {
	column string
	values []string
}

func newAxis(text string, lines []record) axis {
	column, list, chosen := strings.Cut(text, ":")
	if chosen {
		return axis{column, strings.Split(list, ",")}
	}
	return axis{column, distinct(lines, column)}
}

// cell is what a table shows in one place.
type cell struct {
	lines []record
	value string // an expression
}

// tableOf fills the mark table.
func tableOf(dir string, a arguments) (string, error) {
	lines, err := readCSV(dir, a["file"])
	if err != nil {
		return "", err
	}
	lines = where(lines, a["where"])
	rows := newAxis(a["rows"], lines)
	heads, at := columnsOf(a, lines)
	t := &report.Table{Labels: []string{a["head"]}, Blocks: make([]report.Block, 1)}
	for _, h := range heads {
		t.Values = append(t.Values, report.Head{Text: h})
	}
	var grid [][]metrics.Spread
	for _, name := range rows.values {
		own := slices.DeleteFunc(slices.Clone(lines), func(r record) bool { return r[rows.column] != name })
		if len(own) == 0 {
			return "", fmt.Errorf("%s has no line whose %s is %q", a["file"], rows.column, name)
		}
		spreads := make([]metrics.Spread, len(heads))
		for j := range heads {
			if spreads[j], err = at(own, j).spread(); err != nil {
				return "", fmt.Errorf("%s: %w", a["file"], err)
			}
		}
		grid = append(grid, spreads)
		t.Blocks[0].Rows = append(t.Blocks[0].Rows, report.Row{Labels: []string{title(rows.column, name)}})
	}
	style := newStyle(a, heads)
	for i, row := range grid {
		for j := range row {
			text := style.text(row[j], j)
			if style.best(grid, i, j) {
				text = "**" + text + "**"
			}
			t.Blocks[0].Rows[i].Cells = append(t.Blocks[0].Rows[i].Cells, report.Cell{Text: text})
		}
	}
	return t.Markdown(), nil
}

// columnsOf are the heads of a table and what stands in column j of a row of these lines.
func columnsOf(a arguments, lines []record) (heads []string, at func(row []record, j int) cell) {
	if a["columns"] == "" {
		values := strings.Split(a["values"], ",")
		for _, v := range values {
			heads = append(heads, valueTitle(v))
		}
		return heads, func(row []record, j int) cell { return cell{row, values[j]} }
	}
	columns := newAxis(a["columns"], lines)
	for _, v := range columns.values {
		heads = append(heads, title(columns.column, v))
	}
	return heads, func(row []record, j int) cell {
		return cell{slices.DeleteFunc(slices.Clone(row), func(r record) bool { return r[columns.column] != columns.values[j] }), a["value"]}
	}
}

// where are the lines that have one of the values of every column that is named.
func where(lines []record, text string) []record {
	if text == "" {
		return lines
	}
	wanted := map[string][]string{}
	for _, one := range strings.Split(text, ",") {
		column, value, _ := strings.Cut(one, ":")
		wanted[column] = append(wanted[column], value)
	}
	return slices.DeleteFunc(slices.Clone(lines), func(r record) bool {
		for column, values := range wanted {
			if !slices.Contains(values, r[column]) {
				return true
			}
		}
		return false
	})
}

func (c cell) spread() (metrics.Spread, error) {
	if len(c.lines) == 0 {
		return metrics.Spread{Mean: math.NaN()}, nil
	}
	var values []float64
	for _, r := range c.lines {
		x, err := r.number(c.value)
		if err != nil {
			return metrics.Spread{}, err
		}
		values = append(values, x)
	}
	return metrics.NewSpread(values), nil
}

// style is how a table writes its values.
type style struct {
	arguments
	metrics []metrics.Metric // of each column; metrics.Metrics for other numbers
}

func newStyle(a arguments, heads []string) style {
	s := style{arguments: a}
	for j := range heads {
		name := a["value"]
		switch {
		case a["columns"] == "":
			name = strings.Split(a["values"], ",")[j]
		case name == "value":
			name = newAxis(a["columns"], nil).values[j]
		}
		s.metrics = append(s.metrics, metricOf(name))
	}
	return s
}

func (s style) text(x metrics.Spread, j int) string {
	switch {
	case math.IsNaN(x.Mean):
		return "–"
	case s.arguments["as"] == "percent":
		return fmt.Sprintf("%.1f %%", 100*x.Mean)
	case s.arguments["as"] == "text":
		return strconv.FormatFloat(x.Mean, 'g', -1, 64)
	case s.arguments.has("decimals"):
		return fmt.Sprintf("%."+s.arguments["decimals"]+"f", x.Mean)
	case s.metrics[j] == metrics.Metrics:
		return fmt.Sprintf("%.2f", x.Mean)
	}
	text := x.Format(s.metrics[j])
	if !s.has("spread") {
		text, _, _ = strings.Cut(text, "±")
	}
	return text
}

// best says whether the value in row i and column j is the best of its row, or of its column.
func (s style) best(grid [][]metrics.Spread, i, j int) bool {
	if s.metrics[j] == metrics.Metrics {
		return false
	}
	switch s.arguments["best"] {
	case "row":
		return metrics.Marks(s.metrics[j], grid[i])[j] == metrics.Best
	case "column":
		column := make([]metrics.Spread, len(grid))
		for k := range grid {
			column[k] = grid[k][j]
		}
		return !strings.HasSuffix(s.columnName(j), "_noise") && metrics.Marks(s.metrics[j], column)[i] == metrics.Best
	}
	return false
}

func (s style) columnName(j int) string {
	if s.arguments["columns"] != "" {
		return ""
	}
	return strings.Split(s.arguments["values"], ",")[j]
}

// metricOf is the metric that a column of a result file is of: of lce_own_noise it is LCE.
func metricOf(column string) metrics.Metric {
	column, _, _ = strings.Cut(column, "-")
	for m := range metrics.Metrics {
		if key := m.String(); column == key || strings.HasPrefix(column, key+"_") && !strings.HasPrefix(column, key+"_top") {
			return m
		}
	}
	return metrics.Metrics
}

// valueTitle is the head of a column of values: "LCE, own ↓", "LCE, noise".
func valueTitle(expression string) string {
	m := metricOf(expression)
	if m == metrics.Metrics {
		return strings.ReplaceAll(expression, "_", " ")
	}
	column, less, _ := strings.Cut(expression, "-")
	text := strings.ReplaceAll(m.Title()+strings.TrimPrefix(column, m.String()), "_", ", ")
	if less != "" {
		text += " − noise"
	}
	if strings.HasSuffix(column, "_noise") {
		return text
	}
	if m.HigherIsBetter() {
		return text + " ↑"
	}
	return text + " ↓"
}

// title is a value of a column as tables write it.
func title(column, value string) string {
	switch column {
	case "method", "against":
		return study.MethodTitle(value)
	case "metric":
		if m := metricOf(value); m.String() == value {
			return valueTitle(value)
		}
		return strings.ReplaceAll(value, "_", " ")
	case "share":
		if x, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Sprintf("%g %%", 100*x)
		}
	}
	return value
}
