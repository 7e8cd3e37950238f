package studies

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data/disk"
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"
)

func TestUnknownStudy(t *testing.T) {
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
	if _, err := study[0].Run(ctx, theory.Settings{Effort: theory.Quick}); err == nil || ctx.Err() == nil {
		t.Error("a cancelled study ends without an error")
	}
}

func TestPropositionsHold(t *testing.T) {
	study, err := Find("propositions")
	if err != nil {
		t.Fatal(err)
	}
	r, err := study[0].Run(context.Background(), theory.Settings{Seed: 1, Effort: theory.Quick})
	if err != nil {
		t.Fatal(err)
	}
	if failures := r.Failures(); failures != nil {
		t.Errorf("outside their bands: %v", failures)
	}
	folder := t.TempDir()
	to := disk.NewFolder(folder, theory.Group)
	defer to.Discard()
	to.Fail(r.Add(to))
	if err := to.Commit(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(folder, "propositions.csv")); err != nil || info.Size() == 0 {
		t.Errorf("%v", err)
	}
}

// TestLogDirichlet draws where the draw itself is 0/0 in float64, and has the mean of the law
// where it is not: E log p_i = ψ(α_i) − ψ(Σ α).
func TestLogDirichlet(t *testing.T) {
	rng, logp := theory.Settings{Seed: 53}.RNG(), make([]float64, 3)
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
