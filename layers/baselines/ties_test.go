package baselines

import (
	"math"
	"slices"
	"testing"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// votes are rows with shares (k+1)/23 of 20 votes on three classes, whose logits are the logarithms of what says makes
// of them.
func votes(n int, seed uint64, resolution float64, says func(share float64) float64) *data.Set {
	rng := newRand(seed)
	s := &data.Set{Features: mat.NewDense(n, 2, nil), Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n), Resolution: resolution}
	for i := range n {
		row, l := []float64{1, 1, 1}, make([]float64, 3)
		for k := range l {
			l[k] = 2 * rng.NormFloat64()
		}
		draw := func(of float64) int {
			u := rng.Float64() * of
			for k, v := range l {
				if u -= math.Exp(v); u < 0 || k == 2 {
					return k
				}
			}
			return 0
		}
		all := math.Exp(floats.LogSumExp(l))
		for range 20 {
			row[draw(all)]++
		}
		s.Labels[i] = draw(all)
		floats.Scale(1./23, row)
		for k, v := range row {
			s.Logits.Set(i, k, says(v))
		}
		s.Features.(*mat.Dense).SetRow(i, []float64{float64(float32(l[0])), float64(float32(l[1]))})
	}
	return s
}

// stepped are the methods that walk over values in order.
var stepped = map[string]func() layers.Stateful{
	"ir":         func() layers.Stateful { return Isotonic() },
	"histogram":  func() layers.Stateful { return Histogram(0) },
	"spline":     func() layers.Stateful { return Spline(0) },
	"venn-abers": func() layers.Stateful { return &VennAbers{} },
	"forest":     func() layers.Stateful { return &Forest{Trees: 40} },
}

// TestEqualValuesAreOne: what rounding moved apart makes the same model, and a row that another type rounds otherwise
// is the same row.
func TestEqualValuesAreOne(t *testing.T) {
	single := func(v float64) float64 { return float64(float32(v)) }
	forms := []struct {
		name       string
		resolution float64
		says       func(float64) float64
	}{
		{"logarithms in float64", 0, math.Log},
		{"float32", 2e-7, func(v float64) float64 { return math.Log(single(v)) }},
		{"logarithms in float32", 2e-7, func(v float64) float64 { return single(math.Log(v)) }},
		{"6 decimals", 1.5e-6, func(v float64) float64 { return math.Log(math.Round(v*1e6) / 1e6) }},
	}
	for name, method := range stepped {
		var want *mat.Dense
		for _, f := range forms {
			m := method()
			fit(t, m, votes(400, 1, f.resolution, f.says), nil)
			for _, of := range forms {
				if rounded := "6 decimals"; of.name != f.name && (of.name == rounded || f.name == rounded) {
					continue // 1/23 and .043478 are 6e-6 apart: another value, of which a step may be another
				}
				got := exponentials(predict(t, m, votes(200, 2, of.resolution, of.says)).LogProbs)
				if want == nil {
					want = got
				}
				var apart mat.Dense
				apart.Sub(got, want)
				// 1.5e-6 of a probability in 6 decimals, where a method scales probabilities.
				if off := max(mat.Max(&apart), -mat.Min(&apart)); off > 1e-5 {
					t.Errorf("%s of %s, applied to %s: %.1e from that of float64", name, f.name, of.name, off)
				}
			}
		}
	}
}

// TestValues: a window is no wider than the resolution, so that a chain of near values is not one.
func TestValues(t *testing.T) {
	var chain []float64
	for i := range 100 {
		chain = append(chain, .5+float64(i)*1e-7)
	}
	slices.Reverse(chain)
	all := ties{1e-6}.values(chain)
	if len(all) != 17 || len(all[0].rows) != 6 || all[0].lo != .5 {
		t.Errorf("%d values, the first of %d rows; 100 steps of 1e-7 in windows of 5e-7 make 17", len(all), len(all[0].rows))
	}
	if n := len(ties{}.values(chain)); n != 100 {
		t.Errorf("%d values of 100 that float64 tells apart", n)
	}
}
