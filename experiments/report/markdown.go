package report

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
)

// WriteMarkdown writes the document's tables; the best of a column is bold, the
// second underlined.
func (d *Document) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n", inMarkdown(d.Title), inMarkdown(d.Intro))
	for _, v := range d.Verdict {
		b.WriteString("\n")
		if v.Title != "" {
			fmt.Fprintf(&b, "**%s.** ", inMarkdown(v.Title))
		}
		fmt.Fprintf(&b, "%s\n", inMarkdown(strings.Join(v.Lines, " ")))
	}
	for _, s := range d.Sections {
		if len(s.Tables) == 0 && s.Lines == nil {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
		if s.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", s.Note)
		}
		for _, t := range s.Tables {
			fmt.Fprintf(&b, "\n%s\n\n%s", inMarkdown(t.Caption), t.Markdown())
		}
		b.WriteString(listed(s.Lines))
	}
	if len(d.Failures) > 0 {
		b.WriteString("\n## Failed cells\n" + listed(d.Failures))
	}
	b.WriteString("\n## How\n" + listed(data.Each(d.Facts, func(f Fact) string { return f.Name + ": " + f.Value })))
	_, err := io.WriteString(w, b.String())
	return err
}

// listed is a list of lines after an empty one, "" of none.
func listed(lines []string) string {
	text := strings.Join(data.Each(lines, func(line string) string { return "- " + inMarkdown(line) + "\n" }), "")
	if text == "" {
		return ""
	}
	return "\n" + text
}

// Markdown is the table without its caption.
func (t *Table) Markdown() string {
	heads := data.Each(t.labelled("data"), escapeBars)
	labels, rules := len(heads), slices.Repeat([]string{"---"}, len(heads))
	for _, h := range t.Values {
		heads, rules = append(heads, strings.TrimSpace(escapeBars(h.Text)+" "+h.Arrow)), append(rules, "--:")
	}
	var b strings.Builder
	fmt.Fprintf(&b, "| %s |\n|%s|\n", strings.Join(heads, " | "), strings.Join(rules, "|"))
	for _, row := range t.lines(t.named()) {
		cells := data.Each(row[:labels], func(c Cell) string { return escapeBars(c.Text) })
		for _, c := range row[labels:] {
			mark := markdownMarks[c.Mark]
			cells = append(cells, mark[0]+c.Text+mark[1])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

// markdownMarks stand before and after a cell.
var markdownMarks = map[metrics.Mark][2]string{metrics.Best: {"**", "**"}, metrics.Second: {"<u>", "</u>"}}

func escapeBars(s string) string { return strings.ReplaceAll(inMarkdown(data.Line(s)), "|", `\|`) }

// inMarkdown is text with no element of HTML in it.
func inMarkdown(s string) string { return elements.ReplaceAllString(data.Lines(s), "&lt;$1") }

var elements = regexp.MustCompile(`<([a-zA-Z/!?])`)
