package report

import (
	"bytes"
	"image"
	"testing"
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
