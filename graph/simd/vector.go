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

// Outer sets m, a matrix of len(a) rows and len(b) columns, to a·bᵀ. It panics if m has
// another size.
func Outer(m, a, b []float32) {
	sameLength("Outer", len(m), len(a)*len(b))
	if len(m) > 0 {
		outerKernel(m, a, b)
	}
}

func outerPortable(m, a, b []float32) {
	for i, x := range a {
		row := m[i*len(b) : (i+1)*len(b)]
		for j, y := range b {
			row[j] = x * y
		}
	}
}

// AddSlots adds columns lo to hi of the w slots of x, each of width d, to the rows of
// sums, K×d, that the w codes name, in the order of the slots. It panics if x is not
// w·d long, or a code is none of the K rows.
func AddSlots(sums, x []float32, codes []int32, d, lo, hi int) {
	sameLength("AddSlots", len(x), len(codes)*d)
	for _, k := range codes {
		_ = sums[int(k)*d : (int(k)+1)*d]
	}
	if lo < hi && len(codes) > 0 {
		addSlotsKernel(sums, x, codes, d, lo, hi)
	}
}

func addSlotsPortable(sums, x []float32, codes []int32, d, lo, hi int) {
	for i, k := range codes {
		sum := sums[int(k)*d+lo : int(k)*d+hi]
		for l, v := range x[i*d+lo : i*d+hi] {
			sum[l] += v
		}
	}
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
