package report

import (
	"cmp"
	"io"
	"os"
	"path/filepath"

	"calibra/data"
)

// Write puts report.html, tables.md, tables.tex and figures/NAME.svg, .png and .pdf
// into dir, each whole or not at all.
func (d *Document) Write(dir string) error {
	figures := filepath.Join(dir, cmp.Or(d.Folder, "figures"))
	if err := os.MkdirAll(figures, 0o777); err != nil {
		return data.Inputf("", "the directory %s of the figures cannot be made: %w", figures, err)
	}
	for _, s := range d.Sections {
		for _, f := range s.Figures {
			for _, format := range Formats {
				image, err := f.Figure.Render(format)
				if err != nil {
					return err
				}
				if err := data.WriteBytes(filepath.Join(figures, f.Name+"."+format), image); err != nil {
					return err
				}
			}
		}
	}
	for name, write := range map[string]func(io.Writer) error{
		"tables.md": d.WriteMarkdown, "tables.tex": d.WriteLaTeX, "report.html": d.WriteHTML,
	} {
		if err := data.WriteFile(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	return nil
}
