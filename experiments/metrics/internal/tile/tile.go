package tile

import (
	"math"
	"slices"

	"calibra/graph/simd"
)

// Lanes is the number of columns of a tile.
const Lanes = 64

// leastExponent is where the kernel is taken as 0. exp(−41) = 1.6e-18 is lost in
// a sum that holds the row itself, and its square (2.5e-36) is still a normal float32.
const leastExponent = -41

// registerRows is how many rows of a tile the assembly keeps in registers.
const registerRows = 6

// Transpose writes src (n×k, rows stride apart) to dst as k×n, rows width apart.
func Transpose(dst []float32, width int, src []float32, stride, n, k int) {
	simd.Transpose(dst, width, src, stride, n, k)
}

// Multiply adds a·b to dst: dst is m×64, a is m×k with rows stride apart, b is k×64.
func Multiply(dst, a []float32, stride, m, k int, b []float32) {
	if k > 0 {
		inBlocks(&sets[isa].multiply, multiplyPortable, dst, a, stride, m, k, b)
	}
}

// MultiplySquares adds a·b² to dst, with the values of b squared one by one; shapes as in Multiply.
func MultiplySquares(dst, a []float32, stride, m, k int, b []float32) {
	if k > 0 {
		inBlocks(&sets[isa].multiplySquares, multiplySquaresPortable, dst, a, stride, m, k, b)
	}
}

// Distances sets dst to −½‖a_j − b_l‖²: dst is m×64, a is m×k with rows stride
// apart, b is k×64, a point in each column. Taking differences before squares costs
// twice the arithmetic of ‖a‖² + ‖b‖² − 2a·b, and keeps small distances between
// points of large norm exact.
func Distances(dst, a []float32, stride, m, k int, b []float32) {
	inBlocks(&sets[isa].distances, distancesPortable, dst, a, stride, m, k, b)
}

// inBlocks runs the kernels of blocks of rows one after another, or the portable form where there are none or k is 0.
func inBlocks(kernels *[registerRows]blockKernel, portable func(dst, a []float32, stride, m, k int, b []float32), dst, a []float32, stride, m, k int, b []float32) {
	if m == 0 {
		return
	}
	need(len(dst), m*Lanes)
	need(len(a), (m-1)*stride+k)
	need(len(b), k*Lanes)
	for i := 0; i < m; i += registerRows {
		rows := min(registerRows, m-i)
		if kernel := kernels[rows-1]; kernel != nil && k > 0 {
			kernel(&dst[i*Lanes], &a[i*stride], stride, k, &b[0])
		} else {
			portable(dst[i*Lanes:], a[i*stride:], stride, rows, k, b)
		}
	}
}

// Each function runs the kernel of the instruction set, or the portable form where there is none or nothing to do.

// Gaussian replaces each x ≤ 0 by exp(x), which it takes as 0 below −41. The length is a multiple of 64.
func Gaussian(x []float32) {
	whole(x)
	if kernel := sets[isa].gaussian; kernel != nil && len(x) > 0 {
		kernel(&x[0], len(x))
	} else {
		gaussianPortable(x)
	}
}

// rowTables is how many tables the assembly of AddRows adds to side by side.
const rowTables = 4

// AddRows adds row j of b to row index[j] of dst, for all j of n rows in turn. Dst is tables of the same size, one
// after another, and index has n numbers for each. Every index must lie in its table.
func AddRows(dst []float32, index []int32, n int, b []float32) {
	need(len(b), n*Lanes)
	if n == 0 || len(index) == 0 {
		return
	}
	tables := len(index) / n
	size := len(dst) / Lanes / tables
	for _, to := range index {
		if uint32(to) >= uint32(size) {
			panic("tile: AddRows: index out of range")
		}
	}
	one, several := sets[isa].addRows[0], sets[isa].addRows[1]
	if one == nil {
		addRowsPortable(dst, size, index[:tables*n], n, b)
		return
	}
	t := 0
	for ; t+rowTables <= tables; t += rowTables {
		several(&dst[t*size*Lanes], size, &index[t*n], n, &b[0])
	}
	for ; t < tables; t++ {
		one(&dst[t*size*Lanes], size, &index[t*n], n, &b[0])
	}
}

// Lists are lists of rows of a tile, each row with a factor.
type Lists struct {
	from, rows []int32
	e          []float32
	height     int // the rows of the least tile that has them all
}

