package report

import (
	"bytes"
	"fmt"
	"image/color"
	"regexp"
	"testing"

	"github.com/lucasb-eyer/go-colorful"
)

// visions simulate what is seen of linear RGB without one kind of cone (Machado, Oliveira
// and Fernandes 2009, table of severity 1.0).
var visions = map[string][3][3]float64{
	"all cones":    {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	"protanopia":   {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	"deuteranopia": {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	"tritanopia":   {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// TestColoursStayApart: by CIEDE2000, on whose scale 1 is about what an eye just notices, neighbours in the order of
// colours differ by 12 and more whatever the eye, in the light and in the dark, and so do all pairs of the first seven,
// all colours of gaps on the map, all of answers, and each from the page.
func TestColoursStayApart(t *testing.T) {
	order, onMap, said := append([]color.NRGBA{ours}, others...), []color.NRGBA{}, []color.NRGBA{}
	for _, g := range gaps {
		onMap = append(onMap, g.colour)
	}
	for _, a := range answers {
		said = append(said, a.colour)
	}
	for eye, m := range visions {
		seen := func(c color.NRGBA) colorful.Color {
			exact, _ := colorful.MakeColor(c)
			r, g, b := exact.LinearRgb()
			see := func(row [3]float64) float64 { return row[0]*r + row[1]*g + row[2]*b }
			return colorful.LinearRgb(see(m[0]), see(m[1]), see(m[2])).Clamped()
		}
		check := func(name string, a, b color.NRGBA) {
			t.Helper()
			if apart := 100 * seen(a).DistanceCIEDE2000(seen(b)); apart < 12 {
				t.Errorf("%s, %s: %v and %v are %.1f apart", eye, name, a, b, apart)
			}
		}
		for _, all := range [][]color.NRGBA{order, onMap, said} {
			for i, a := range all {
				for j, b := range all[:i] {
					if j == i-1 || i < 7 {
						check(fmt.Sprintf("in the light, %d and %d", j, i), a, b)
						check(fmt.Sprintf("in the dark, %d and %d", j, i), dark(a), dark(b))
					}
				}
				if len(all) == len(order) { // discs of gaps have a rim
					check("beside the page", a, white)
					check("beside the page in the dark", dark(a), night)
				}
			}
		}
	}
}

// TestContrast: what carries information has a contrast of 3 and more to the page, in the light and in the dark (WCAG
// 2, 1.4.11), words have 4.5, and no figure has a colour that stays as it is in the dark.
func TestContrast(t *testing.T) {
	marks := append([]color.NRGBA{grey, muted, ours}, others...)
	for _, g := range gaps {
		marks = append(marks, g.colour)
	}
	least := map[float64][]color.NRGBA{3: marks, 4.5: {ink, ours}}
	for _, a := range answers { // which hold a sign in the colour of the page
		least[4.5] = append(least[4.5], a.colour)
	}
	for want, all := range least {
		for _, c := range all {
			if light, night := contrast(c, white), contrast(dark(c), night); light < want || night < want-.05 { // by steps of 8 bits
				t.Errorf("%v has a contrast of %.2f in the light and %.2f in the dark", c, light, night)
			}
		}
	}
	turned := darkStyle("")
	for name, f := range kinds() {
		svg, err := f.Inline()
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?:fill|stroke)="#[0-9a-f]{6}"`).FindAll(svg, -1) {
			if !bytes.Contains([]byte(turned), found) {
				t.Errorf("%s: %s in the dark too", name, found)
			}
		}
	}
}
