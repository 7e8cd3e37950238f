package simd

// Dot returns Σ x_i·y_i in float32, in an order that depends on the length alone.
// It panics if the lengths differ.
func Dot(x, y []float32) float32 {
	sameLength("Dot", len(x), len(y))
	return dotKernel(x, y)
}

// Axpy adds a·x to y. It panics if the lengths differ.
func Axpy(y []float32, a float32, x []float32) {
	sameLength("Axpy", len(y), len(x))
	axpyKernel(y, a, x)
}

func dotPortable(x, y []float32) float32 {
	var s [4]float32
	n := len(x) &^ 3
	for i := 0; i < n; i += 4 {
		s[0] += x[i] * y[i]
		s[1] += x[i+1] * y[i+1]
		s[2] += x[i+2] * y[i+2]
		s[3] += x[i+3] * y[i+3]
	}
	for i := n; i < len(x); i++ {
		s[0] += x[i] * y[i]
	}
	return (s[0] + s[1]) + (s[2] + s[3])
}

func axpyPortable(y []float32, a float32, x []float32) {
	for i, v := range x {
		y[i] += a * v
	}
}
