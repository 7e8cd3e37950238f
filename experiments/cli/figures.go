package cli

import (
	"path/filepath"

	"calibra/data"
	"calibra/experiments/report"

	"gonum.org/v1/plot/vg"
)

// figureFlags are of the commands that draw.
type figureFlags struct {
	Figures string `type:"output" placeholder:"DIR" help:"Write each figure into this directory, as SVG, PDF and PNG, and its data as CSV."`
	Style   string `default:"screen" enum:"screen,paper,paper-wide" placeholder:"screen|paper|paper-wide" group:"Figures:" help:"What figures are drawn for. On paper, SVG and PDF are as wide as a column (84 mm) or two (paper-wide, 174 mm) and have no background, letters are outlines of 7.5 points, and NAME.tex has the caption (${default})."`
}

// columns are the widths of a figure on paper, in millimetres.
var columns = map[string]vg.Length{"paper": 84, "paper-wide": 174}

// or is the value of a flag, or another where it is not given.
func or[T any](flag *T, other T) T {
	if flag == nil {
		return other
	}
	return *flag
}

// export is where the figures of a command go; out is what is written to in place of --figures, "" for nothing.
func (f figureFlags) export(command, out string) (e report.Export, err error) {
	e.Dir, e.Group = f.Figures, command+" --figures"
	if e.Column = columns[f.Style] * vg.Millimeter; e.Column > 0 && e.Dir == "" && out == "" {
		return e, data.Inputf("", "--style %s is how figures are drawn; name a directory for them by --figures", f.Style)
	}
	return e, nil
}

// drawn is what a command may write to --figures: the names of its figures are not known before, so whatever may be one
// there.
func (f figureFlags) drawn() (out folder) {
	if f.Figures == "" {
		return out
	}
	out.dir = f.Figures
	for _, extension := range append([]string{"csv", "tex"}, report.Formats...) {
		there, _ := filepath.Glob(filepath.Join(f.Figures, "*."+extension))
		out.names = append(out.names, data.Each(there, filepath.Base)...)
	}
	return out
}
