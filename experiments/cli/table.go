package cli

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// table is what a command prints as rows and columns. Where it is wider than the terminal
// it loses columns, those of the highest drop first, and then breaks the columns that may
// be broken over lines; as JSON and csv it is always whole.
type table struct {
	columns []column
	rows    [][]cell // one cell for each column
}

type column struct {
	head string
	key  string // in JSON; "" is the head
	drop int    // 0: never
	left bool   // ranged left, as words are; numbers are ranged right
	wrap bool   // may be broken over lines
}

// cell is a value as it is printed, and as it is.
type cell struct {
	text  string
	value any
	sd    any // of the value over seeds, in JSON beside it as KEY_sd; nil where there is none
	look  look
}

// look is how a terminal shows a cell.
type look int

const (
	plain  look = iota
	best        // bold
	second      // underlined
	aside       // dim
)

var codes = map[look]string{best: "\x1b[1m", second: "\x1b[4m", aside: "\x1b[2m"}

func (t *table) add(cells ...cell) { t.rows = append(t.rows, cells) }

// String is the cell as it is printed.
func (c cell) String() string { return c.text }

// words is a cell of text.
func words(text string) cell { return cell{text: data.Line(text), value: text} }

// decimals is a number with so many of them, or a dash where it could not be measured.
func decimals(value float64, n int) cell {
	if math.IsNaN(value) {
		return cell{text: "–", look: aside}
	}
	return cell{text: metrics.Fixed(value, n), value: value}
}

const gap = 2 // between columns

// fit chooses the columns for a width, and how wide each column is.
func (t *table) fit(width int) (shown, widths []int) {
	total := -gap
	for j, c := range t.columns {
		natural := utf8.RuneCountInString(c.head)
		for _, row := range t.rows {
			natural = max(natural, utf8.RuneCountInString(row[j].text))
		}
		shown, widths = append(shown, j), append(widths, natural)
		total += natural + gap
	}
	for total > width {
		first := slices.MaxFunc(shown, func(a, b int) int { return cmp.Compare(t.columns[a].drop, t.columns[b].drop) })
		if t.columns[first].drop == 0 {
			t.squeeze(shown, widths, total-width)
			break
		}
		shown = slices.DeleteFunc(shown, func(j int) bool { return j == first })
		total -= widths[first] + gap
	}
	return shown, widths
}

// least is how narrow a column may become that is broken over lines.
const least = 10

// squeeze takes excess off the widest of the shown columns that may be broken.
func (t *table) squeeze(shown, widths []int, excess int) {
	wide := slices.DeleteFunc(slices.Clone(shown), func(j int) bool { return !t.columns[j].wrap })
	for ; excess > 0 && len(wide) > 0; excess-- {
		at := slices.MaxFunc(wide, func(a, b int) int { return cmp.Compare(widths[a], widths[b]) })
		if widths[at] <= least {
			return
		}
		widths[at]--
	}
}

// write prints the table, and returns the heads of the columns that the width has no room for, but of those that hold nothing.
func (t *table) write(out io.Writer, width int, styled bool) (dropped []string) {
	shown, widths := t.fit(width)
	if strings.TrimSpace(strings.Join(t.heads(), "")) != "" {
		heads := data.Each(t.heads(), func(head string) cell { return cell{text: head, look: aside} })
		t.writeRow(out, heads, shown, widths, styled)
	}
	for _, row := range t.rows {
		t.writeRow(out, row, shown, widths, styled)
	}
	for j, c := range t.columns {
		if !slices.Contains(shown, j) && slices.ContainsFunc(t.rows, func(row []cell) bool { return strings.Trim(row[j].text, "– ") != "" }) {
			dropped = append(dropped, c.head)
		}
	}
	return dropped
}

