package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestLikelihoodRatioIsScipys: testdata/likelihoodratio.json has 150 rows of two, three and four classes, vector
// scaling fitted to each by scipy 1.17.1 (BFGS, gradient at most 1e-8) and its χ². The likelihoods agree to 1e-12 of a
// row there.
func TestLikelihoodRatioIsScipys(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "likelihoodratio.json"))
	if err != nil {
		t.Fatal(err)
	}
	var golden struct {
		Cases []struct {
			LogProbs     [][]float64 `json:"log_probs"`
			Labels       []int
			Statistic, P float64
			Degrees      int
		}
	}
	if err := json.Unmarshal(text, &golden); err != nil {
		t.Fatal(err)
	}
	for _, want := range golden.Cases {
		got, err := NewLikelihoodRatio(dense(want.LogProbs), want.Labels, Settings{}, rand.New(rand.NewPCG(0, 0)))
		if err != nil || got.Degrees != want.Degrees || !near(got.Statistic, want.Statistic, 1e-8) || !near(got.PValue, want.P, 1e-8) {
			t.Errorf("%d classes: %+v, want %v with p %v (%v)", len(want.LogProbs[0]), got, want.Statistic, want.P, err)
		}
		rows, double := make([]float64, len(want.Labels)), Settings{}
		for i := range rows {
			rows[i] = 3
		}
		if double.Rows = rows; err == nil {
			if again, err := NewLikelihoodRatio(dense(want.LogProbs), want.Labels, double, rand.New(rand.NewPCG(0, 0))); err != nil || !near(again.Statistic, got.Statistic, 1e-9) {
				t.Errorf("with weights of 3 for each row: %+v (%v)", again, err)
			}
		}
	}
}

// TestLikelihoodRatioOfCalibrated: of labels that are drawn from the predictions p is uniform, and of sharper
// predictions small.
func TestLikelihoodRatioOfCalibrated(t *testing.T) {
	var p []float64
	for draw := range 150 {
		rng := rand.New(rand.NewPCG(6, uint64(draw)))
		l, labels := mat.NewDense(400, 3, nil), make([]int, 400)
		for i := range labels {
			row := l.RawRowView(i)
			for c := range row {
				row[c] = 1.2 * rng.NormFloat64()
			}
			floats.AddConst(-floats.LogSumExp(row), row)
			for u := rng.Float64(); labels[i] < 2 && u > math.Exp(row[labels[i]]); labels[i]++ {
				u -= math.Exp(row[labels[i]])
			}
		}
		r, err := NewLikelihoodRatio(l, labels, Settings{}, rng)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, r.PValue)
		if draw > 20 {
			continue
		}
		for i := range labels {
			row := l.RawRowView(i)
			floats.Scale(2, row)
			floats.AddConst(-floats.LogSumExp(row), row)
		}
		if r, err = NewLikelihoodRatio(l, labels, Settings{}, rng); err != nil || r.PValue > 1e-4 {
			t.Errorf("draw %d of predictions twice as sharp: %+v (%v)", draw, r, err)
		}
	}
	if p := kolmogorov(p, 1000); p < .01 {
		t.Errorf("p of calibrated predictions is not uniform: Kolmogorov–Smirnov p = %.4f", p)
	}
	few := mat.NewDense(20, 3, nil)
	few.Apply(func(int, int, float64) float64 { return -math.Log(3) }, few)
	if r, err := NewLikelihoodRatio(few, make([]int, 20), Settings{}, rand.New(rand.NewPCG(0, 0))); err != nil || r != nil {
		t.Errorf("20 rows test five parameters: %+v (%v)", r, err)
	}
}

// TestLikelihoodRatioOfRareEvents: of an event expected three times in 300 rows redraws give p; χ² rejected a fifth of
// such calibrated draws. Of one that is told a tenth as likely they reject half, as they did of the ratio
// itself.
func TestLikelihoodRatioOfRareEvents(t *testing.T) {
	const draws = 50
	rejected, found := 0, 0
	for draw := range draws {
		rng := rand.New(rand.NewPCG(66, uint64(draw)))
		l, labels := calibratedRows(300, 2, .35, 4.5, rng)
		r, err := NewLikelihoodRatio(l, labels, Settings{}, rng)
		if err != nil || r.Redraws == 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		if r.PValue < .05 {
			rejected++
		}
		for i := range labels {
			row := l.RawRowView(i)
			row[0] -= math.Log(10)
			floats.AddConst(-floats.LogSumExp(row), row)
		}
		if r, err = NewLikelihoodRatio(l, labels, Settings{}, rng); err != nil {
			t.Fatal(err)
		}
		if r.PValue < .05 {
			found++
		}
	}
	if found < draws/2 {
		t.Errorf("of %d draws of an event ten times as frequent as told %d are rejected", draws, found)
	}
	if most := .05*draws + 2*math.Sqrt(draws*.05*.95); float64(rejected) > most {
		t.Errorf("%d of %d calibrated draws are rejected at 5 %%", rejected, draws)
	}
}
