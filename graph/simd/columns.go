package simd

import (
	"fmt"
	"math"
)

// MulAdd adds a∘x to y, number by number. It panics if the lengths differ.
func MulAdd(y, a, x []float32) {
	sameLength("MulAdd", len(y), len(a), len(x))
	if k := sets[isa].mulAdd; k != nil && len(y) > 0 {
		k(&y[0], &a[0], &x[0], len(y))
		return
	}
	for i := range y {
		y[i] += a[i] * x[i]
	}
}

// Times multiplies y by x, number by number. It panics if the lengths differ.
func Times(y, x []float32) { apply("Times", sets[isa].times, timesPortable, y, x) }

func timesPortable(y, x []float32) {
	for i, v := range x {
		y[i] *= v
	}
}

// ExpColumns sets most to the greatest of each column of x, whose rows are as long as most, p to exp(x − most), and sum
// to the sum of each column of p. A column with a NaN has one in p and sum. It panics if the lengths disagree.
func ExpColumns(p, sum, most, x []float32) {
	n := len(most)
	sameLength("ExpColumns", len(p), len(x))
	sameLength("ExpColumns", n, len(sum))
	if n == 0 || len(x)%n != 0 {
		panic(fmt.Sprintf("simd: ExpColumns of %d numbers in rows of %d", len(x), n))
	}
	for i := range most {
		most[i], sum[i] = float32(math.Inf(-1)), 0
	}
	for lo := 0; lo < len(x); lo += n {
		apply("ExpColumns", sets[isa].greatest, greatestPortable, most, x[lo:lo+n])
	}
	for lo := 0; lo < len(x); lo += n {
		expLessKernel(p[lo:lo+n], sum, x[lo:lo+n], most)
	}
}

func greatestPortable(y, x []float32) {
	for i, v := range x {
		if v > y[i] {
			y[i] = v
		}
	}
}

func expLessKernel(p, sum, x, most []float32) {
	if k := sets[isa].expLess; k != nil {
		k(&p[0], &sum[0], &x[0], &most[0], len(x))
		return
	}
	for i, v := range x {
		p[i] = v - most[i]
	}
	expPortable(p, p)
	for i, v := range p {
		sum[i] += v
	}
}
