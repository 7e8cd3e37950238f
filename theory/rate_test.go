package theory

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/gorgonia"
)

// rateOf puts a question to a map on a design.
func rateOf(m layers.Map, d Design, q Question) Study {
	q.Population.Design, q.Estimator.Map = d, m
	return NewStudy("rate", "", q)
}

// The defaults of a question suit any design: sample sizes follow from what the design identifies.
// A few replicates are enough, since their bands are as wide as they are uncertain.
func TestRateOfAnyDesign(t *testing.T) {
	for name, test := range map[string]struct {
		Design
		disturbance float64
	}{
		"fast":                   {Design: Fast()},
		"two classes, one slot":  {Design: Design{Classes: 2, Slots: 1, Codewords: 5, Atoms: 8, Decades: 1}},
		"five classes":           {Design: Design{Classes: 5, Slots: 2, Codewords: 4, Atoms: 4, Decades: 1, Identity: 1}},
		"eight slots, drawn":     {Design: Design{Classes: 3, Slots: 8, Codewords: 12, Atoms: 2, Zipf: 1.2, Cells: 50}},
		"frequencies of any law": {Design: Design{Classes: 3, Slots: 3, Codewords: 4, Atoms: 4, Law: []float64{5, 1, 1, 0.2}}},
		"misspecified":           {Design: Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 6, Decades: 1}, disturbance: 0.1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := Question{Shifts: 2, Replicates: 3}
			if test.disturbance > 0 {
				q.Shifts, q.Population.Disturb = 1, func(t *Truth, rng *rand.Rand) { t.Misspecify(test.disturbance, rng) }
			}
			r, err := rateOf(layers.Bilinear{Prior: layers.UniformPrior{}}, test.Design, q).Run(t.Context(), Settings{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			inBands(t, r)
			if beta, ok := r.Row("beta-n"); !ok || math.Abs(beta.Value+0.5) > 0.25 {
				t.Errorf("β_N is %g", beta.Value)
			}
		})
	}
}

// inBands asks that no row of the report lies outside its band.
func inBands(t *testing.T, r *Report) {
	t.Helper()
	if failures := r.Failures(); failures != nil {
		t.Errorf("outside their bands: %v\n%+v", failures, r.Rows)
	}
}

// Any Map can be asked, also one whose free directions bend: a codeword's factors of rank 2 are
// free up to an invertible 2×2 matrix. A question finds how many directions are free.
func TestRateOfAnyMap(t *testing.T) {
	d := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 6, Decades: 1}
	for name, test := range map[string]struct {
		layers.Map
		free float64 // null directions; −1: not known in advance
	}{
		"bilinear":             {layers.Bilinear{Prior: layers.UniformPrior{}}, 3},
		"bilinear, own prior":  {layers.Bilinear{}, 4},
		"rank 2":               {layers.Rank{Rank: 2}, -1},
		"diagonal":             {layers.Diagonal{}, -1},
		"Dirichlet, one block": {layers.Dirichlet{}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := rateOf(test.Map, d, Question{Shifts: 2, Replicates: 10}).Run(t.Context(), Settings{Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			inBands(t, r)
			if free, _ := r.Row("nullity"); test.free >= 0 && free.Value != test.free {
				t.Errorf("%g directions are free, not %g", free.Value, test.free)
			}
		})
	}
}

// With a tenth of the replicates a band is more than √10 times as wide: the error is
// larger, and itself less certain.
func TestBandsWidenWithFewReplicates(t *testing.T) {
	d := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1}
	width := func(replicates int) float64 {
		r, err := rateOf(layers.Dirichlet{}, d, Question{Sizes: []int{1e6, 1e7}, Shifts: 1, Replicates: replicates}).Run(t.Context(), Settings{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		row, ok := r.Row("a3") // nothing but chance is in its band
		if !ok {
			t.Fatal("no row a3")
		}
		return row.Band.High - row.Band.Low
	}
	if few, many := width(8), width(80); few < math.Sqrt(10)*many {
		t.Errorf("the band of 8 replicates is %g wide, that of 80 %g", few, many)
	}
}

// Frequencies are those of the design's law, also where the cells are drawn from it.
func TestDesignsTakeAnyLaw(t *testing.T) {
	d := Design{Classes: 2, Slots: 6, Codewords: 5, Atoms: 1, Law: []float64{8, 4, 2, 1, 1}}
	if got := d.Frequencies(0); !floats.EqualApprox(got, []float64{0.5, 0.25, 0.125, 0.0625, 0.0625}, 1e-15) {
		t.Errorf("the law 8, 4, 2, 1, 1 gives %v", got)
	}
	if got := d.Frequencies(1)[4]; got != 0.5 {
		t.Errorf("a shift leaves the last codeword %g", got)
	}
	whole := support(d, []int{0}, newRand(1)) // all 210 cells
	d.Cells = 150
	drawn := support(d, []int{0}, newRand(1))
	if len(whole.Cells) != 210 || len(drawn.Cells) != 150 {
		t.Fatalf("%d and %d cells", len(whole.Cells), len(drawn.Cells))
	}
	all, some := whole.Occupancy(whole.Multinomial(d.Frequencies(0))), drawn.Occupancy(drawn.Multinomial(d.Frequencies(0)))
	for k, p := range d.Frequencies(0) {
		if !scalar.EqualWithinAbs(all[k], 6*p, 1e-12) {
			t.Errorf("codeword %d occurs %g times in a row, not %g", k, all[k], 6*p)
		}
		// 150 different cells take some 2,000 draws, which hold the rarest codeword 750 times: a
		// standard deviation of 4 %.
		if ratio := some[k] / (6 * p); ratio < 0.85 || ratio > 1.15 {
			t.Errorf("in drawn cells codeword %d occurs %g times in a row, not %g", k, some[k], 6*p)
		}
	}
	for _, law := range [][]float64{{1, 2}, {1, 1, 1, 1, 0}, {1, 1, 1, 1, -1}} {
		d.Law = law
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), "5 positive numbers") {
			t.Errorf("law %v: %v", law, err)
		}
	}
}

// penalized is the paper's map with a penalty, which makes another estimator of it.
type penalized struct{ layers.Bilinear }

func (m penalized) Loss(b *graph.Builder, in layers.Batch, rows int) *gorgonia.Node {
	return b.Plus(b.NLL(m.LogProbs(b, in), in.Labels(b)), layers.Penalty(b, "bilinear/receiver", 1e6/float64(rows)))
}

// A penalty whose weight changes with the rows has no limit, and is refused.
func TestRateRefusesPenaltiesOfRows(t *testing.T) {
	_, err := rateOf(penalized{layers.Bilinear{Prior: layers.UniformPrior{}}}, Fast(), Question{}).Run(t.Context(), Settings{})
	if err == nil || !strings.Contains(err.Error(), "penalized changes with the number of rows") {
		t.Errorf("the study of a map with a penalty ends with %v", err)
	}
}
