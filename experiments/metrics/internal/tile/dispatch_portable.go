//go:build !(amd64 || arm64) || noasm

package tile

var isa = portable

func multiplyKernel(dst, a []float32, stride, m, k int, b []float32) {
	multiplyPortable(dst, a, stride, m, k, b)
}

func distancesKernel(dst, a []float32, stride, m, k int, b []float32) {
	distancesPortable(dst, a, stride, m, k, b)
}

func gaussianKernel(x, squares []float32)                        { gaussianPortable(x, squares) }
func squareKernel(dst, x []float32)                              { squarePortable(dst, x) }
func addRowsKernel(dst []float32, index []int32, b []float32)    { addRowsPortable(dst, index, b) }
func addMomentsKernel(dst []float32, e float32, k, sq []float32) { addMomentsPortable(dst, e, k, sq) }
