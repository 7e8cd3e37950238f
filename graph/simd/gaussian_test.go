package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

func gaussianProblem(n, d int, spread float64) (products, sq []float32, si float32) {
	rng := rand.New(rand.NewPCG(11, 12))
	z := make([][]float64, n+1)
	for i := range z {
		z[i] = make([]float64, d)
		for k := range z[i] {
			z[i][k] = spread * rng.NormFloat64()
		}
	}
	inner := func(a, b []float64) (s float64) {
		for k := range a {
			s += a[k] * b[k]
		}
		return s
	}
	for _, zj := range z[:n] {
		products = append(products, float32(inner(z[n], zj)))
		sq = append(sq, float32(inner(zj, zj)))
	}
	return products, sq, float32(inner(z[n], z[n]))
}

// The reference is the formula in float64 on the same float32 products and norms.
// The kernel rounds si+sq and the exponent x once each, so K is off by some
// 6e-8·(si+sq)/γ² and 6e-8·|x| relative, beside the ulp of exp.
func TestGaussianRow(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 16, 33, 1000} {
			products, sq, si := gaussianProblem(n, 20, 3)
			const gamma = 5.0
			row := append([]float32{}, products...)
			GaussianRow(row, sq, si, gamma)
			for j, k := range row {
				d := math.Max(0, float64(si)+float64(sq[j])-2*float64(products[j]))
				want := math.Exp(-d / (2 * gamma * gamma))
				if bound := want * 1.2e-7 * (1 + float64(si+sq[j])/(gamma*gamma) + d/(2*gamma*gamma)); !scalar.EqualWithinAbs(float64(k), want, bound) {
					t.Fatalf("n = %d: K[%d] = %g, want %g within %g", n, j, k, want, bound)
				}
			}
		}
	})
}

// Equal vectors give exactly 1 even where rounding makes the distance negative;
// far ones give exactly 0; NaN shows.
func TestGaussianRowLimits(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		row := []float32{1.0000001, 0, float32(math.NaN()), 0}
		GaussianRow(row, []float32{1, 1e4, 1, 2 * 87.34}, 1, 1)
		if row[0] != 1 || row[1] != 0 || row[2] == row[2] || row[3] != 0 {
			t.Errorf("GaussianRow gives %g", row)
		}
	})
}

func BenchmarkGaussianRow(b *testing.B) {
	products, sq, si := gaussianProblem(2048, 50, 1)
	row := make([]float32, len(products))
	for b.Loop() {
		copy(row, products)
		GaussianRow(row, sq, si, 10)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(row)), "ns/elem")
}

func ExampleGaussianRow() {
	// z_i = (1, 0) against (1, 0), (0, 1) and (3, 0), bandwidth 1
	row := []float32{1, 0, 3}
	GaussianRow(row, []float32{1, 1, 9}, 1, 1)
	fmt.Printf("%.4f\n", row)
	// Output: [1.0000 0.3679 0.1353]
}
