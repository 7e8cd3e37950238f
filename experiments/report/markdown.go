package report

import (
	"fmt"
	"io"
	"regexp"
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
		if len(s.Tables) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
		if s.Note != "" {
			fmt.Fprintf(&b, "\n%s\n", s.Note)
		}
		for _, t := range s.Tables {
			fmt.Fprintf(&b, "\n%s\n\n%s", inMarkdown(t.Caption), t.Markdown())
		}
	}
	if len(d.Failures) > 0 {
		b.WriteString("\n## Failed cells\n\n")
		for _, f := range d.Failures {
			fmt.Fprintf(&b, "- %s\n", inMarkdown(f))
		}
	}
	b.WriteString("\n## How\n\n")
	for _, f := range d.Facts {
		fmt.Fprintf(&b, "- %s: %s\n", inMarkdown(f.Name), inMarkdown(f.Value))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Markdown is the table without its caption.
func (t *Table) Markdown() string {
	b := &strings.Builder{}
	b.WriteByte('|')
	rule := "|"
	if t.named() {
		b.WriteString(" data |")
		rule += "---|"
	}
	for _, l := range t.Labels {
		fmt.Fprintf(b, " %s |", escapeBars(l))
		rule += "---|"
	}
	for _, h := range t.Values {
		fmt.Fprintf(b, " %s |", strings.TrimSpace(escapeBars(h.Text)+" "+h.Arrow))
		rule += "--:|"
	}
	fmt.Fprintf(b, "\n%s\n", rule)
	for _, block := range t.Blocks {
		for i, r := range block.Rows {
			name := ""
			if i == 0 {
				name = block.Name
			}
			b.WriteByte('|')
			if t.named() {
				fmt.Fprintf(b, " %s |", escapeBars(name))
			}
			for _, l := range r.Labels {
				fmt.Fprintf(b, " %s |", escapeBars(l))
			}
			for _, c := range r.Cells {
				switch c.Mark {
				case metrics.Best:
					fmt.Fprintf(b, " **%s** |", c.Text)
				case metrics.Second:
					fmt.Fprintf(b, " <u>%s</u> |", c.Text)
				default:
					fmt.Fprintf(b, " %s |", c.Text)
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func escapeBars(s string) string { return strings.ReplaceAll(inMarkdown(data.Line(s)), "|", `\|`) }

// inMarkdown is text with no element of HTML in it.
func inMarkdown(s string) string { return elements.ReplaceAllString(data.Lines(s), "&lt;$1") }

var elements = regexp.MustCompile(`<([a-zA-Z/!?])`)
