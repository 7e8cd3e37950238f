//go:build amd64 && !noasm

package tile

import "golang.org/x/sys/cpu"

// isa is the instruction set the kernels run on, chosen once at start-up.
var isa = detect()

func detect() instructionSet {
	switch x := &cpu.X86; {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasFMA:
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	}
	return portable
}

var multiplyAVX512 = [registerRows]blockKernel{multiply1AVX512, multiply2AVX512, multiply3AVX512, multiply4AVX512, multiply5AVX512, multiply6AVX512}
var multiplyAVX2 = [registerRows]blockKernel{multiply1AVX2, multiply2AVX2, multiply3AVX2, multiply4AVX2, multiply5AVX2, multiply6AVX2}
var distancesAVX512 = [registerRows]blockKernel{distances1AVX512, distances2AVX512, distances3AVX512, distances4AVX512, distances5AVX512, distances6AVX512}
var distancesAVX2 = [registerRows]blockKernel{distances1AVX2, distances2AVX2, distances3AVX2, distances4AVX2, distances5AVX2, distances6AVX2}

func multiplyKernel(dst, a []float32, stride, m, k int, b []float32) {
	switch {
	case isa == portable || k == 0:
		multiplyPortable(dst, a, stride, m, k, b)
	case isa == avx512:
		multiplyAVX512[m-1](&dst[0], &a[0], stride, k, &b[0])
	default:
		multiplyAVX2[m-1](&dst[0], &a[0], stride, k, &b[0])
	}
}

func distancesKernel(dst, a []float32, stride, m, k int, b []float32) {
	switch {
	case isa == portable || k == 0:
		distancesPortable(dst, a, stride, m, k, b)
	case isa == avx512:
		distancesAVX512[m-1](&dst[0], &a[0], stride, k, &b[0])
	default:
		distancesAVX2[m-1](&dst[0], &a[0], stride, k, &b[0])
	}
}

func gaussianKernel(x, squares []float32) {
	switch {
	case isa == portable || len(x) == 0:
		gaussianPortable(x, squares)
	case isa == avx512:
		gaussianAVX512(&x[0], &squares[0], len(x))
	default:
		gaussianAVX2(&x[0], &squares[0], len(x))
	}
}

func squareKernel(dst, x []float32) {
	switch {
	case isa == portable || len(x) == 0:
		squarePortable(dst, x)
	case isa == avx512:
		squareAVX512(&dst[0], &x[0], len(x))
	default:
		squareAVX2(&dst[0], &x[0], len(x))
	}
}

func addRowsKernel(dst []float32, index []int32, b []float32) {
	switch {
	case isa == portable || len(index) == 0:
		addRowsPortable(dst, index, b)
	case isa == avx512:
		addRowsAVX512(&dst[0], &index[0], len(index), &b[0])
	default:
		addRowsAVX2(&dst[0], &index[0], len(index), &b[0])
	}
}

func addMomentsKernel(dst []float32, e float32, k, squares []float32) {
	switch isa {
	case portable:
		addMomentsPortable(dst, e, k, squares)
	case avx512:
		addMomentsAVX512(&dst[0], e, &k[0], &squares[0])
	default:
		addMomentsAVX2(&dst[0], e, &k[0], &squares[0])
	}
}
