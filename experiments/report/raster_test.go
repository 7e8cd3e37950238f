package report

import (
	"bytes"
	"image"
	"testing"

	"gonum.org/v1/plot/vg"
)

// A picture in an SVG is a PNG, and called one.
func TestPictureOfAPlaneIsCalledWhatItIs(t *testing.T) {
	plane := Plane{XMax: 1, YMax: 1, Picture: image.NewNRGBA(image.Rect(0, 0, 2, 2))}
	svg, err := Planes([]Plane{plane}).Render("svg")
	if err != nil {
		t.Fatal(err)
	}
	const pngBegins = "iVBORw0KGgo"
	if !bytes.Contains(svg, []byte("data:image/png;base64,"+pngBegins)) {
		t.Error("the picture is not called a PNG")
	}
}

// The legend has room for the longest name of a class.
func TestLegendOfAPlaneHoldsItsNames(t *testing.T) {
	plane := Plane{XMax: 1, YMax: 1, Picture: image.NewNRGBA(image.Rect(0, 0, 2, 2))}
	bare := Planes([]Plane{plane}).width
	for _, name := range []string{"0", "very damp grey soil", "epithelium of the proximal convoluted tubule"} {
		plane.Names = []string{name}
		f := Planes([]Plane{plane})
		text := f.legend.TextStyle.Width(name)
		if room := f.width - bare - f.legend.ThumbnailWidth; room < text+vg.Points(4) {
			t.Errorf("%q is %.0f points wide and has %.0f", name, text.Points(), room.Points())
		}
	}
}
