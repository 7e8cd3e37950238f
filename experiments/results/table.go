package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
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

// readFile is the text of a result file.
func readFile(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	text, err := data.ReadFile(path)
	if err != nil {
		return nil, data.Inputf(path, "cannot be read: %w; the page that shows it names the command that writes it", err)
	}
	return text, nil
}

// readLines reads a csv file, its head among the lines.
func readLines(dir, name string) ([][]string, error) {
	text, err := readFile(dir, name)
	if err != nil {
		return nil, err
	}
	lines, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		return nil, data.Inputf(filepath.Join(dir, name), "is no csv file: %w", err)
	}
	return lines, nil
}

// readRecords reads files of at least one line each: csv files with a head, and jsonl files of an object a line, whose
// numbers within others are a.b.
func readRecords(dir, names string) (out []record, err error) {
	for _, name := range strings.Split(names, ",") {
		read := readCSV
		if filepath.Ext(name) == ".jsonl" {
			read = readObjects
		}
		lines, err := read(dir, name)
		if err == nil && lines == nil {
			err = data.Inputf(filepath.Join(dir, name), "holds no results")
		}
		if err != nil {
			return nil, err
		}
		out = append(out, lines...)
	}
	return out, nil
}

func readObjects(dir, name string) (out []record, err error) {
	text, err := readFile(dir, name)
	if err != nil {
		return nil, err
	}
	for line := range bytes.Lines(text) {
		var object map[string]any
		if err := json.Unmarshal(line, &object); err != nil {
			return nil, data.Inputf(filepath.Join(dir, name), "has a line that is no JSON object: %w", err)
		}
		r := record{}
		for key, value := range object {
			r[key] = fmt.Sprint(value)
			if within, ok := value.(map[string]any); ok {
				for part, value := range within {
					r[key+"."+part] = fmt.Sprint(value)
				}
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// readCSV reads a csv file with a head.
func readCSV(dir, name string) (out []record, err error) {
	lines, err := readLines(dir, name)
	if err != nil || lines == nil {
		return nil, err
	}
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
		values = data.Once(values, r[column])
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

// tableOf fills the mark table.
func tableOf(dir string, a arguments) (string, error) {
	lines, err := readRecords(dir, a["file"])
	if err != nil {
		return "", err
	}
	lines = where(lines, a["where"])
	rows, columns := newAxis(a["rows"], lines), columnsOf(a, lines)
	t := &report.Table{Labels: []string{a["head"]}, Values: data.Each(columns, func(c column) report.Head { return report.Head{Text: c.head} })}
	grid := make([][]metrics.Spread, len(rows.values))
	for i, name := range rows.values {
		own := having(lines, rows.column, name)
		if len(own) == 0 {
			return "", fmt.Errorf("%s has no line whose %s is %q", a["file"], rows.column, name)
		}
		for _, c := range columns {
			values, err := numbers(having(own, c.of, c.is), c.value)
			if err != nil {
				return "", fmt.Errorf("%s: %w", a["file"], err)
			}
			grid[i] = append(grid[i], a.summary(values))
		}
	}
	for i, name := range rows.values {
		row := report.Row{Labels: []string{title(rows.column, name)}}
		for j, c := range columns {
			text := a.text(grid[i][j], c.metric)
			if a.has("beside") && i > 0 {
				ratio := grid[i][j].Mean / grid[0][j].Mean
				text += fmt.Sprintf(", %.3g×", max(ratio, 1/ratio))
			}
			if a.best(columns, grid, i, j) {
				text = "**" + text + "**"
			}
			row.Cells = append(row.Cells, report.Cell{Text: text})
		}
		t.Add("", row)
	}
	return t.Markdown(), nil
}

// column is a column of a table.
type column struct {
	head, value string         // a value is an expression
	of, is      string         // the column of the file whose value is is in the lines that it shows; "" for all
	metric      metrics.Metric // that it shows; metrics.Metrics for other numbers
	noise       bool           // a floor, of which none is the best
}

func columnsOf(a arguments, lines []record) (columns []column) {
	if a["columns"] == "" {
		heads := strings.Split(a["heads"], "|")
		for i, v := range strings.Split(a["values"], ",") {
			head := valueTitle(v)
			if i < len(heads) && a.has("heads") {
				head = heads[i]
			}
			columns = append(columns, column{head: head, value: v, metric: metricOf(v), noise: strings.HasSuffix(v, "_noise")})
		}
		return columns
	}
	shown := newAxis(a["columns"], lines)
	for _, v := range shown.values {
		c := column{head: title(shown.column, v), value: a["value"], of: shown.column, is: v, metric: metricOf(a["value"])}
		if c.value == "value" {
			c.metric = metricOf(v)
		}
		columns = append(columns, c)
	}
	return columns
}

// having are the lines that have a value in a column.
func having(lines []record, column, value string) []record {
	return slices.DeleteFunc(slices.Clone(lines), func(r record) bool { return r[column] != value })
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

// summary is the spread of values, or their median without one; its mean is NaN of none.
func (a arguments) summary(values []float64) metrics.Spread {
	if !a.has("median") {
		return metrics.NewSpread(values)
	}
	slices.Sort(values)
	return metrics.Spread{Mean: (values[(len(values)-1)/2] + values[len(values)/2]) / 2}
}

// numbers are an expression of each line.
func numbers(lines []record, expression string) (values []float64, err error) {
	for _, r := range lines {
		x, err := r.number(expression)
		if err != nil {
			return nil, err
		}
		values = append(values, x)
	}
	return values, nil
}

// text is a value as the table writes it.
func (a arguments) text(x metrics.Spread, m metrics.Metric) string {
	switch {
	case math.IsNaN(x.Mean):
		return "–"
	case a["as"] == "percent":
		return fmt.Sprintf("%.1f %%", 100*x.Mean)
	case a["as"] == "digits" && x.Mean >= 100:
		return fmt.Sprintf("%.0f", x.Mean)
	case a["as"] == "digits":
		return fmt.Sprintf("%.3g", x.Mean)
	case a["as"] == "text":
		return strconv.FormatFloat(x.Mean, 'g', -1, 64)
	case a.has("decimals"):
		return fmt.Sprintf("%."+a["decimals"]+"f", x.Mean)
	case m == metrics.Metrics:
		return fmt.Sprintf("%.2f", x.Mean)
	}
	text := x.Format(m)
	if !a.has("spread") {
		text, _, _ = strings.Cut(text, "±")
	}
	return text
}

// best reports whether the value in row i and column j is the best of its row, or of its column.
func (a arguments) best(columns []column, grid [][]metrics.Spread, i, j int) bool {
	c := columns[j]
	if c.metric == metrics.Metrics {
		return false
	}
	switch a["best"] {
	case "row":
		return metrics.Marks(c.metric, grid[i])[j] == metrics.Best
	case "column":
		all := data.Each(grid, func(row []metrics.Spread) metrics.Spread { return row[j] })
		return !c.noise && metrics.Marks(c.metric, all)[i] == metrics.Best
	}
	return false
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
	case "peer":
		return map[string]string{"": "Calibra", "eager": "PyTorch", "compile": "torch.compile", "jax": "JAX, jit"}[value]
	case "metric":
		if m := metricOf(value); m < metrics.Metrics && m.String() == value {
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
