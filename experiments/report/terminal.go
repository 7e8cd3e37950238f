package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/metrics"
)

// Screen is a terminal: so many letters wide, plain or with bold, underlined and dim ones.
type Screen struct {
	Width  int
	Styled bool
}

// Write prints the parts, an empty line between them, and returns the heads of the columns that have no room.
func (s Screen) Write(w io.Writer, parts ...Part) (dropped []string) {
	for i, p := range parts {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if p.Table != nil {
			for _, head := range s.table(w, p.Table) {
				dropped = data.Once(dropped, head)
			}
		}
		for _, line := range p.Lines {
			fmt.Fprintln(w, Folded(line, s.Width))
		}
	}
	return dropped
}

// table prints a table. Where it is wider than the screen it loses columns, those of the highest drop first, and then
// the columns that may be broken are. It returns the heads of those that are lost, but of those that hold nothing.
func (s Screen) table(w io.Writer, t *Table) (dropped []string) {
	heads, labels, rows := t.flat()
	for _, row := range rows {
		for j := range row {
			row[j].Text = data.Line(row[j].Text)
		}
	}
	g := grid{heads: heads, labels: labels, rows: rows}
	g.fit(s.Width)
	titles := data.Each(heads, func(h Head) Cell { return Cell{Text: h.title(), Mark: aside} })
	if slices.ContainsFunc(heads, func(h Head) bool { return h.Text != "" }) {
		g.write(w, titles, s.Styled)
	}
	for _, row := range rows {
		g.write(w, row, s.Styled)
	}
	for j, h := range heads {
		if !slices.Contains(g.shown, j) && slices.ContainsFunc(rows, func(row []Cell) bool { return strings.Trim(row[j].Text, "– ") != "" }) {
			dropped = append(dropped, h.title())
		}
	}
	return dropped
}

func (h Head) title() string { return strings.TrimSpace(h.Text + " " + h.Arrow) }

// grid is a table for a width.
type grid struct {
	heads         []Head
	labels        int
	rows          [][]Cell
	shown, widths []int
}

const besides = 2 // between columns

// fit chooses the columns for a width, and how wide each column is.
func (g *grid) fit(width int) {
	total := -besides
	for j, h := range g.heads {
		natural := utf8.RuneCountInString(h.title())
		for _, row := range g.rows {
			natural = max(natural, utf8.RuneCountInString(row[j].Text))
		}
		if j < g.labels && natural > sentence {
			g.heads[j].Wrap = true
		}
		g.shown, g.widths = append(g.shown, j), append(g.widths, natural)
		total += natural + besides
	}
	for total > width {
		first := slices.MaxFunc(g.shown, func(a, b int) int { return cmp.Compare(g.heads[a].Drop, g.heads[b].Drop) })
		if g.heads[first].Drop == 0 {
			g.squeeze(total - width)
			break
		}
		g.shown = slices.DeleteFunc(g.shown, func(j int) bool { return j == first })
		total -= g.widths[first] + besides
	}
}

// sentence is how wide a column of labels is at least that may be broken over lines.
const sentence = 24

// least is how narrow a column may become that is broken over lines, where its words are no longer.
const least = 10

// longest is the width of the longest word of a column.
func (g *grid) longest(column int) int {
	width := least
	for _, row := range g.rows {
		for word := range strings.FieldsSeq(joined.Replace(row[column].Text)) {
			width = max(width, utf8.RuneCountInString(word))
		}
	}
	return width
}

// squeeze takes excess off the widest of the shown columns that may be broken.
func (g *grid) squeeze(excess int) {
	room := map[int]int{} // that a column may lose
	for _, j := range g.shown {
		if g.heads[j].Wrap {
			room[j] = g.widths[j] - g.longest(j)
		}
	}
	for ; excess > 0; excess-- {
		wide := slices.DeleteFunc(slices.Clone(g.shown), func(j int) bool { return room[j] <= 0 })
		if len(wide) == 0 {
			return
		}
		at := slices.MaxFunc(wide, func(a, b int) int { return cmp.Compare(g.widths[a], g.widths[b]) })
		g.widths[at]--
		room[at]--
	}
}

// aside marks what a terminal shows dim.
const aside metrics.Mark = -1

var codes = map[metrics.Mark]string{metrics.Best: "\x1b[1m", metrics.Second: "\x1b[4m", aside: "\x1b[2m"}

// write prints the shown cells of a row, over as many lines as the longest of them takes.
func (g *grid) write(out io.Writer, cells []Cell, styled bool) {
	parts := map[int][]string{}
	lines := 1
	for _, j := range g.shown {
		parts[j] = []string{cells[j].Text}
		if g.heads[j].Wrap {
			parts[j] = strings.Split(Folded(cells[j].Text, g.widths[j]), "\n")
		}
		lines = max(lines, len(parts[j]))
	}
	for l := range lines {
		var line []string
		for _, j := range g.shown {
			text := ""
			if l < len(parts[j]) {
				text = parts[j][l]
			}
			space, mark := strings.Repeat(" ", max(0, g.widths[j]-utf8.RuneCountInString(text))), cells[j].Mark
			if text == "–" {
				mark = aside
			}
			if code := codes[mark]; styled && code != "" && text != "" {
				text = code + text + "\x1b[0m"
			}
			if j < g.labels || g.heads[j].Wrap {
				line = append(line, text+space)
			} else {
				line = append(line, space+text)
			}
		}
		fmt.Fprintln(out, strings.TrimRight(strings.Join(line, strings.Repeat(" ", besides)), " "))
	}
}

// joined are words that stay on one line: "p = 0.05" and "95 %".
var joined = strings.NewReplacer("p = ", "p\x00=\x00", "p ≤ ", "p\x00≤\x00", " %", "\x00%")

// Folded is text in lines of at most width, broken between words alone: a path stays whole.
func Folded(text string, width int) string {
	return folded(text, func(line string) bool { return utf8.RuneCountInString(line) <= width })
}

// folded is text in lines that fit, broken between words.
func folded(text string, fits func(line string) bool) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(joined.Replace(text)) {
		word = strings.ReplaceAll(word, "\x00", " ")
		if line != "" && !fits(line+" "+word) {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return strings.Join(append(lines, line), "\n")
}
