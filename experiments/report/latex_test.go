package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What LaTeX of 256 codes cannot write is left to it in a branch that it does not read, and the rest compiles, where
// there is a pdflatex to ask.
func TestLaTeXCompiles(t *testing.T) {
	names := []string{
		"χ²/df at δ = 0, p̂ truly Dirichlet, β̂", "6⁴ = 1296, σ² ≫ 1, x₁ → ∞", "50 % & more_of #1 {braces} $x$ ~ ^ \\", "naïve Café – “quoted” — Łódź",
		"日本語 ☃ Ж", "|C| < 5 ≤ 6 ± 1 … ‖θ‖ ∈ ℓ", "a^b_c", "−0.5",
	}
	doc := &Document{Title: "100 % & χ", Verdict: []Statement{{Title: names[0], Lines: names}, {Lines: names}}, Sections: []*Section{{}}}
	for k, name := range names {
		table := &Table{Caption: name, Labels: []string{name}, Values: []Head{{Text: name, Arrow: "↓"}}}
		for _, other := range names {
			table.Blocks = append(table.Blocks, Block{Name: names[(k+1)%len(names)], Rows: []Row{{Labels: []string{other}, Cells: []Cell{{Text: "−.0014±.0002"}}}, {Labels: []string{"–"}, Cells: []Cell{{Text: other}}}}})
		}
		doc.Sections[0].Tables = append(doc.Sections[0].Tables, table)
	}
	var b strings.Builder
	if err := doc.WriteLaTeX(&b); err != nil {
		t.Fatal(err)
	}
	guarded := regexp.MustCompile(`\\ifdefined\\Umathcode .\\else \?\\fi\{\}`)
	body := guarded.ReplaceAllString(b.String()[strings.Index(b.String(), "\n"):], "")
	if left := regexp.MustCompile(`[^\x00-\x{17f}‘’“”—]`).FindAllString(body, -1); left != nil {
		t.Errorf("it leaves %q as they are", left)
	}
	pdflatex, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Log("there is no pdflatex to compile the tables")
		return
	}
	dir := t.TempDir()
	text := `\documentclass{article}\usepackage{booktabs,multirow,graphicx}\usepackage[table]{xcolor}\begin{document}` + b.String() + `\end{document}`
	if err := os.WriteFile(filepath.Join(dir, "t.tex"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(pdflatex, "-interaction=nonstopmode", "-halt-on-error", "t.tex")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("pdflatex: %v: %s", err, said[max(0, len(said)-1500):])
	}
}
