package report

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"calibra/data"
	"calibra/experiments/metrics"
)

// WriteLaTeX writes the document's tables in the paper's style. They need the
// packages booktabs, multirow, graphicx and xcolor with the option table.
func (d *Document) WriteLaTeX(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s\n%% \\usepackage{booktabs,multirow,graphicx} \\usepackage[table]{xcolor}\n", data.Line(d.Title))
	for _, s := range d.Sections {
		for _, t := range s.Tables {
			t.latex(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) latex(b *strings.Builder) {
	var heads []string
	if t.named() {
		heads = append(heads, "Data")
	}
	for _, l := range t.Labels {
		heads = append(heads, escapeTeX(l))
	}
	for _, h := range t.Values {
		arrow := map[string]string{"↓": `$\,\downarrow$`, "↑": `$\,\uparrow$`}[h.Arrow]
		heads = append(heads, escapeTeX(h.Text)+arrow)
	}
	fmt.Fprintf(b, "\n\\begin{table*}[t]\n\\centering\n\\scriptsize\n\\caption{%s}\n\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n", escapeTeX(t.Caption), strings.Repeat("c", len(heads)), strings.Join(heads, " & "))
	for _, block := range t.Blocks {
		b.WriteString("\\midrule\n")
		if t.named() {
			fmt.Fprintf(b, "\\multirow{%d}{*}{\\rotatebox{90}{\\texttt{%s}}}\n", len(block.Rows), escapeTeX(block.Name))
		}
		for _, r := range block.Rows {
			shade := ""
			if r.Winner {
				shade = `\cellcolor{blue!10}`
			}
			var cells []string
			if t.named() {
				cells = append(cells, "") // under the block's name
			}
			for _, l := range r.Labels {
				cells = append(cells, shade+escapeTeX(l))
			}
			for _, c := range r.Cells {
				cells = append(cells, shade+c.latex())
			}
			fmt.Fprintf(b, "%s \\\\\n", strings.Join(cells, " & "))
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table*}\n")
}

func (c Cell) latex() string {
	if c.Text == "" || c.Text == "–" {
		return "--"
	}
	if strings.ContainsFunc(c.Text, unicode.IsLetter) || strings.ContainsAny(c.Text, `\&$#_{}~^`) { // words, "1e-05" among them
		return escapeTeX(c.Text)
	}
	number := strings.NewReplacer("±", `\pm `, "−", "-", "%", `\%`, "†", `^{\dagger}`, "≤", `\leq `, "≥", `\geq `, " – ", `$--$`, " … ", `$\dots{}$`, "→", `\to `).Replace(c.Text)
	switch c.Mark {
	case metrics.Best:
		return `$\mathbf{` + number + `}$`
	case metrics.Second:
		return `$\underline{` + number + `}$`
	}
	return "$" + number + "$"
}

var texEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`,
	"|C|", `$|\mathcal{C}|$`, "±", `$\pm$`, "·", `$\cdot$`, "×", `$\times$`, "−", `$-$`, "…", `\dots{}`, "≤", `$\leq$`, "∈", `$\in$`, "†", `$^{\dagger}$`, "→", `$\to$`, "≥", `$\geq$`, "–", "--", "²", `$^2$`, "α", `$\alpha$`, "γ", `$\gamma$`, "λ", `$\lambda$`, "σ", `$\sigma$`, "|", `$|$`, "<", `$<$`, ">", `$>$`,
)

func escapeTeX(s string) string { return texEscapes.Replace(data.Line(s)) }
