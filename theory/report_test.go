package theory

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
)

// The same seed gives the same bytes on any number of cores.
func TestStudiesDoNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	d := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1}
	var first string
	for _, cores := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(cores)
		r, err := rateOf(layers.Dirichlet{}, d, Question{Sizes: []int{1e5, 1e6}, Replicates: 5}).Run(t.Context(), Settings{Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r.Rows)
		if err != nil {
			t.Fatal(err)
		}
		if first == "" {
			first = string(text)
		} else if first != string(text) {
			t.Errorf("%d cores give another report", cores)
		}
	}
}

// Bad input is one sentence that says what to do.
func TestBadInput(t *testing.T) {
	good := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1}
	lone, poor := good, good
	lone.Codewords, poor.Atoms, poor.Codewords = 1, 1, 8
	for _, test := range []struct {
		what   string
		layer  layers.Map
		design Design
		Question
		want string
	}{
		{"one codeword", layers.Bilinear{}, lone, Question{}, "at least 2 codewords"},
		{"small N", layers.Bilinear{Prior: layers.UniformPrior{}}, good, Question{Sizes: []int{10, 20}, Replicates: 2}, "too small"},
		{"one size", layers.Bilinear{}, good, Question{Sizes: []int{1e5}}, "two sample sizes"},
		{"nothing learned", layers.Identity{}, good, Question{}, "no learned weight"},
		{"a gauge that leaves null directions", layers.Dirichlet{}, good, Question{Estimator: Estimator{Gauge: NullSpace{}}}, "not positive definite off the gauge"},
	} {
		_, err := rateOf(test.layer, test.design, test.Question).Run(t.Context(), Settings{})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", test.what, err)
		}
	}
}

// Row returns the row of that key.
func (r *Report) Row(key string) (Row, bool) {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Key == key })
	if i < 0 {
		return Row{}, false
	}
	return r.Rows[i], true
}

// A change of gauge changes no prediction, and Fix undoes it.
func TestRescalingIsFree(t *testing.T) {
	truth, theta, _ := somewhere(t, 1)
	gauge := Rescaling{truth.Design.Classes, truth.Design.Codewords}
	gauge.Fix(theta, nil)
	moved := slices.Clone(theta)
	for k := range gauge.Codewords {
		a, b := gauge.Factors(moved, k)
		scale := -1.5 - float64(k)
		floats.Scale(scale, a)
		floats.Scale(1/scale, b)
	}
	model := truth.Table.ByHand(1)
	before, after := make([]float64, len(truth.Label)), make([]float64, len(truth.Label))
	if err := model.LogProbs(before, theta); err != nil {
		t.Fatal(err)
	}
	if err := model.LogProbs(after, moved); err != nil {
		t.Fatal(err)
	}
	if !floats.EqualApprox(before, after, 1e-12) { // products of rescaled factors round differently
		t.Error("a rescaling changes predictions")
	}
	gauge.Fix(moved, theta)
	if !floats.EqualApprox(theta, moved, 1e-12) { // as above
		t.Error("Fix does not undo a rescaling")
	}
}

// Cells, atoms and labels have the probabilities they were given.
func TestSamplesAreMultinomial(t *testing.T) {
	truth, _, _ := somewhere(t, 1)
	cellProb := truth.Table.Multinomial(truth.Design.Frequencies(1))
	if total := floats.Sum(cellProb); !scalar.EqualWithinAbs(total, 1, 1e-12) {
		t.Errorf("cell probabilities sum to %g", total)
	}
	if w := floats.Sum(truth.Table.Occupancy(cellProb)); !scalar.EqualWithinAbs(w, float64(truth.Design.Slots), 1e-12) {
		t.Errorf("a row holds %g codewords, not w", w)
	}
	population := truth.Weights(cellProb)
	const n, draws = 1000, 4000
	sums, squares := make([]float64, len(population)), make([]float64, len(population))
	rng := newRand(9)
	for range draws {
		sample := Sample(population, n, rng)
		if total := floats.Sum(sample); !scalar.EqualWithinAbs(total, 1, 1e-12) {
			t.Fatalf("a sample of %d holds %g rows", n, total*n)
		}
		for i, s := range sample {
			sums[i] += s * n
			squares[i] += s * n * s * n
		}
	}
	var chi2 float64
	for i, p := range population {
		mean := sums[i] / draws
		variance := n * p * (1 - p)
		chi2 += (mean - n*p) * (mean - n*p) / (variance / draws)
		if p > 0.01 {
			observed := squares[i]/draws - mean*mean
			// A variance from 4000 draws is good to 2.2 %; 10 % is over four of that.
			if !scalar.EqualWithinAbs(observed/variance, 1, 0.1) {
				t.Errorf("entry %d has variance %g, not %g", i, observed, variance)
			}
		}
	}
	// χ² of 90 degrees of freedom stays below 137 in 999 of 1000 draws.
	if chi2 > 137 {
		t.Errorf("means are off by χ² = %g for %d entries", chi2, len(population))
	}
}
