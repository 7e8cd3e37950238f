package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"

	stdfont "golang.org/x/image/font"
	"gonum.org/v1/plot/vg"
)

// confused are mistakes between each class and its next two.
func confused(classes, of int) *diagnosis.Confusion {
	c := &diagnosis.Confusion{Of: of}
	for k := range classes {
		c.Classes, c.Rows = append(c.Classes, k), append(c.Rows, 100)
		for d := 1; d <= 2; d++ {
			c.Taken = append(c.Taken, diagnosis.Mistaken{Class: k, For: (k + d) % classes, Rows: float64(1 + k%7), Confidence: .5 + float64(k%5)/10})
		}
	}
	return c
}

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

// TestNoTextTouchesAnother: of confusions of 2 to 100 classes whose names have 30 letters, and of the heaviest of 1,000, on a screen
// and in both columns, no text lies over another or beyond the page.
func TestNoTextTouchesAnother(t *testing.T) {
	for _, classes := range []int{2, 3, 7, 10, 11, 26, 40, 64, 100} {
		for _, letter := range []int{0, 3, 30} {
			var names []string
			for k := range classes {
				if letter > 0 {
					names = append(names, (strings.Repeat("name of a class ", 2) + fmt.Sprint(1000+k))[32-letter+4:])
				}
			}
			f := confusion(confused(classes, max(classes, 10*(classes/40)*classes)), names)
			for _, millimetres := range []float64{0, 84, 174} {
				l := f.layout(vg.Length(millimetres/0.75) * vg.Millimeter)
				c := newSVG(l.size.X, l.size.Y)
				page := live{c, nil}
				l.draw(onPage(page, l.size))
				all := textsOf(t, c.out.Bytes())
				if len(all) < 6 {
					t.Fatalf("%d classes: only %d texts", classes, len(all))
				}
				for i, a := range all {
					if a.left < 0 || a.right > l.size.X.Points() || a.top < 0 || a.bottom > l.size.Y.Points() {
						t.Errorf("%d classes of %d letters, %v mm: %q lies beyond the page", classes, letter, millimetres, a.text)
					}
					for _, b := range all[:i] {
						if a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom {
							t.Errorf("%d classes of %d letters, %v mm: %q and %q touch", classes, letter, millimetres, a.text, b.text)
						}
					}
				}
			}
		}
	}
}

// TestClippedNames: names stay different, and short.
func TestClippedNames(t *testing.T) {
	names := []string{"a", "the same beginning 1 the same end", "the same beginning 2 the same end", "another name that is very long"}
	got := clippedNames(names)
	for k, want := range []string{"a", "1 the sam… end", "2 the sam… end", "another n…long"} {
		if got[k] != want {
			t.Errorf("%q is clipped to %q, not %q", names[k], got[k], want)
		}
	}
}
