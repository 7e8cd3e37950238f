package tile

// instructionSet names a family of kernels.
type instructionSet int

const (
	portable instructionSet = iota // plain Go
	avx2                           // 8 lanes, AVX2 and FMA
	avx512                         // 16 lanes, AVX-512 F, DQ, BW and VL
	neon                           // 4 lanes, arm64
)

// blockKernel computes a block of 1 to registerRows rows.
type blockKernel func(dst, a *float32, stride, k int, b *float32)

// kernels are the assembly of one instruction set, by the rows of a block where it matters. What
// each computes, its portable form says.
type kernels struct {
	multiply, multiplySquares, distances [registerRows]blockKernel

	gaussian   func(x *float32, n int)
	addRows    [2]func(dst *float32, size int, index *int32, n int, b *float32) // of one table, and of rowTables
	sumLists   func(dst *float32, columns *int32, n int, from, rows *int32, e, k *float32)
	accumulate func(dst *float64, x *float32, n int)
}

// Each function below runs the kernel of the instruction set, or the portable form where there is
// none or nothing to do.

func gaussianKernel(x []float32) {
	if kernel := sets[isa].gaussian; kernel != nil && len(x) > 0 {
		kernel(&x[0], len(x))
	} else {
		gaussianPortable(x)
	}
}

func addRowsKernel(dst []float32, size int, index []int32, n int, b []float32) {
	one, several := sets[isa].addRows[0], sets[isa].addRows[1]
	if one == nil || n == 0 {
		addRowsPortable(dst, size, index, n, b)
		return
	}
	tables := len(index) / n
	t := 0
	for ; t+rowTables <= tables; t += rowTables {
		several(&dst[t*size*Lanes], size, &index[t*n], n, &b[0])
	}
	for ; t < tables; t++ {
		one(&dst[t*size*Lanes], size, &index[t*n], n, &b[0])
	}
}

func sumListsKernel(dst []float32, columns []Column, lists Lists, k []float32) {
	if kernel := sets[isa].sumLists; kernel != nil && len(columns) > 0 && len(lists.rows) > 0 {
		kernel(&dst[0], &columns[0].R, len(columns), &lists.from[0], &lists.rows[0], &lists.e[0], &k[0])
	} else {
		sumListsPortable(dst, columns, lists, k)
	}
}

func accumulateKernel(dst []float64, x []float32) {
	if kernel := sets[isa].accumulate; kernel != nil && len(x) > 0 {
		kernel(&dst[0], &x[0], len(x))
	} else {
		accumulatePortable(dst, x)
	}
}
