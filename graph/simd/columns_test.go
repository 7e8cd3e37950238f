package simd

import (
	"fmt"
	"math"
	"testing"
)

// TestColumns holds sums of products, products, and the exponentials of columns less their greatest to float64.
func TestColumns(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for n := 1; n <= 70; n++ {
			y, a, x := normals(n, 1), normals(n, 2), normals(n, 3)
			sums, products := append([]float32(nil), y...), append([]float32(nil), y...)
			MulAdd(sums, a, x)
			Times(products, x)
			for i := range n {
				near(t, "MulAdd", sums[i], float64(y[i])+float64(a[i])*float64(x[i]), math.Abs(float64(a[i])*float64(x[i])))
				near(t, "Times", products[i], float64(y[i])*float64(x[i]), 0)
			}
			for _, c := range []int{1, 2, 3, 10} {
				columns(t, n, c)
			}
		}
	})
}

// columns has one with a NaN and one with −∞.
func columns(t *testing.T, n, c int) {
	t.Helper()
	x, p, sum, most := normals(c*n, uint64(n)), make([]float32, c*n), make([]float32, n), make([]float32, n)
	x[0], x[(c-1)*n+n/2] = float32(math.NaN()), float32(math.Inf(-1))
	ExpColumns(p, sum, most, x)
	for i := range n {
		greatest, total := float32(math.Inf(-1)), 0.
		for k := range c {
			greatest = max(greatest, x[k*n+i])
		}
		if greatest != greatest || math.IsInf(float64(greatest), 0) {
			if sum[i] == sum[i] || p[i] == p[i] {
				t.Fatalf("%d×%d: column %d without a greatest number has p %v and sum %v", c, n, i, p[i], sum[i])
			}
			continue
		}
		for k := range c {
			want := math.Exp(float64(x[k*n+i] - greatest))
			near(t, "p", p[k*n+i], want, 0)
			total += want
		}
		near(t, "sum", sum[i], total, 0)
		near(t, "most", most[i], float64(greatest), 0)
	}
}

// near allows four roundings of the result and one of what it was summed of.
func near(t *testing.T, name string, got float32, want, of float64) {
	t.Helper()
	if !(math.Abs(float64(got)-want) <= 4*unit*(math.Abs(want)+of)) {
		t.Fatalf("%s is %v, want %v", name, got, want)
	}
}

// BenchmarkExpColumns is of 1,024 columns of 10 classes and of 100, beside rows less their greatest number.
func BenchmarkExpColumns(b *testing.B) {
	for _, c := range []int{10, 100} {
		x, p := normals(1024*c, 1), make([]float32, 1024*c)
		sum, most := make([]float32, 1024), make([]float32, 1024)
		b.Run(fmt.Sprintf("columns/%d", c), func(b *testing.B) {
			for b.Loop() {
				ExpColumns(p, sum, most, x)
			}
		})
		b.Run(fmt.Sprintf("rows/%d", c), func(b *testing.B) {
			for b.Loop() {
				LessMost(p, x, c)
				Exp(p, p)
			}
		})
	}
}
