package metrics

import "testing"

// TestShareInterval holds the interval to scipy.stats.binomtest(k, n).proportion_ci(method="exact"), and that of rows
// which count as a broken number to scipy.stats.beta.ppf.
func TestShareInterval(t *testing.T) {
	for _, c := range []struct{ hits, n, low, high float64 }{
		{3, 3, 0.2924017738212867, 1.0},
		{0, 3, 0.0, 0.7075982261787133},
		{30, 30, 0.8842966917779725, 1.0},
		{7, 10, 0.3475471499399921, 0.9332604888222655},
		{950, 1000, 0.9346095120845064, 0.9626646023953394},
		{4.5, 6.25, 0.2712845512774527, 0.9714973405582221},
	} {
		if i := ShareInterval(c.hits, c.n); !near(i.Low, c.low, 1e-9) || !near(i.High, c.high, 1e-9) {
			t.Errorf("%g of %g: %v – %v, want %v – %v", c.hits, c.n, i.Low, i.High, c.low, c.high)
		}
	}
}
