package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/experiments/internal/checked"
)

// TestStrata: a stratum of all rows has their LCE and floor; of several, the value is the
// mean of the residuals of their rows, and so is each redraw's, measured anew.
func TestStrata(t *testing.T) {
	const redraws, parts = 4, 3
	p := generate(400, 3, 4, 2, rand.New(rand.NewPCG(3, 1)))
	measure := func(p problem, s Settings, redraws int) *Report {
		t.Helper()
		r, err := MeasureWith(context.Background(), p.logProbs, p.labels, p.embedding, s, Uncertainty{Replicates: None, Redraws: redraws}, rand.New(rand.NewPCG(9, 0)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for _, protocol := range protocols {
		s := Settings{Protocol: protocol, Strata: make([]int, 400)}
		all := measure(p, s, redraws)
		if one := all.Strata[0]; len(all.Strata) != 1 ||
			!near(one.LCE, all.Values[LCE], 1e-9) || !near(one.Floor, all.Noise[LCE].Mean, 1e-9) {
			t.Errorf("%v: one stratum of all rows is %+v, want %v over %v", protocol, one, all.Values[LCE], all.Noise[LCE])
		}
		for i := range s.Strata {
			s.Strata[i] = i * i % 7 % parts
		}
		got := measure(p, s, redraws)
		b := bin(must(checked.NewSample(p.logProbs, p.labels, nil, nil)), must(s.filled()))
		labels := b.redraw(redraws, rand.New(rand.NewPCG(9, 0)))
		for k := range parts {
			if want := ofRows(b, measure(p, s, None).Local, s.Strata, k); !near(got.Strata[k].LCE, want, 1e-9) {
				t.Errorf("%v: stratum %d is %v, want %v", protocol, k, got.Strata[k].LCE, want)
			}
			var mean float64
			for _, drawn := range labels {
				again := problem{p.logProbs, p.embedding, whole(drawn.all(b.N))}
				b := bin(must(checked.NewSample(p.logProbs, again.labels, nil, nil)), must(s.filled()))
				mean += ofRows(b, measure(again, s, None).Local, s.Strata, k) / redraws
			}
			if floor := got.Strata[k].Floor; !near(floor, mean, 1e-5) { // float32 sums of another order
				t.Errorf("%v: the floor of stratum %d is %v, measured anew %v", protocol, k, floor, mean)
			}
		}
	}
	for _, wrong := range [][]int{{0, 1}, append(make([]int, 399), -1)} {
		if _, err := Measure(context.Background(), p.logProbs, p.labels, p.embedding, Settings{Strata: wrong}); err == nil {
			t.Errorf("%d strata that end in %d are taken", len(wrong), wrong[len(wrong)-1])
		}
	}
}

// ofRows is Σ_c w_c mean |r_ic| over the rows of stratum k, by the definition.
func ofRows(b *binned, local *Local, strata []int, k int) float64 {
	var lce, measured float64
	for c, w := range b.classWeights(b.observed()) {
		var sum, rows float64
		for i, s := range strata {
			if r := local.Residual.At(i, c); s == k && !math.IsNaN(r) {
				sum += math.Abs(r)
				rows++
			}
		}
		if rows > 0 {
			lce += w * sum / rows
			measured += w
		}
	}
	return lce / measured
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
