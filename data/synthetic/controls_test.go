package synthetic

import (
	"math"
	"testing"
)

// TestWrongInRareRegionsAlone: a ninth of the rows has another posterior than the truth,
// far from it, and of a calibrated classifier no row.
func TestWrongInRareRegionsAlone(t *testing.T) {
	const n = 20000
	wrong := func(g *Problem) (share, kl float64) {
		for _, x := range klRows(g.Draw(n, seeded(2))) {
			if math.Abs(x) > 1e-9 { // rounding of a logarithm and back
				share += 1. / n
				kl += x / n
			}
		}
		return share, kl
	}
	if share, _ := wrong(NewCalibrated(Settings{}, seeded(1))); share > 0 {
		t.Errorf("%.3f of the rows of a calibrated classifier are wrong", share)
	}
	share, kl := wrong(NewRare(Settings{}, seeded(1)))
	if math.Abs(share-1./9) > 0.01 { // 4 standard errors of 20,000 rows
		t.Errorf("%.3f of the rows are wrong, want a ninth", share)
	}
	if kl < 0.02 {
		t.Errorf("a mean KL of %.4f is no error worth mending", kl)
	}
}
