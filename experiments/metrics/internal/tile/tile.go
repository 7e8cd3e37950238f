package tile

import "math"

// Lanes is the number of columns of a tile.
const Lanes = 64

// leastExponent is where the kernel is taken as 0. exp(−41) = 1.6e-18 is lost in
// a sum that holds the row itself, and its square (2.5e-36) is still a normal float32.
const leastExponent = -41

// registerRows is how many rows of a tile the assembly keeps in registers.
const registerRows = 6

// Multiply adds a·b to dst: dst is m×64, a is m×k with rows stride apart, b is k×64.
func Multiply(dst, a []float32, stride, m, k int, b []float32) {
	if m == 0 || k == 0 {
		return
	}
	need(len(dst), m*Lanes)
	need(len(a), (m-1)*stride+k)
	need(len(b), k*Lanes)
	for i := 0; i < m; i += registerRows {
		multiplyKernel(dst[i*Lanes:], a[i*stride:], stride, min(registerRows, m-i), k, b)
	}
}

// Distances sets dst to −½‖a_j − b_l‖²: dst is m×64, a is m×k with rows stride
// apart, b is k×64, a point in each column. Taking differences before squares costs
// twice the arithmetic of ‖a‖² + ‖b‖² − 2a·b, and keeps small distances between
// points of large norm exact.
func Distances(dst, a []float32, stride, m, k int, b []float32) {
	if m == 0 {
		return
	}
	need(len(dst), m*Lanes)
	need(len(a), (m-1)*stride+k)
	need(len(b), k*Lanes)
	for i := 0; i < m; i += registerRows {
		distancesKernel(dst[i*Lanes:], a[i*stride:], stride, min(registerRows, m-i), k, b)
	}
}

// Gaussian replaces each x ≤ 0 by exp(x), which it takes as 0 below −41, and sets
// squares to exp(x)². The length is a multiple of 64.
func Gaussian(x, squares []float32) {
	need(len(squares), len(x))
	if len(x)%Lanes != 0 {
		panic("tile: Gaussian: the length is no multiple of 64")
	}
	gaussianKernel(x, squares[:len(x)])
}

// Square sets dst to the squares of x. The length is a multiple of 64.
func Square(dst, x []float32) {
	need(len(dst), len(x))
	if len(x)%Lanes != 0 {
		panic("tile: Square: the length is no multiple of 64")
	}
	squareKernel(dst[:len(x)], x)
}

// AddRows adds row j of b to row index[j] of dst, for all j in turn. Each index must lie in dst.
func AddRows(dst []float32, index []int32, b []float32) {
	need(len(b), len(index)*Lanes)
	rows := int32(len(dst) / Lanes)
	for _, to := range index {
		if uint32(to) >= uint32(rows) {
			panic("tile: AddRows: index out of range")
		}
	}
	addRowsKernel(dst, index, b)
}

// SumMoments sets the three rows of dst to Σ e·k, Σ k and Σ squares over the given rows of k and squares, in
// turn, each with its e; all rows have 64 values.
func SumMoments(dst []float32, rows []int32, e, k, squares []float32) {
	need(len(dst), 3*Lanes)
	need(len(e), len(rows))
	least := int32(min(len(k), len(squares)) / Lanes)
	for _, j := range rows {
		if uint32(j) >= uint32(least) {
			panic("tile: SumMoments: row out of range")
		}
	}
	sumMomentsKernel(dst, rows, e, k, squares)
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

func gaussianPortable(x, squares []float32) {
	for i, v := range x {
		x[i] = 0
		if v >= leastExponent {
			x[i] = float32(math.Exp(float64(v)))
		}
		squares[i] = x[i] * x[i]
	}
}

func squarePortable(dst, x []float32) {
	for i, v := range x {
		dst[i] = v * v
	}
}

func addRowsPortable(dst []float32, index []int32, b []float32) {
	for j, to := range index {
		d, row := (*[Lanes]float32)(dst[int(to)*Lanes:]), (*[Lanes]float32)(b[j*Lanes:])
		for l := range d {
			d[l] += row[l]
		}
	}
}

func sumMomentsPortable(dst []float32, rows []int32, e, k, squares []float32) {
	r, s, q := (*[Lanes]float32)(dst), (*[Lanes]float32)(dst[Lanes:]), (*[Lanes]float32)(dst[2*Lanes:])
	clear(dst[:3*Lanes])
	for i, j := range rows {
		for l, x := range (*[Lanes]float32)(k[j*Lanes:]) {
			r[l] += e[i] * x
			s[l] += x
		}
		for l, x := range (*[Lanes]float32)(squares[j*Lanes:]) {
			q[l] += x
		}
	}
}
