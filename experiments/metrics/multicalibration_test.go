package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestMulticalibrationIsMCGrads: testdata/multicalibration.json has values of MCGrad 0.1.5 (PyPI) in float64, of 120
// rows of two classes in four groups, with weights and without; its scores are all different. They agree but for
// rounding, of weights to float32.
func TestMulticalibrationIsMCGrads(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "multicalibration.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Scores, Weights []float64
		Labels, Groups  []int
		Cases           []struct {
			Weighted      bool
			MCE, Sigma, P float64
			Segments      []struct {
				Group          string
				ECCE, Sigma, P float64
			}
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	p := mat.NewDense(len(golden.Scores), 2, nil)
	for i, s := range golden.Scores {
		p.SetRow(i, []float64{math.Log1p(-s), math.Log(s)})
	}
	for _, want := range golden.Cases {
		s, within := Settings{}, 1e-10
		if want.Weighted {
			s.Rows, within = golden.Weights, 1e-8
		}
		got, err := NewMulticalibration(p, golden.Labels, golden.Groups, []string{"g0", "g1", "g2", "g3"}, []string{"0", "1"}, s)
		if err != nil {
			t.Fatal(err)
		}
		close := func(what string, got, want float64) {
			if !near(got, want, within) {
				t.Errorf("%s is %v, and MCGrad's %v", what, got, want)
			}
		}
		close("the error", got.Error, want.MCE)
		close("sigma", got.Sigma, want.Sigma)
		close("p", got.PValue, want.P)
		if len(got.Groups) != len(want.Segments) {
			t.Fatalf("%d segments, and MCGrad has %d", len(got.Groups), len(want.Segments))
		}
		for _, segment := range want.Segments {
			for _, own := range got.Groups {
				if own.Group == segment.Group {
					close(own.Group+" ECCE", own.ECCE, segment.ECCE)
					close(own.Group+" sigma", own.Sigma, segment.Sigma)
					close(own.Group+" p", own.PValue, segment.P)
				}
			}
		}
	}
}

// TestMulticalibrationOfSeveralClasses: the order of rows plays no part, ties included; calibrated predictions are told
// wrong in at most 5 % of 100 draws by the adjusted p, and a group whose labels are drawn by other predictions is
// found.
func TestMulticalibrationOfSeveralClasses(t *testing.T) {
	alarms := 0
	for draw := range 100 {
		rng := rand.New(rand.NewPCG(9, uint64(draw)))
		const n = 300
		p, labels, groups := mat.NewDense(n, 3, nil), make([]int, n), make([]int, n)
		wrong := make([]int, n)
		for i := range n {
			a := float64(1+rng.IntN(8)) / 10 // ties
			row := []float64{a, (1 - a) / 3, 2 * (1 - a) / 3}
			for c, q := range row {
				p.Set(i, c, math.Log(q))
			}
			groups[i] = rng.IntN(3)
			for u := rng.Float64(); labels[i] < 2 && u > row[labels[i]]; labels[i]++ {
				u -= row[labels[i]]
			}
			if wrong[i] = labels[i]; groups[i] == 1 && rng.Float64() < .5 {
				wrong[i] = 2
			}
		}
		measure := func(p *mat.Dense, labels, groups []int) *Multicalibration {
			m, err := NewMulticalibration(p, labels, groups, []string{"a", "b", "c"}, []string{"x", "y", "z"}, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		if measure(p, labels, groups).Adjusted < .05 {
			alarms++
		}
		found := measure(p, wrong, groups)
		if found.Group != "b" || found.Class != "z" || found.Adjusted > .01 {
			t.Errorf("draw %d: it finds %+v", draw, found)
		}
		back, y, g := mat.NewDense(n, 3, nil), make([]int, n), make([]int, n)
		for i := range n {
			back.SetRow(i, p.RawRowView(n-1-i))
			y[i], g[i] = wrong[n-1-i], groups[n-1-i]
		}
		if again := measure(back, y, g); !near(again.Error, found.Error, 1e-9) {
			t.Errorf("in another order the error is %v, not %v", again.Error, found.Error)
		}
	}
	if alarms > 10 { // of 100 at 5 % more are had once in 90
		t.Errorf("%d of 100 calibrated draws are told wrong", alarms)
	}
}
