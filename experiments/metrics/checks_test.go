package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats/scalar"
)

func (p problem) checks(t *testing.T) *Checks {
	t.Helper()
	b, _, err := prepare(p.logProbs, p.labels, nil, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var c Checks
	b.debiased(&c)
	if err := b.skce(context.Background(), nil, &checked.Progress{}, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// The estimator, written plainly.
func TestSKCEAgainstTheDefinition(t *testing.T) {
	p := generate(150, 3, 1, 2, rand.New(rand.NewPCG(1, 1)))
	b, _, err := prepare(p.logProbs, p.labels, nil, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	z := b.predictionSpace()
	var sum float64
	place := make([][]float32, 150)
	for i := range place {
		place[i] = make([]float32, z.dim)
		z.write(place[i], i)
	}
	for i := range 150 {
		for j := range 150 {
			if i == j {
				continue
			}
			var d2, product float64
			for c := range 3 {
				d := float64(place[i][c]) - float64(place[j][c])
				d2 += d * d
				product += b.Residual(i, c) * b.Residual(j, c)
			}
			sum += math.Exp(-d2/2) * product
		}
	}
	if got, want := p.checks(t).SKCE, sum/(150*149); !scalar.EqualWithinAbs(got, want, 1e-7) { // float32 terms of both signs, |e| ≤ 1
		t.Errorf("SKCE %.9g, want %.9g", got, want)
	}
}

// Of calibrated predictions the estimates average zero where the plug-in does not.
func TestChecksAreUnbiased(t *testing.T) {
	const repetitions = 200
	var plain, debiased, square, skce, skce2 float64
	for k := range repetitions {
		p := generate(200, 3, 1, 1, rand.New(rand.NewPCG(2, uint64(k))))
		c := p.checks(t)
		m, err := Measure(context.Background(), p.logProbs, p.labels, nil, Settings{})
		if err != nil {
			t.Fatal(err)
		}
		plain += m.Values[ECE] / repetitions
		debiased += c.ECEDebiased / repetitions
		square += c.SquaredDebiased / repetitions
		skce += c.SKCE / repetitions
		skce2 += c.SKCE * c.SKCE / repetitions
	}
	if debiased > .7*plain { // the normal approximation at the observed frequencies takes off a good third
		t.Errorf("debiased ECE averages %.4f, plain %.4f", debiased, plain)
	}
	if !(math.Abs(square) <= plain*plain/10) {
		t.Errorf("debiased square averages %.2g, ECE² %.2g", square, plain*plain)
	}
	if se := math.Sqrt(skce2 / repetitions); !(math.Abs(skce) <= 3*se) {
		t.Errorf("SKCE averages %.2g ± %.2g", skce, se)
	}
}

// In one wide bin the debiased square takes off the variance of the probabilities too.
func TestDebiasedSquareOfAWideBin(t *testing.T) {
	const rows, redraws = 60, 20000
	p := generate(rows, 2, 1, 1, rand.New(rand.NewPCG(3, 3)))
	b, _, err := prepare(p.logProbs, p.labels, nil, Settings{Bins: 1})
	if err != nil {
		t.Fatal(err)
	}
	var centre, variance float64
	for i := range rows {
		centre += b.Prob[2*i] / rows
	}
	for i := range rows {
		variance += (b.Prob[2*i] - centre) * (b.Prob[2*i] - centre) / rows
	}
	var sum, squares float64
	for _, labels := range b.redraw(redraws, rand.New(rand.NewPCG(4, 4))) {
		var c Checks
		b.Label = labels.all(b.N)
		b.debiased(&c)
		sum += c.SquaredDebiased / redraws
		squares += c.SquaredDebiased * c.SquaredDebiased / redraws
	}
	se := math.Sqrt((squares - sum*sum) / redraws)
	if want := -variance / (rows - 1); !(math.Abs(sum-want) <= 4*se) || -want < 10*se {
		t.Errorf("the debiased square averages %.3g ± %.1g, want %.3g", sum, se, want)
	}
}

func TestDebiasedByHand(t *testing.T) {
	// one bin of 100 rows, confidence .7, frequency .5: σ = .05, a gap of 4σ has next to no bias
	if got := (binCounts{size: []float64{100}, squares: []float64{100}, confidence: []float64{70}, hits: []float64{50}, hitSquares: []float64{50}}).debiasedECE(); !near(got, .2, 1e-5) {
		t.Errorf("debiased ECE %v", got)
	}
	// no gap: −E|σZ| = −.05·√(2/π)
	if got := (binCounts{size: []float64{100, 0}, squares: []float64{100, 0}, confidence: []float64{50, 0}, hits: []float64{50, 0}, hitSquares: []float64{50, 0}}).debiasedECE(); !near(got, -.05*math.Sqrt(2/math.Pi), 1e-12) {
		t.Errorf("debiased ECE without a gap %v", got)
	}
	// .04 − .25/99, and a bin of one row
	if got := (binCounts{size: []float64{100, 1}, squares: []float64{100, 1}, confidence: []float64{70, .2}, hits: []float64{50, 1}, hitSquares: []float64{50, 1}}).debiasedSquare(); !near(got, (.04-.25/99)*100/101, 1e-12) {
		t.Errorf("debiased square %v", got)
	}
}
