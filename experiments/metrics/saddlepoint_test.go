package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// TestBootstrapTail: the p-value is that of many replicates where these resolve it, and
// goes on below what 2,000 of them can say.
func TestBootstrapTail(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, shift := range []float64{0, .02, .1, .2, .3} {
		x := make([]float64, 150)
		for i := range x {
			x[i] = rng.ExpFloat64() - 1 + shift // skewed, as losses are
		}
		const replicates = 100000
		m, as := mean(x), 0
		for range replicates {
			var sum float64
			for range x {
				sum += x[rng.IntN(len(x))]
			}
			if math.Abs(sum/float64(len(x))-m) >= math.Abs(m) {
				as++
			}
		}
		counted := float64(as) / replicates
		sd := math.Sqrt(counted*(1-counted)/replicates) + 1./replicates
		if p := bootstrapTail(x); math.Abs(p-counted) > 4*sd+.03*counted { // a few per cent, by the formula
			t.Errorf("shift %v: p = %.5f, of %d replicates %.5f ± %.5f", shift, p, replicates, counted, sd)
		}
	}
	// Normal scores of 2,500 rows, 8 standard errors from 0: p is near that of a normal.
	x := make([]float64, 2500)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	m, sd := mean(x), NewSpread(x).SD
	for i := range x {
		x[i] = (x[i]-m)/sd + 8/math.Sqrt(float64(len(x)))
	}
	c, err := Compare(context.Background(), x, make([]float64, len(x)), rng)
	if want := math.Erfc(8 / math.Sqrt2); err != nil || c.PValue > 3*want || c.PValue < want/3 {
		t.Errorf("p = %.3g of %.3g: %v", c.PValue, want, err)
	}
	for _, same := range []struct {
		x    []float64
		want float64
	}{{[]float64{0, 0, 0}, 1}, {[]float64{2, 2, 2}, 0}} {
		if p := bootstrapTail(same.x); p != same.want {
			t.Errorf("of %v p = %v, want %v", same.x, p, same.want)
		}
	}
}
