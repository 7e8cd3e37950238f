package tile

// instructionSet names a family of kernels.
type instructionSet int

const (
	portable instructionSet = iota // plain Go
	avx2                           // 8 lanes, AVX2 and FMA
	avx512                         // 16 lanes, AVX-512 F, DQ, BW and VL
	neon                           // 4 lanes, arm64
)

func (s instructionSet) String() string {
	return [...]string{portable: "go", avx2: "avx2", avx512: "avx512", neon: "neon"}[s]
}

// blockKernel computes a block of 1 to registerRows rows.
type blockKernel func(dst, a *float32, stride, k int, b *float32)

// kernels are the assembly of one instruction set, by the rows of a block where it matters. What
// each computes, its portable form says.
type kernels struct {
	multiply, distances [registerRows]blockKernel
	gaussian            func(x, squares *float32, n int)
	square              func(dst, x *float32, n int)
	addRows             func(dst *float32, index *int32, n int, b *float32)
	sumMoments          func(dst *float32, rows *int32, e *float32, n int, k, squares *float32)
}

// Each function below runs the kernel of the instruction set, or the portable form where there is
// none or nothing to do.

func multiplyKernel(dst, a []float32, stride, m, k int, b []float32) {
	if kernel := sets[isa].multiply[m-1]; kernel != nil && k > 0 {
		kernel(&dst[0], &a[0], stride, k, &b[0])
	} else {
		multiplyPortable(dst, a, stride, m, k, b)
	}
}

func distancesKernel(dst, a []float32, stride, m, k int, b []float32) {
	if kernel := sets[isa].distances[m-1]; kernel != nil && k > 0 {
		kernel(&dst[0], &a[0], stride, k, &b[0])
	} else {
		distancesPortable(dst, a, stride, m, k, b)
	}
}

func gaussianKernel(x, squares []float32) {
	if kernel := sets[isa].gaussian; kernel != nil && len(x) > 0 {
		kernel(&x[0], &squares[0], len(x))
	} else {
		gaussianPortable(x, squares)
	}
}

func squareKernel(dst, x []float32) {
	if kernel := sets[isa].square; kernel != nil && len(x) > 0 {
		kernel(&dst[0], &x[0], len(x))
	} else {
		squarePortable(dst, x)
	}
}

func addRowsKernel(dst []float32, index []int32, b []float32) {
	if kernel := sets[isa].addRows; kernel != nil && len(index) > 0 {
		kernel(&dst[0], &index[0], len(index), &b[0])
	} else {
		addRowsPortable(dst, index, b)
	}
}

func sumMomentsKernel(dst []float32, rows []int32, e, k, squares []float32) {
	if kernel := sets[isa].sumMoments; kernel != nil && len(rows) > 0 {
		kernel(&dst[0], &rows[0], &e[0], len(rows), &k[0], &squares[0])
	} else {
		sumMomentsPortable(dst, rows, e, k, squares)
	}
}
