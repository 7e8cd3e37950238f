package simd

// Transpose writes the transpose of src (n×k, its rows stride apart) to dst (k×n, its rows
// width apart). It panics if a slice is too short for that.
func Transpose(dst []float32, width int, src []float32, stride, n, k int) {
	if n <= 0 || k <= 0 {
		return
	}
	if len(src) < (n-1)*stride+k || len(dst) < (k-1)*width+n {
		panic("simd: Transpose: a slice is shorter than its shape")
	}
	if isa == portable {
		transposePortable(dst, width, src, stride, n, k)
		return
	}
	sets[isa].singles.transpose(dst, width, src, stride, n, k)
}

func transposePortable[T float](dst []T, width int, src []T, stride, n, k int) {
	for i := range n {
		for l, v := range src[i*stride : i*stride+k] {
			dst[l*width+i] = v
		}
	}
}
