package theory

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"calibra/data/disk"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mathext"
)

// The same seed gives the same bytes on any number of cores.
func TestStudiesDoNotDependOnCores(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	d := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1}
	var first string
	for _, cores := range []int{1, 2, 4} {
		runtime.GOMAXPROCS(cores)
		r, err := Rate(context.Background(), layers.Dirichlet{}, d, RateSettings{Seed: 5, Sizes: []int{1e5, 1e6}, Replicates: 5})
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
		RateSettings
		want string
	}{
		{"one codeword", layers.Bilinear{}, lone, RateSettings{}, "at least 2 codewords"},
		{"small N", layers.Bilinear{Prior: layers.UniformPrior{}}, good, RateSettings{Sizes: []int{10, 20}, Replicates: 2}, "too small"},
		{"one size", layers.Bilinear{}, good, RateSettings{Sizes: []int{1e5}}, "two sample sizes"},
		{"nothing learned", layers.Identity{}, good, RateSettings{}, "no learned weight"},
		{"a gauge that leaves null directions", layers.Dirichlet{}, good, RateSettings{Gauge: NullSpace{}}, "not positive definite off the gauge"},
	} {
		_, err := Rate(context.Background(), test.layer, test.design, test.RateSettings)
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", test.what, err)
		}
	}
	if _, err := Find("rate", "rat"); err == nil || !strings.Contains(err.Error(), "initialisation") {
		t.Errorf("an unknown study: %v", err)
	}
}

// An interrupted study says so.
func TestStudiesStopWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	study, err := Find("triangular")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := study[0].Run(ctx, Settings{Effort: Quick}); err == nil || ctx.Err() == nil {
		t.Error("a cancelled study ends without an error")
	}
}

func TestPropositionsHold(t *testing.T) {
	study, err := Find("propositions")
	if err != nil {
		t.Fatal(err)
	}
	r, err := study[0].Run(context.Background(), Settings{Seed: 1, Effort: Quick})
	if err != nil {
		t.Fatal(err)
	}
	if failures := r.Failures(); failures != nil {
		t.Errorf("outside their bands: %v", failures)
	}
	folder := t.TempDir()
	to := disk.NewFolder(folder, Group)
	defer to.Discard()
	to.Fail(r.Add(to))
	if err := to.Commit(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, "propositions.csv")); err != nil || info.Size() == 0 {
		t.Errorf("%v", err)
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
		a, b := gauge.factors(moved, k)
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

// TestLogDirichlet draws where the draw itself is 0/0 in float64, and has the mean of the law
// where it is not: E log p_i = ψ(α_i) − ψ(Σ α).
func TestLogDirichlet(t *testing.T) {
	rng, logp := newRand(53), make([]float64, 3)
	for range 1000 {
		drawLogDirichlet(logp, []float64{1e-6, 1e-6, 1e-6}, rng)
		if sum := floats.LogSumExp(logp); math.Abs(sum) > 1e-12 {
			t.Fatalf("log p is %v, whose sum is e^%g", logp, sum)
		}
	}
	alpha, mean := []float64{.02, .7, 4}, make([]float64, 3)
	const draws = 200_000
	for range draws {
		drawLogDirichlet(logp, alpha, rng)
		floats.AddScaled(mean, 1./draws, logp)
	}
	for i, a := range alpha {
		want := mathext.Digamma(a) - mathext.Digamma(floats.Sum(alpha))
		se := math.Sqrt(mathext.Zeta(2, a) / draws) // the variance of log p_i is ψ'(α_i) − ψ'(Σ α)
		if math.Abs(mean[i]-want) > 5*se {
			t.Errorf("mean log p of α = %g is %g, want %g ± %g", a, mean[i], want, se)
		}
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

// A researcher's own layer needs no more than its Map.
func ExampleRate() {
	d := Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 6, Decades: 1}
	r, err := Rate(context.Background(), layers.Dirichlet{}, d, RateSettings{Seed: 1, Sizes: []int{1e5, 1e6}, Replicates: 400})
	if err != nil {
		fmt.Println(err)
		return
	}
	// softmax(Wᵀ log p̂ + b) is free to shift b and each row of W.
	fmt.Println(r.Rows[0].Quantity, r.Rows[0].Value)
	fmt.Println("outside their bands:", r.Failures())
	// Output:
	// null directions of the population Hessian 4
	// outside their bands: []
}