// NewLists are lists one after the other, the rows of list s being rows[from[s]:from[s+1]] and their factors as much of
// e.
func NewLists(from, rows []int32, e []float32) Lists {
	if len(from) == 0 || from[0] < 0 || !slices.IsSorted(from) {
		panic("tile: NewLists: the lists are not one after the other")
	}
	need(len(rows), int(from[len(from)-1]))
	need(len(e), len(rows))
	height := 0
	for _, row := range rows {
		if row < 0 {
			panic("tile: NewLists: row out of range")
		}
		height = max(height, int(row)+1)
	}
	return Lists{from, rows, e, height}
}

// Column is one column of a tile with a list of rows, and where its sums over them belong: R in column R mod 64.
type Column struct{ R, S, Q, List int32 }

// Columns are columns of a tile.
type Columns struct {
	all         []Column
	size, lists int // of the least destination and the least Lists that they fit
}

// NewColumns checks all.
func NewColumns(all []Column) Columns {
	c := Columns{all: all}
	for _, x := range all {
		if min(x.R, x.S, x.Q, x.List) < 0 {
			panic("tile: NewColumns: index out of range")
		}
		c.size, c.lists = max(c.size, int(max(x.R, x.S, x.Q))+1), max(c.lists, int(x.List)+1)
	}
	return c
}

// SumLists sets dst to Σ e·k, Σ k and Σ k² over the rows of its list, for each of the columns of k.
func SumLists(dst []float32, columns Columns, lists Lists, k []float32) {
	need(len(dst), columns.size)
	need(len(lists.from)-1, columns.lists)
	need(len(k), lists.height*Lanes)
	if kernel := sets[isa].sumLists; kernel != nil && len(columns.all) > 0 && len(lists.rows) > 0 {
		kernel(&dst[0], &columns.all[0].R, len(columns.all), &lists.from[0], &lists.rows[0], &lists.e[0], &k[0])
	} else {
		sumListsPortable(dst, columns.all, lists, k)
	}
}

// Accumulate adds x to dst. The length is a multiple of 64.
func Accumulate(dst []float64, x []float32) {
	need(len(dst), len(x))
	whole(x)
	if kernel := sets[isa].accumulate; kernel != nil && len(x) > 0 {
		kernel(&dst[0], &x[0], len(x))
	} else {
		accumulatePortable(dst, x)
	}
}

func whole(x []float32) {
	if len(x)%Lanes != 0 {
		panic("tile: the length is no multiple of 64")
	}
}

func need(length, least int) {
	if length < least {
		panic("tile: a slice is shorter than its shape")
	}
}

func multiplyPortable(dst, a []float32, stride, m, k int, b []float32) {
	for i := range m {
		d := (*[Lanes]float32)(dst[i*Lanes:])
		for j, x := range a[i*stride : i*stride+k] {
			row := (*[Lanes]float32)(b[j*Lanes:])
			for l := range d {
				d[l] += x * row[l]
			}
		}
	}
}

func multiplySquaresPortable(dst, a []float32, stride, m, k int, b []float32) {
	for i := range m {
		d := (*[Lanes]float32)(dst[i*Lanes:])
		for j, x := range a[i*stride : i*stride+k] {
			for l, v := range (*[Lanes]float32)(b[j*Lanes:]) {
				d[l] += x * (v * v)
			}
		}
	}
}

func distancesPortable(dst, a []float32, stride, m, k int, b []float32) {
	for i := range m {
		d := (*[Lanes]float32)(dst[i*Lanes:])
		clear(d[:])
		for j, x := range a[i*stride : i*stride+k] {
			row := (*[Lanes]float32)(b[j*Lanes:])
			for l := range d {
				difference := x - row[l]
				d[l] += difference * difference
			}
		}
		for l := range d {
			d[l] *= -0.5
		}
	}
}

func gaussianPortable(x []float32) {
	for i, v := range x {
		x[i] = 0
		if v >= leastExponent {
			x[i] = float32(math.Exp(float64(v)))
		}
	}
}

func addRowsPortable(dst []float32, size int, index []int32, n int, b []float32) {
	for at, to := range index {
		d, row := (*[Lanes]float32)(dst[(at/n*size+int(to))*Lanes:]), (*[Lanes]float32)(b[at%n*Lanes:])
		for l := range d {
			d[l] += row[l]
		}
	}
}

func sumListsPortable(dst []float32, columns []Column, lists Lists, k []float32) {
	for _, c := range columns {
		var r, s, q float32
		for at := lists.from[c.List]; at < lists.from[c.List+1]; at++ {
			x := k[lists.rows[at]*Lanes+c.R%Lanes]
			r += lists.e[at] * x
			s += x
			q += x * x
		}
		dst[c.R], dst[c.S], dst[c.Q] = r, s, q
	}
}

func accumulatePortable(dst []float64, x []float32) {
	for i, v := range x {
		dst[i] += float64(v)
	}
}