// writeRow prints the shown cells of a row, over as many lines as the longest of them takes.
func (t *table) writeRow(out io.Writer, cells []cell, shown, widths []int, styled bool) {
	parts := map[int][]string{}
	lines := 1
	for _, j := range shown {
		parts[j] = []string{cells[j].text}
		if t.columns[j].wrap {
			parts[j] = broken(cells[j].text, widths[j])
		}
		lines = max(lines, len(parts[j]))
	}
	for l := range lines {
		var line []string
		for _, j := range shown {
			text := ""
			if l < len(parts[j]) {
				text = parts[j][l]
			}
			space := strings.Repeat(" ", max(0, widths[j]-utf8.RuneCountInString(text)))
			if code := codes[cells[j].look]; styled && code != "" && text != "" {
				text = code + text + "\x1b[0m"
			}
			if t.columns[j].left {
				line = append(line, text+space)
			} else {
				line = append(line, space+text)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(strings.Join(line, strings.Repeat(" ", gap)), " "))
	}
}

// broken is text in lines of at most width, broken between words where it can be.
func broken(text string, width int) []string {
	var words []string
	for _, word := range strings.Fields(text) {
		for part := range slices.Chunk([]rune(word), width) {
			words = append(words, string(part))
		}
	}
	return strings.Split(folded(strings.Join(words, " "), width), "\n")
}

func (t *table) heads() []string {
	return data.Each(t.columns, func(c column) string { return c.head })
}

// objects is the table for JSON: one object a row, without what could not be measured.
func (t *table) objects() []map[string]any {
	objects := []map[string]any{}
	for _, row := range t.rows {
		o := map[string]any{}
		for j, c := range t.columns {
			key := cmp.Or(c.key, c.head)
			if row[j].value != nil {
				o[key] = row[j].value
			}
			if row[j].sd != nil {
				o[key+"_sd"] = row[j].sd
			}
		}
		objects = append(objects, o)
	}
	return objects
}

// csv writes the table as it is printed, all columns.
func (t *table) csv(out io.Writer) error {
	lines := data.Each(t.rows, func(row []cell) []string { return data.Each(row, cell.String) })
	return data.WriteCSV(out, slices.Insert(lines, 0, t.heads()))
}

// onPage is the cell as a page shows it.
func (c cell) onPage() report.Cell { return report.Cell{Text: c.text} }

// page is the table as a page shows it, its first columns of words as labels.
func (t *table) page(caption string) *report.Table {
	labels := slices.IndexFunc(t.columns, func(c column) bool { return !c.left })
	out := &report.Table{Caption: caption, Labels: t.heads()[:labels], Values: report.Heads(t.heads()[labels:]...)}
	for _, row := range t.rows {
		out.Add("", report.Row{Labels: data.Each(row[:labels], cell.String), Cells: data.Each(row[labels:], cell.onPage)})
	}
	return out
}

// reported is a table of a report for the terminal: a column of the data where there are
// several, the labels, and the values, of which those of high drop go where it is narrow.
func reported(r *report.Table, drops map[string]int) *table {
	t := &table{}
	if len(r.Blocks) > 1 {
		t.columns = append(t.columns, column{head: "data", left: true})
	}
	t.columns = append(t.columns, data.Each(r.Labels, func(label string) column { return column{head: strings.ToLower(label[:1]) + label[1:], left: true} })...)
	for _, h := range r.Values {
		key := strings.ToLower(strings.NewReplacer(metrics.ECE.Title(), metrics.ECE.String(), metrics.TopECE.Title(), metrics.TopECE.String(), " ", "_").Replace(h.Text))
		t.columns = append(t.columns, column{head: strings.TrimSpace(h.Text + " " + h.Arrow), key: cmp.Or(map[string]string{"acc": "accuracy"}[key], key), drop: drops[h.Text]})
	}
	for _, b := range r.Blocks {
		for i, row := range b.Rows {
			var cells []cell
			if len(r.Blocks) > 1 {
				name := words(b.Name)
				if i > 0 {
					name.text = ""
				}
				cells = append(cells, name)
			}
			cells = append(cells, data.Each(row.Labels, words)...)
			for _, v := range row.Cells {
				shown := spreadOf(v)
				shown.look = map[metrics.Mark]look{metrics.Best: best, metrics.Second: second}[v.Mark]
				cells = append(cells, shown)
			}
			t.add(cells...)
		}
	}
	return t
}

// spreadOf is the cell with its mean and, of several seeds, their standard deviation, as they
// are; it has no value where that could not be measured.
func spreadOf(v report.Cell) cell {
	c := cell{text: v.Text}
	switch s := v.Spread; {
	case math.IsNaN(s.Mean) || math.IsInf(s.Mean, 0):
	case s.Runs == 0:
		c.value = v.Text
	case s.Runs == 1:
		c.value = s.Mean
	default:
		c.value, c.sd = s.Mean, s.SD
	}
	return c
}

// resultDrops are what the tables of results lose first.
var resultDrops = map[string]int{"PHI Brier": 8, "MLCE own": 7, "MLCE shared": 6, "ECCE": 5, "LCE own": 4, "PHI NLL": 3, "class-wise ECE": 2, "KL to truth": 1}
