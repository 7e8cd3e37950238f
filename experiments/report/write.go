package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"calibra/data/disk"
)

// Files are the names of a document's files besides its figures.
var Files = []string{"report.html", "tables.md", "tables.tex"}

// Add adds report.html, tables.md and tables.tex to a folder, and its figures, unless e has a folder for these.
func (d *Document) Add(to *disk.Folder, e Export) {
	if e.Dir == "" {
		for _, f := range d.Drawings() {
			f.Add(to, cmp.Or(d.Folder, "figures"), e.Style)
		}
	}
	for name, write := range map[string]func(io.Writer) error{
		"tables.md": d.WriteMarkdown, "tables.tex": d.WriteLaTeX, "report.html": d.WriteHTML,
	} {
		to.WriteFile(name, write)
	}
}

// Drawings are the card and the figures of all sections.
func (d *Document) Drawings() (all []*Drawing) {
	if d.Card != nil {
		all = append(all, d.Card)
	}
	for _, s := range d.Sections {
		if s != nil {
			all = append(all, s.Figures...)
		}
	}
	return all
}

// Export is where figures go, and what they are drawn for.
type Export struct {
	Dir, Group string // a disk.Folder; Dir is "" for none of their own
	Style
}

// Write writes the figures into the folder, all or none of them: NAME.svg, NAME.pdf, NAME.png, and their data as
// NAME.csv; for paper their captions as NAME.tex too.
func (e Export) Write(all []*Drawing) error {
	if e.Dir == "" {
		return nil
	}
	to := disk.NewFolder(e.Dir, e.Group)
	defer to.Discard()
	for _, d := range all {
		d.Add(to, "", e.Style)
	}
	return to.Commit()
}

// Add adds the files of the figure to a folder below to.
func (d *Drawing) Add(to *disk.Folder, below string, style Style) {
	name, figure := filepath.Join(below, d.Name), *d.Figure
	figure.says = d.Caption
	for _, format := range Formats {
		image, err := style.Render(&figure, format)
		to.Fail(err)
		to.WriteBytes(name+"."+format, image)
	}
	to.WriteFile(name+".csv", d.Figure.WriteCSV)
	if style.Column > 0 {
		to.WriteFile(name+".tex", d.writeCaption)
	}
}

// writeCaption writes the caption as LaTeX takes it.
func (d *Drawing) writeCaption(w io.Writer) error {
	_, err := fmt.Fprintf(w, "%% \\begin{figure}\\centering\\includegraphics{%[1]s.pdf}\\input{%[1]s.tex}\\end{figure}\n\\caption{%[2]s}\n\\label{fig:%[1]s}\n", d.Name, escapeTeX(cmp.Or(d.Caption, d.Name)))
	return err
}
