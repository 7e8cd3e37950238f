package cli

import (
	"path/filepath"
	"slices"

	"calibra/data"
	"calibra/experiments/report"

	"gonum.org/v1/plot/vg"
)

// figureFlags are of the commands that draw.
type figureFlags struct {
	Figures string `type:"path" placeholder:"DIR" help:"Write each figure into this directory, as SVG, PDF and PNG, and its data as CSV."`
	Style   string `default:"screen" enum:"screen,paper" placeholder:"screen|paper" group:"Figures:" help:"What figures are drawn for. On paper, SVG and PDF are as wide as a column and have no background, letters are outlines of 7.5 points, and NAME.tex has the caption (${default})."`
	Width   *int   `most:"174" placeholder:"84|174" group:"Figures:" help:"Width of a figure on paper in millimetres: one column or two (84)."`
}

// columns are the widths of a figure on paper, in millimetres.
var columns = []int{84, 174}

// export is where the figures of a command go; out is what is written to in place of --figures, "" for nothing.
func (f figureFlags) export(command, out string) (e report.Export, err error) {
	e.Dir, e.Group = f.Figures, command+" --figures"
	switch {
	case f.Style != "paper" && f.Width != nil:
		return e, data.Inputf("", "--width is the width on paper; add --style paper")
	case f.Style != "paper":
		return e, nil
	case e.Dir == "" && out == "":
		return e, data.Inputf("", "--style paper is how figures are drawn; name a directory for them by --figures")
	}
	width := or(f.Width, columns[0])
	if !slices.Contains(columns, width) {
		return e, data.Inputf("", "--width is %d; it must be 84 or 174", width)
	}
	e.Column = vg.Length(width) * vg.Millimeter
	return e, nil
}

// folder is what a command may write to --figures: the names of its figures are not known before, so whatever may be one there.
func (f figureFlags) folder() (out folder) {
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
