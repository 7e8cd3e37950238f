//go:build arm64 && !noasm

package tile

// isa is the instruction set the kernels run on: every arm64 processor has NEON. The
// tests set portable too.
var isa = neon

var multiplyNEON = [registerRows]blockKernel{multiply1NEON, multiply2NEON, multiply3NEON, multiply4NEON, multiply5NEON, multiply6NEON}
var distancesNEON = [registerRows]blockKernel{distances1NEON, distances2NEON, distances3NEON, distances4NEON, distances5NEON, distances6NEON}

func multiplyKernel(dst, a []float32, stride, m, k int, b []float32) {
	if isa == portable || k == 0 {
		multiplyPortable(dst, a, stride, m, k, b)
	} else {
		multiplyNEON[m-1](&dst[0], &a[0], stride, k, &b[0])
	}
}

func distancesKernel(dst, a []float32, stride, m, k int, b []float32) {
	if isa == portable || k == 0 {
		distancesPortable(dst, a, stride, m, k, b)
	} else {
		distancesNEON[m-1](&dst[0], &a[0], stride, k, &b[0])
	}
}

func gaussianKernel(x, squares []float32) {
	if isa == portable || len(x) == 0 {
		gaussianPortable(x, squares)
	} else {
		gaussianNEON(&x[0], &squares[0], len(x))
	}
}

func squareKernel(dst, x []float32) {
	if isa == portable || len(x) == 0 {
		squarePortable(dst, x)
	} else {
		squareNEON(&dst[0], &x[0], len(x))
	}
}

func addRowsKernel(dst []float32, index []int32, b []float32) {
	if isa == portable || len(index) == 0 {
		addRowsPortable(dst, index, b)
	} else {
		addRowsNEON(&dst[0], &index[0], len(index), &b[0])
	}
}

func addMomentsKernel(dst []float32, e float32, k, squares []float32) {
	if isa == portable {
		addMomentsPortable(dst, e, k, squares)
	} else {
		addMomentsNEON(&dst[0], e, &k[0], &squares[0])
	}
}
