package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
)

// box is the rectangle of a text, by the width that it is given or that its letters take.
type box struct {
	text                     string
	left, right, bottom, top float64
}

var (
	written = regexp.MustCompile(`<text x="([-0-9.]+)" y="([-0-9.]+)"([^>]*)>([^<]*)`)
	turned  = regexp.MustCompile(`rotate\((-?[0-9.]+)`)
)

// textsOf are the texts of an SVG, which lie or stand.
func textsOf(t *testing.T, svg []byte) (all []box) {
	t.Helper()
	style := textStyle(letters)
	for _, found := range written.FindAllSubmatch(svg, -1) {
		x, _ := strconv.ParseFloat(string(found[1]), 64)
		y, _ := strconv.ParseFloat(string(found[2]), 64)
		b := box{text: string(found[4])}
		style.Font.Weight = 0
		if strings.Contains(string(found[3]), "bold") {
			style.Font.Weight = stdfont.WeightBold
		}
		width, up := style.Width(b.text).Points(), 7.0 // the height of capitals of 10 points
		b.left, b.right, b.top, b.bottom = x, x+width, y-up, y
		if turned.Match(found[3]) {
			b.left, b.right, b.top, b.bottom = x-up, x, y-width, y
		}
		all = append(all, b)
	}
	return all
}

// TestNoTextTouchesAnother: of 2 to 100 bars whose names have up to 8 letters, on a screen and in both columns, no text
// lies over another or beyond the page.
func TestNoTextTouchesAnother(t *testing.T) {
	for _, classes := range []int{2, 3, 7, 10, 11, 26, 40, 64, 100} {
		for _, letter := range []int{0, 3, 6} {
			panel := BarPanel{Title: "bars of classes"}
			for k := range classes {
				panel.Bars = append(panel.Bars, Bar{Name: strings.Repeat("n", letter) + fmt.Sprint(k), Mean: float64(k)})
			}
			f := Bars([]BarPanel{panel, panel})
			for _, millimetres := range []float64{0, 84, 174} {
				separate(t, fmt.Sprintf("%d classes of %d letters", classes, letter), f, millimetres)
			}
		}
	}
}

// separate fails where texts of the figure lie over one another or beyond the page, on a screen or in a column of so
// many millimetres.
func separate(t *testing.T, name string, f *Figure, millimetres float64) {
	t.Helper()
	l := f.layout(vg.Length(millimetres/0.75) * vg.Millimeter)
	c := newSVG(l.size.X, l.size.Y)
	l.draw(onPage(live{c}, l.size))
	all := textsOf(t, c.out.Bytes())
	if len(all) < 6 {
		t.Fatalf("%s: only %d texts", name, len(all))
	}
	for i, a := range all {
		if a.left < 0 || a.right > l.size.X.Points() || a.top < 0 || a.bottom > l.size.Y.Points() {
			t.Errorf("%s, %v mm: %q lies beyond the page", name, millimetres, a.text)
		}
		for _, b := range all[:i] {
			if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
				t.Errorf("%s, %v mm: %q and %q touch", name, millimetres, a.text, b.text)
			}
		}
	}
}
