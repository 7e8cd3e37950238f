package metrics

import "math"

// lanes is the number of rows of a stripe: four AVX-512 registers of float32.
const lanes = 64

// leastExponent is where the kernel is taken as 0. exp(−41) = 1.6e-18 is lost in
// a sum that holds the row itself, and its square (2.5e-36) is still a normal float32.
const leastExponent = -41

// multiply adds a·b to dst: dst is m×lanes, a is m×k with the given stride, b is k×lanes.
func multiply(dst, a []float32, stride, m, k int, b []float32) {
	for i := range m {
		d := (*[lanes]float32)(dst[i*lanes:])
		for j, x := range a[i*stride : i*stride+k] {
			if x == 0 {
				continue
			}
			row := (*[lanes]float32)(b[j*lanes:])
			for l := range d {
				d[l] += x * row[l]
			}
		}
	}
}

// exponentiate replaces each x by exp(min(x, 0)), and by 0 below leastExponent.
func exponentiate(x []float32) {
	for i, v := range x {
		if v < leastExponent {
			x[i] = 0
		} else {
			x[i] = float32(math.Exp(float64(min(v, 0))))
		}
	}
}

// square replaces each x by x².
func square(x []float32) {
	for i, v := range x {
		x[i] = v * v
	}
}

// addScaled adds a·x to dst, lanes values each.
func addScaled(dst []float32, a float32, x []float32) {
	d, row := (*[lanes]float32)(dst), (*[lanes]float32)(x)
	for l := range d {
		d[l] += a * row[l]
	}
}
