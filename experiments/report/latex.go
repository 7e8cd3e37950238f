package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"calibra/data"
	"calibra/experiments/metrics"
)

// WriteLaTeX writes the document's verdicts, a paragraph each, and its tables in the paper's style. They need the
// packages booktabs, multirow, graphicx and xcolor with the option table.
func (d *Document) WriteLaTeX(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%% %s\n%% \\usepackage{booktabs,multirow,graphicx} \\usepackage[table]{xcolor}\n", data.Line(d.Title))
	for _, v := range d.Verdict {
		fmt.Fprintf(&b, "\n\\paragraph{%s.} %s\n", escapeTeX(cmp.Or(v.Title, "Verdict")), escapeTeX(strings.Join(v.Lines, " ")))
	}
	for _, s := range d.Sections {
		for _, t := range s.Tables {
			t.latex(&b)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// noWider opens what shrinks a table that is wider than the page to its width.
const noWider = `\resizebox{\ifdim\width>\textwidth\textwidth\else\width\fi}{!}{`

func (t *Table) latex(b *strings.Builder) {
	heads := data.Each(t.labelled("Data"), escapeTeX)
	for _, h := range t.Values {
		arrow := map[string]string{"↓": `$\,\downarrow$`, "↑": `$\,\uparrow$`}[h.Arrow]
		heads = append(heads, escapeTeX(h.Text)+arrow)
	}
	fmt.Fprintf(b, "\n\\begin{table*}[t]\n\\centering\n\\scriptsize\n\\caption{%s}\n%s\\begin{tabular}{%s}\n\\toprule\n%s \\\\\n", escapeTeX(t.Caption), noWider, strings.Repeat("c", len(heads)), strings.Join(heads, " & "))
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
			cells = append(cells, data.Each(r.Labels, func(l string) string { return shade + escapeTeX(l) })...)
			cells = append(cells, data.Each(r.Cells, func(c Cell) string { return shade + c.latex() })...)
			fmt.Fprintf(b, "%s \\\\\n", strings.Join(cells, " & "))
		}
	}
	b.WriteString("\\bottomrule\n\\end{tabular}}\n\\end{table*}\n")
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

// texEscapes are what TeX would obey, and the signs that it writes in another way.
var texEscapes = strings.NewReplacer(
	`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`, "#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "–", "--", "…", `\dots{}`,
	"|C|", `$|\mathcal{C}|$`, "|", `$|$`, "<", `$<$`, ">", `$>$`,
)

// texSigns are signs of mathematics by their names in TeX.
var texSigns = map[rune]string{
	'±': `\pm`, '·': `\cdot`, '×': `\times`, '−': "-", '≤': `\leq`, '≥': `\geq`, '≪': `\ll`, '≫': `\gg`, '≈': `\approx`, '≠': `\neq`,
	'∈': `\in`, '∞': `\infty`, '→': `\to`, '↓': `\downarrow`, '↑': `\uparrow`, '†': `\dagger`, '‖': `\Vert`, '∂': `\partial`, '∇': `\nabla`,
	'√': `\surd`, 'Σ': `\Sigma`, 'Π': `\Pi`, 'Δ': `\Delta`, 'Φ': `\Phi`, 'Λ': `\Lambda`, 'Ω': `\Omega`, 'Γ': `\Gamma`, 'Θ': `\Theta`, 'Ψ': `\Psi`,
	'ℓ': `\ell`, 'α': `\alpha`, 'β': `\beta`, 'γ': `\gamma`, 'δ': `\delta`, 'ε': `\varepsilon`, 'ζ': `\zeta`, 'η': `\eta`, 'θ': `\theta`,
	'κ': `\kappa`, 'λ': `\lambda`, 'μ': `\mu`, 'ν': `\nu`, 'ξ': `\xi`, 'π': `\pi`, 'ρ': `\rho`, 'σ': `\sigma`, 'τ': `\tau`, 'φ': `\varphi`,
	'χ': `\chi`, 'ψ': `\psi`, 'ω': `\omega`,
}

// texPowers are digits and signs above the line, texIndices below it.
const texPowers, texIndices = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "₀₁₂₃₄₅₆₇₈₉₊₋"

// escapeTeX is text as LaTeX writes it. A letter that the one with 256 codes has not is a question mark there and
// itself in those of Unicode.
func escapeTeX(s string) string {
	var b strings.Builder
	text := []rune(texEscapes.Replace(data.Line(s)))
	level := func(signs string, r rune) string {
		return string("0123456789+-"[utf8.RuneCountInString(signs[:strings.IndexRune(signs, r)])])
	}
	for i, r := range text {
		switch sign := texSigns[r]; {
		case i+1 < len(text) && text[i+1] == '\u0302' && (sign != "" || r < utf8.RuneSelf):
			fmt.Fprintf(&b, `$\hat{%s}$`, cmp.Or(sign, string(r)))
		case r == '\u0302':
		case r == '†':
			b.WriteString(`$^{\dagger}$`)
		case sign != "":
			b.WriteString("$" + sign + "$")
		case strings.ContainsRune(texPowers, r):
			fmt.Fprintf(&b, "$^%s$", level(texPowers, r))
		case strings.ContainsRune(texIndices, r):
			fmt.Fprintf(&b, "$_%s$", level(texIndices, r))
		case r <= unicode.MaxLatin1 || unicode.In(r, unicode.Latin) && r < 0x180 || strings.ContainsRune("‘’“”—", r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\ifdefined\Umathcode %c\else ?\fi{}`, r)
		}
	}
	return b.String()
}
