package report

import (
	"cmp"
	"io"
	"path/filepath"

	"calibra/data"
)

// Files are the names of a document's files besides its figures.
var Files = []string{"report.html", "tables.md", "tables.tex"}

// Add adds report.html, tables.md, tables.tex and figures/NAME.svg, .png and .pdf to a folder.
func (d *Document) Add(to *data.Folder) error {
	for _, s := range d.Sections {
		for _, f := range s.Figures {
			for _, format := range Formats {
				image, err := f.Figure.Render(format)
				if err != nil {
					return err
				}
				if err := to.WriteBytes(filepath.Join(cmp.Or(d.Folder, "figures"), f.Name+"."+format), image); err != nil {
					return err
				}
			}
		}
	}
	for name, write := range map[string]func(io.Writer) error{
		"tables.md": d.WriteMarkdown, "tables.tex": d.WriteLaTeX, "report.html": d.WriteHTML,
	} {
		if err := to.WriteFile(name, write); err != nil {
			return err
		}
	}
	return nil
}
