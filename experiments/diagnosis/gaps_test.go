package diagnosis

import (
	"math"
	"math/rand/v2"
	"testing"

	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// TestGaps: of calibrated predictions about one draw in twenty has a gap beyond chance; of a group whose labels are
// others, that group alone has.
func TestGaps(t *testing.T) {
	const rows, draws = 600, 300
	rng := rand.New(rand.NewPCG(1, 2))
	alarms := 0
	for range draws {
		logProbs, labels, groups := mat.NewDense(rows, 3, nil), make([]int, rows), make([]int, rows)
		for i := range rows {
			p := []float64{.2 + .5*rng.Float64(), .1, 0}
			p[2] = 1 - p[0] - p[1]
			for u := rng.Float64() - p[0]; u > 0 && labels[i] < 2; u -= p[labels[i]] {
				labels[i]++
			}
			for c := range p {
				logProbs.Set(i, c, math.Log(p[c]))
			}
			groups[i] = i % 3
		}
		p, err := NewPortrait(logProbs, labels, metrics.Settings{Groups: groups}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.ByGroup) != 3 || p.ByGroup[2].Rows != rows/3 || len(p.ByClass) != 2 {
			t.Fatalf("%+v", p)
		}
		for _, g := range p.ByGroup {
			if g.BeyondChance() {
				alarms++
			}
		}
		for i := range labels {
			if groups[i] == 1 { // never the larger of the first and the last
				labels[i] = 1
			}
		}
		if p, err = NewPortrait(logProbs, labels, metrics.Settings{Groups: groups}, nil); err != nil || !p.ByGroup[1].BeyondChance() {
			t.Fatalf("%+v, %v", p.ByGroup, err)
		}
	}
	// The bound holds for all gaps of a draw; 300 draws at 5 % have 15 ± 3.8 alarms, and 27 are beyond three standard
	// deviations.
	if alarms > 27 {
		t.Errorf("%d of %d draws have gaps beyond chance", alarms, draws)
	}
}
