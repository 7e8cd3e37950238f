package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// compiles holds a page of two columns to take figures in paper style, by the words of the guide, and tables, as they
// are: no line of it is too wide. It does nothing where there is no pdflatex with the packages that tables name.
// CALIBRA_PAGE names a folder that keeps the page, to be looked at.
func compiles(t *testing.T, tables string, figures ...string) {
	t.Helper()
	latex, err := exec.LookPath("pdflatex")
	if err != nil || exec.Command("kpsewhich", "multirow.sty").Run() != nil {
		t.Log("there is no pdflatex with multirow to compile a page of figures")
		return
	}
	var page strings.Builder
	// 84 mm are a column of a page of 210 mm with margins of 18 mm and 6 mm between columns.
	page.WriteString(`\documentclass[twocolumn]{article}\usepackage[a4paper,margin=18mm,columnsep=6mm]{geometry}` +
		`\usepackage{booktabs,multirow,graphicx}\usepackage[table]{xcolor}\begin{document}` + "\n")
	drawn := 0
	for _, folder := range figures {
		for _, path := range glob(t, filepath.Join(folder, "*.tex")) {
			name := strings.TrimSuffix(path, ".tex")
			fmt.Fprintf(&page, `\begin{figure}\includegraphics{%q.pdf}\input{%q}\end{figure}`+"\n", name, path)
			if drawn++; drawn%8 == 0 { // LaTeX holds 18 floats
				page.WriteString("\\clearpage\n")
			}
		}
	}
	fmt.Fprintf(&page, "\\clearpage\\input{%q}\n\\end{document}\n", tables)
	dir := t.TempDir()
	if to := os.Getenv("CALIBRA_PAGE"); to != "" {
		dir = to
	}
	if err := os.WriteFile(filepath.Join(dir, "page.tex"), []byte(page.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(latex, "-interaction=nonstopmode", "-halt-on-error", "page.tex")
	cmd.Dir = dir
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pdflatex: %v: %s", err, said[max(0, len(said)-1500):])
	}
	if wide := regexp.MustCompile(`Overfull \\hbox.*`).FindAllString(string(said), -1); slices.ContainsFunc(wide, func(line string) bool {
		var points float64
		fmt.Sscanf(line, `Overfull \hbox (%fpt`, &points)
		return points > 1 // a point in 239 is not seen
	}) || drawn == 0 {
		t.Errorf("of %d figures: %q", drawn, wide)
	}
}
