package report

import (
	"bytes"
	"calibra/data"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"sync"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Figure is plots in a grid, or above each other, with a legend beside them if it has
// entries. One that cannot be drawn, such as of numbers that are not finite, shows the reason where it is rendered.
type Figure struct {
	grid          [][]*plot.Plot           // rows of one length, nil where there is none
	shares        []float64                // of the height, one for each row of the grid; nil where rows are alike
	bars          map[*plot.Plot]colourBar // on the right of plots
	besides       vg.Length                // what the widest bar takes
	legend        *plot.Legend
	strip         vg.Length // on the right, for the legend
	width, height vg.Length
	err           error // why it cannot be drawn
}

const (
	margin = vg.Length(10) // the white around a figure
	dpi    = 200           // of a PNG
)

// Formats are the file formats a figure can be drawn in.
var Formats = []string{"svg", "png", "pdf"}

// undated stands in PDF files, for equal figures give equal bytes.
var undated = time.Unix(0, 0).UTC()

// repeatable makes PDF files of equal figures equal.
var repeatable = sync.OnceFunc(func() {
	fpdf.SetDefaultCreationDate(undated)
	fpdf.SetDefaultModificationDate(undated)
	fpdf.SetDefaultCatalogSort(true) // of fonts, which lie in a map
})

// Render draws the figure in one of Formats, a PNG at 200 dots an inch. Equal figures
// give equal bytes.
func (f *Figure) Render(format string) ([]byte, error) {
	switch {
	case f.err != nil:
		return nil, f.err
	case format == "svg":
		return f.render(vgsvg.New(f.width, f.height))
	case format == "png":
		return f.render(vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(f.width, f.height), vgimg.UseDPI(dpi))})
	case format == "pdf":
		if err := CheckTemporary(); err != nil {
			return nil, err
		}
		repeatable()
		return f.render(vgpdf.New(f.width, f.height))
	}
	return nil, fmt.Errorf("report: draw a figure: there is no format %q", format)
}

// CheckTemporary returns an *InputError where there is no directory for temporary files, in
// which package vgpdf makes the fonts of a PDF.
func CheckTemporary() error {
	dir, err := os.MkdirTemp("", "calibra-")
	if err != nil {
		return data.Inputf("", "pictures in PDF need a directory for temporary files, and %s cannot be used (%w); set TMPDIR to one that can", os.TempDir(), errors.Unwrap(err))
	}
	return os.Remove(dir)
}

// canvas is what a figure is drawn on and written from.
type canvas interface {
	vg.CanvasSizer
	io.WriterTo
}

// corners are those of a rectangle, one after the other.
func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

func (f *Figure) render(on canvas) ([]byte, error) {
	page := draw.New(on)
	if _, white := on.(vgimg.PngCanvas); !white {
		// an SVG has no ground of its own, and black letters are lost on a dark one
		page.FillPolygon(color.White, corners(page.Rectangle))
	}
	f.draw(draw.Crop(page, margin, -margin, margin, -margin))
	var out bytes.Buffer
	if _, err := on.WriteTo(&out); err != nil {
		return nil, fmt.Errorf("report: write a figure: %w", err)
	}
	return out.Bytes(), nil
}
