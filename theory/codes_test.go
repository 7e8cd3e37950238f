package theory

import (
	"encoding/json"
	"math"
	"testing"

	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
)

// The cells of fitted codes have the masses of all slots and the law of the centres: codewords that
// stand on them occur as often as they do.
func TestFittedCodesFollowTheLaw(t *testing.T) {
	for name, codes := range map[string]layers.Codes{
		"k-means": layers.Fixed{Codewords: 5, Place: layers.KMeans{}},
		"soft":    layers.Soft{Of: layers.Fixed{Codewords: 5, Place: layers.KMeans{}}},
		"stages":  layers.Residual{Codewords: 3},
		"product": layers.Product{Codewords: 3},
	} {
		d := Design{Classes: 2, Slots: 4, Codewords: 5, Atoms: 1, Decades: 1, Cells: 400, Codes: codes}
		table, err := fitCodes(t.Context(), d, []int{0, 2}, newRand(2))
		if err != nil {
			t.Fatal(err)
		}
		total := float64(table.fitted.sizes.Total())
		for _, shift := range []int{0, 2} {
			// Shares are single precision's.
			if mass := floats.Sum(table.Occupancy(table.Multinomial(d.Frequencies(shift)))); !scalar.EqualWithinAbs(mass, total, 1e-5) {
				t.Errorf("%s: the codewords of a row have a mass of %g, not %g", name, mass, total)
			}
		}
		if table.Codewords < 5 {
			t.Errorf("%s: only %d codewords occur", name, table.Codewords)
		}
	}
}

// One codeword for all rows has a rate in N, and none in how often it occurs, which does not vary.
func TestRateOfOneCodeword(t *testing.T) {
	d := Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 4, Decades: 1, Cells: 40, Codes: layers.Codebook{Codewords: 1}}
	r, err := Rate(t.Context(), layers.Bilinear{Prior: layers.UniformPrior{}}, d, RateSettings{Seed: 1, Shifts: 2, Replicates: 10})
	if err != nil {
		t.Fatal(err)
	}
	inBands(t, r)
	if _, has := r.Row("beta-p"); has {
		t.Error("there is a slope over frequencies that do not vary")
	}
	if beta, _ := r.Row("beta-n"); math.Abs(beta.Value+0.5) > 0.25 {
		t.Errorf("β_N is %g", beta.Value)
	}
}

// A map whose weights belong to no codeword has no law of counts to compute, on soft codes as on others.
func TestRateOfSharedWeightsOnSoftCodes(t *testing.T) {
	d := Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 4, Cells: 40, Codes: layers.Soft{Of: layers.Fixed{Codewords: 4, Place: layers.KMeans{}}}}
	r, err := Rate(t.Context(), layers.Dirichlet{}, d, RateSettings{Seed: 1, Shifts: 1, Replicates: 4})
	if err != nil {
		t.Fatal(err)
	}
	inBands(t, r)
	if _, has := r.Row("law-sum"); has {
		t.Error("there is a slope of blocks that do not exist")
	}
}

// Maps that read the codes themselves, by slot, read shares too.
func TestRateOfSlotScalesOnSoftCodes(t *testing.T) {
	d := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Cells: 60, Codes: layers.Soft{Of: layers.Product{Codewords: 3}}}
	r, err := Rate(t.Context(), layers.Bilinear{Prior: layers.UniformPrior{}, Scale: layers.LearnedScale{}}, d, RateSettings{Seed: 1, Shifts: 1, Replicates: 4})
	if err != nil {
		t.Fatal(err)
	}
	inBands(t, r)
}

// Of hard codes N_k is how often a codeword is assigned, whatever it means of soft ones.
func TestCountsOfHardCodes(t *testing.T) {
	truth, _, _ := somewhere(t, 1)
	law := truth.law(0)
	for _, kind := range countKinds {
		if got := kind.counts(truth.Table, law); !floats.EqualApprox(got, truth.Table.Occupancy(law), 1e-15) {
			t.Errorf("%s is %v", kind.name, got)
		}
	}
}

// Of soft codes a study tells how errors and coverage go with each meaning of N_k, in JSON too,
// where a class of few posteriors has no interval.
func TestRateOfSoftCodesTellsOfCounts(t *testing.T) {
	soft := layers.Soft{Of: layers.Fixed{Codewords: 3, Place: layers.KMeans{}}}
	d := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1, Identity: 1, Cells: 40, Codes: soft}
	r, err := Rate(t.Context(), layers.Bilinear{Prior: layers.UniformPrior{}}, d, RateSettings{Seed: 1, Shifts: 2, Replicates: 4})
	if err != nil {
		t.Fatal(err)
	}
	inBands(t, r)
	for _, kind := range countKinds {
		// Some 1,000 posteriors of four samples, which are not independent: a fifth of .9 is far.
		if row, ok := r.Row("coverage-" + kind.key + "-10000"); !ok || math.Abs(row.Value-intervalLevel) > 0.2 {
			t.Errorf("coverage by %s: %v, %t", kind.name, row.Value, ok)
		}
		if row, ok := r.Row("law-" + kind.key); !ok || !(row.Value < 0) {
			t.Errorf("slope on %s: %v, %t", kind.name, row.Value, ok)
		}
	}
	if _, err := json.Marshal(r.Rows); err != nil {
		t.Error(err)
	}
}
