package report

import (
	"cmp"
	"io"
	"path/filepath"

	"calibra/data/disk"
)

// Files are the names of a document's files besides its figures.
var Files = []string{"report.html", "tables.md", "tables.tex"}

// Add adds report.html, tables.md, tables.tex and figures/NAME.svg, .png and .pdf to a folder.
func (d *Document) Add(to *disk.Folder) {
	for _, s := range d.Sections {
		for _, f := range s.Figures {
			f.Figure.Add(to, filepath.Join(cmp.Or(d.Folder, "figures"), f.Name))
		}
	}
	for name, write := range map[string]func(io.Writer) error{
		"tables.md": d.WriteMarkdown, "tables.tex": d.WriteLaTeX, "report.html": d.WriteHTML,
	} {
		to.WriteFile(name, write)
	}
}

// Add adds the figure in all Formats, by its name without them.
func (f *Figure) Add(to *disk.Folder, name string) {
	for _, format := range Formats {
		image, err := f.Render(format)
		to.Fail(err)
		to.WriteBytes(name+"."+format, image)
	}
}
