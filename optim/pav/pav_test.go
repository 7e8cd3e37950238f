package pav

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestPoolsAreTheLeastSquares: the regression at value k is max_{a≤k} min_{b≥k} of the mean of the values a…b
// (Robertson, Wright and Dykstra 1988, theorem 1.4.4). Values of weight 0 take that of a pool beside them.
func TestPoolsAreTheLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 40 {
		weight, sum := make([]float64, n+1), make([]float64, n+1)
		for k := range weight {
			if rng.IntN(4) > 0 {
				weight[k] = float64(1 + rng.IntN(3))
				sum[k] = weight[k] * float64(rng.IntN(3)) / 2
			}
		}
		got, last := make([]float64, n+1), math.Inf(-1)
		for _, p := range Pools(nil, weight, sum) {
			if p.Weight > 0 && !(p.Mean() > last) {
				t.Errorf("%d values: a pool of mean %v follows one of %v", n+1, p.Mean(), last)
			}
			last = p.Mean()
			for k := p.First; k <= p.Last; k++ {
				got[k] = p.Mean()
			}
		}
		for k, w := range weight {
			if want := maxmin(weight, sum, k); w > 0 && math.Abs(got[k]-want) > 1e-12 {
				t.Errorf("%d values: at the one of number %d the regression is %v, not %v", n+1, k, got[k], want)
			}
		}
	}
}

func maxmin(weight, sum []float64, k int) float64 {
	most := math.Inf(-1)
	for a := range k + 1 {
		least := math.Inf(1)
		for b := k; b < len(weight); b++ {
			p := Pool{}
			for j := a; j <= b; j++ {
				p.Weight, p.Sum = p.Weight+weight[j], p.Sum+sum[j]
			}
			if p.Weight > 0 {
				least = math.Min(least, p.Mean())
			}
		}
		most = math.Max(most, least)
	}
	return most
}
