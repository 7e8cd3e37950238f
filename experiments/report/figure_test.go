package report

import (
	"bytes"
	"compress/zlib"
	"encoding/csv"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
)

// TestPageIsWhite: for a screen an SVG begins with a white page of its whole size, so that what is
// drawn beside the plots, such as a legend, is seen on a dark background too; on paper nothing is behind the plots.
func TestPageIsWhite(t *testing.T) {
	figure := Lines([]LinePanel{{Title: "NLL", X: "rows", Y: "NLL", Series: []Series{{Name: "VQ", X: []float64{1, 2}, Mean: []float64{1, 2}, SD: []float64{0, 0}}}}})
	l := figure.layout(0)
	w, h := l.size.X.Points(), l.size.Y.Points()
	for style, want := range map[Style]bool{{}: true, {Column: 84 * vg.Millimeter}: false} {
		svg, err := style.Render(figure, "svg")
		if err != nil {
			t.Fatal(err)
		}
		_, drawn, _ := strings.Cut(string(svg), "<path ")
		page, _, _ := strings.Cut(drawn, "/>")
		if white := strings.Contains(page, fmt.Sprintf(`d="M%sL%sL%sL%sZ"`, places(0, h), places(w, h), places(w, 0), places(0, 0))) && strings.Contains(page, "#ffffff"); white != want {
			t.Errorf("%v: the first path is %s", style, page)
		}
	}
}

// TestPaper: on paper every figure is as wide as its column in each format, has no text but outlines, none of them
// beyond the edge, and letters of 7.5 points, titles too.
func TestPaper(t *testing.T) {
	for name, f := range kinds() {
		for _, millimetres := range []float64{84, 174} {
			style := Style{Column: vg.Length(millimetres) * vg.Millimeter}
			points := millimetres * 72 / 25.4
			for _, p := range f.plots {
				for _, text := range []vg.Length{p.Title.TextStyle.Font.Size, p.X.Label.TextStyle.Font.Size, p.X.Tick.Label.Font.Size} {
					if size := text.Points() * style.scale(); size < 7 || size > 8 {
						t.Errorf("%s: letters of %.1f pt", name, size)
					}
				}
			}
			svg, err := style.Render(f, "svg")
			if err != nil {
				t.Fatal(err)
			}
			head := regexp.MustCompile(`^<svg[^>]* width="([0-9.]+)pt"[^>]* viewBox="0 0 ([0-9.]+) ([0-9.]+)"`).FindSubmatch(svg)
			if head == nil || !near(head[1], points, 0.02) {
				t.Fatalf("%s: an SVG that begins %.120s is not %.2f pt wide", name, svg, points)
			}
			if bytes.Contains(svg, []byte("<text")) || bytes.Contains(svg, []byte("prefers-color-scheme")) {
				t.Errorf("%s has letters of a font, or another look in the dark", name)
			}
			w, _ := strconv.ParseFloat(string(head[2]), 64)
			h, _ := strconv.ParseFloat(string(head[3]), 64)
			for _, path := range regexp.MustCompile(`[ML](-?[0-9.]+)[ -]([0-9.]+)`).FindAllSubmatch(svg, -1) {
				x, _ := strconv.ParseFloat(string(path[1]), 64)
				y, _ := strconv.ParseFloat(string(path[2]), 64)
				if x < 0 || x > w || y > h {
					t.Errorf("%s, %.0f mm: a path goes to %.1f, %.1f beyond %.1f × %.1f", name, millimetres, x, y, w, h)
					break
				}
			}
			pdf, err := style.Render(f, "pdf")
			if err != nil {
				t.Fatal(err)
			}
			box := regexp.MustCompile(`/MediaBox \[0 0 ([0-9.]+) `).FindSubmatch(pdf)
			if box == nil || !near(box[1], points, 0.02) || bytes.Contains(pdf, []byte("/Subtype /TrueType")) {
				t.Errorf("%s: a PDF of %s, not %.2f pt wide, or with fonts", name, box, points)
			}
			picture, err := style.Render(f, "png")
			if err != nil {
				t.Fatal(err)
			}
			// 96 dots an inch is a screen's own resolution; half a dot is lost at each edge
			if c, err := png.DecodeConfig(bytes.NewReader(picture)); err != nil || math.Abs(float64(c.Width)-millimetres/25.4*192) > 2 {
				t.Errorf("%s: a PNG %d wide (%v)", name, c.Width, err)
			}
		}
	}
}

// TestColoursOfPDF: a band in a PDF has the colour that it has in an SVG, and not one that is darker by its opacity.
func TestColoursOfPDF(t *testing.T) {
	pdf, err := kinds()["isotonic"].Render("pdf")
	if err != nil {
		t.Fatal(err)
	}
	var drawn []byte
	for _, part := range bytes.Split(pdf, []byte("stream\n"))[1:] {
		if r, err := zlib.NewReader(bytes.NewReader(part)); err == nil {
			text, _ := io.ReadAll(r) // its end is that of the stream
			drawn = append(drawn, text...)
		}
	}
	fill := func(r, g, b uint32) []byte {
		return fmt.Appendf(nil, "%.3f %.3f %.3f rg", float64(r>>8)/255, float64(g>>8)/255, float64(b>>8)/255)
	}
	r, g, b, _ := ours.RGBA()
	lessR, lessG, lessB, _ := faint(ours).RGBA()
	if !bytes.Contains(drawn, fill(r, g, b)) || bytes.Contains(drawn, fill(lessR, lessG, lessB)) {
		t.Errorf("nothing is filled with %s, or a band with %s", fill(r, g, b), fill(lessR, lessG, lessB))
	}
}

func near(text []byte, want, within float64) bool {
	x, err := strconv.ParseFloat(string(text), 64)
	return err == nil && math.Abs(x-want) < within
}

// TestNumbers: the data of each figure is a table whose lines are as long as its head, with a number in each line but
// that of a method that was not measured.
func TestNumbers(t *testing.T) {
	for name, f := range kinds() {
		var b bytes.Buffer
		if err := f.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		lines, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(lines) < 2 || len(lines[0]) < 3 {
			t.Fatalf("%s: %v, %v", name, lines, err)
		}
		for _, line := range lines[1:] {
			if line[1] != "NC" && !slices.ContainsFunc(line, func(text string) bool { _, err := strconv.ParseFloat(text, 64); return err == nil }) {
				t.Errorf("%s: no number in %v", name, line)
			}
		}
	}
}

// TestTextsKeepTheirWidth: every text of some length says how wide it is, so that no font makes it wider.
func TestTextsKeepTheirWidth(t *testing.T) {
	for name, f := range kinds() {
		svg, err := f.Render("svg")
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(svg, []byte(`font-family="Liberation Sans,Arimo,Arial,Helvetica,sans-serif"`)) {
			t.Errorf("%s has no stack of fonts", name)
		}
		for d := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			text, ok := token.(xml.StartElement)
			if !ok || text.Name.Local != "text" {
				continue
			}
			inside, _ := d.Token()
			wide := slices.ContainsFunc(text.Attr, func(a xml.Attr) bool { return a.Name.Local == "textLength" })
			if said := string(inside.(xml.CharData)); len(said) > 3 && !wide {
				t.Errorf("%s: %q is as wide as its font makes it", name, said)
			}
		}
	}
}
