package report

import (
	"image/color"
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

// TestColoursStayApart: by CIEDE2000, on whose scale 1 is about what an eye just notices,
// neighbours in the order of colours differ by 12 and more whatever the eye, and so do
// all pairs of the first seven.
func TestColoursStayApart(t *testing.T) {
	order := append([]color.NRGBA{ours}, others...)
	for eye, m := range visions {
		seen := func(c color.NRGBA) colorful.Color {
			exact, _ := colorful.MakeColor(c)
			r, g, b := exact.LinearRgb()
			see := func(row [3]float64) float64 { return row[0]*r + row[1]*g + row[2]*b }
			return colorful.LinearRgb(see(m[0]), see(m[1]), see(m[2])).Clamped()
		}
		for i, a := range order {
			for j, b := range order[:i] {
				if j != i-1 && i >= 7 {
					continue
				}
				if apart := 100 * seen(a).DistanceCIEDE2000(seen(b)); apart < 12 {
					t.Errorf("%s: colours %d and %d, %v and %v, are %.1f apart", eye, j, i, b, a, apart)
				}
			}
		}
	}
}
