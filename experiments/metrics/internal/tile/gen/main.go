//go:build generate

// Command gen writes the assembly of package tile: one .s file and its Go
// declarations for each instruction set. Run it through go generate.
//
// Every kernel is written once, over vectors of the width that package isa gives them,
// and performs the same additions and multiplications in the same order on all of them.
package main

import (
	"flag"
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

const (
	columns = 64 // tile.Lanes
	maxRows = 6  // rows of a register block

	columnsMask = columns - 1
)

// panel is the number of vectors that a register block is wide: 6×4 of 32
// registers, or 6×2 of 16.
func panel() int {
	if isa.Target == isa.AVX2 {
		return 2
	}
	return 4
}

func main() {
	flag.Parse()
	isa.Write(func() {
		for rows := 1; rows <= maxRows; rows++ {
			multiply("multiply", rows, func(isa.Vec) {})
			multiply("multiplySquares", rows, func(b isa.Vec) { VMULPS(b, b, b) })
			distances(rows)
		}
		gaussian()
		addRows(1)
		addRows(tables)
		sumLists()
		accumulate()
	})
}

// block walks dst (rows×64) by panels of columns; inner sees the accumulators, loaded
// from dst, and for each step of k the panel's vectors of b and how to broadcast a's value of a row.
func block(name string, rows int, step func(acc [][]isa.Vec, b []isa.Vec, a func(row int, to isa.Vec)), scale bool) {
	isa.Kernel(fmt.Sprintf("%s%d", name, rows), "(dst *float32, a *float32, stride int, k int, b *float32)")
	dst := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	stride := Load(Param("stride"), GP64())
	k := Load(Param("k"), GP64())
	b := Load(Param("b"), GP64())
	SHLQ(U8(2), stride)
	wide := panel() * isa.Lanes()

	panels := GP64()
	MOVQ(U32(columns/wide), panels)
	Label("panel")
	acc := make([][]isa.Vec, rows)
	for r := range acc {
		for v := range panel() {
			x := isa.NewVec()
			acc[r] = append(acc[r], x)
			if scale {
				isa.Clear(x)
			} else {
				VMOVUPS(Mem{Base: dst, Disp: 4 * (r*columns + v*isa.Lanes())}, x)
			}
		}
	}
	// rows 0…2 from a, rows 3…5 from a3 = a + 3·stride
	at, at3, from, left := GP64(), GP64(), GP64(), GP64()
	MOVQ(a, at)
	LEAQ(Mem{Base: stride, Index: stride, Scale: 2}, at3)
	ADDQ(a, at3)
	MOVQ(b, from)
	MOVQ(k, left)
	Label("step")
	vectors := make([]isa.Vec, panel())
	for v := range vectors {
		vectors[v] = isa.NewVec()
		VMOVUPS(Mem{Base: from, Disp: 4 * v * isa.Lanes()}, vectors[v])
	}
	step(acc, vectors, func(r int, to isa.Vec) {
		m := Mem{Base: at}
		if r >= 3 {
			m.Base = at3
		}
		if r%3 > 0 {
			m.Index, m.Scale = stride, uint8(r%3)
		}
		VBROADCASTSS(m, to)
	})
	ADDQ(U8(4), at)
	ADDQ(U8(4), at3)
	ADDQ(U32(4*columns), from)
	DECQ(left)
	JNZ(LabelRef("step"))
	var half isa.Vec
	if scale { // after the steps, which need all sixteen registers of AVX2
		half = constant(-0.5)
	}
	for r := range acc {
		for v, x := range acc[r] {
			if scale {
				VMULPS(half, x, x)
			}
			VMOVUPS(x, Mem{Base: dst, Disp: 4 * (r*columns + v*isa.Lanes())})
		}
	}
	ADDQ(U32(4*wide), dst)
	ADDQ(U32(4*wide), b)
	DECQ(panels)
	JNZ(LabelRef("panel"))
	isa.Leave()
}

// multiply: dst += a·b, after something is done with the values of b.
func multiply(name string, rows int, prepare func(b isa.Vec)) {
	block(name, rows, func(acc [][]isa.Vec, b []isa.Vec, a func(int, isa.Vec)) {
		x := isa.NewVec()
		for _, v := range b {
			prepare(v)
		}
		for r := range acc {
			a(r, x)
			for v := range b {
				VFMADD231PS(x, b[v], acc[r][v])
			}
		}
	}, false)
}

// distances: dst = −½ Σ_k (a_k − b_k)².
func distances(rows int) {
	block("distances", rows, func(acc [][]isa.Vec, b []isa.Vec, a func(int, isa.Vec)) {
		x := isa.NewVec()
		for r := range acc {
			a(r, x)
			for v := range b {
				d := isa.NewVec()
				VSUBPS(b[v], x, d)
				VFMADD231PS(d, d, acc[r][v])
			}
		}
	}, true)
}

var constants = map[uint32]Mem{}

func broadcastConstant(c float32, to isa.Vec) {
	u := math.Float32bits(c)
	if isa.Target == isa.NEON {
		VBROADCASTSS(isa.Constant(uint64(u), 4), to)
		return
	}
	m, ok := constants[u]
	if !ok {
		m = GLOBL(fmt.Sprintf("c%08x", u), isa.ReadOnly)
		DATA(0, U32(u))
		constants[u] = m
	}
	VBROADCASTSS(m, to)
}

func constant(c float32) isa.Vec {
	v := isa.NewVec()
	broadcastConstant(c, v)
	return v
}

// gaussian: x = exp(x), 0 below −41.
//
// exp(x) = 2^n·e^r with n = round(x/ln 2) and r = x − n ln 2 in two pieces, |r| ≤ 0.347;
// e^r by its Taylor polynomial of degree 7, whose remainder r⁸/8! is below 6e-9.
func gaussian() {
	isa.Kernel("gaussian", "(x *float32, n int)")
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	least, log2e := constant(-41), constant(math.Log2E)
	high, low := constant(0.693359375), constant(-2.12194440e-4)
	var taylor []isa.Vec
	factorial := 1.0
	for i := range 8 {
		if i > 0 {
			factorial *= float64(i)
		}
		if i != 1 {
			taylor = append(taylor, constant(float32(1/factorial)))
		} else {
			taylor = append(taylor, taylor[0])
		}
	}
	Label("loop")
	v, whole, p := isa.NewVec(), isa.NewVec(), isa.NewVec()
	VMOVUPS(Mem{Base: x}, v)
	VMULPS(log2e, v, whole)
	isa.RoundEven(4, whole, whole)
	r := isa.NewVec()
	VMOVAPS(v, r)
	VFNMADD231PS(high, whole, r)
	VFNMADD231PS(low, whole, r)
	VMOVAPS(taylor[7], p)
	for i := 6; i >= 0; i-- {
		p = timesPlus(taylor[i], r, p)
	}
	// 2^n: n into the exponent bits
	VCVTPS2DQ(whole, whole)
	VPSLLD(U8(23), whole, whole)
	VPADDD(whole, p, p)
	if isa.Target == isa.AVX512 {
		near := K()
		VCMPPS(U8(isa.IsAtLeastSignaling), least, v, near)
		VMOVAPS_Z(p, near, p)
	} else {
		VCMPPS(U8(isa.IsAtLeastSignaling), least, v, v)
		VANDPS(v, p, p)
	}
	VMOVUPS(p, Mem{Base: x})
	ADDQ(U32(4*isa.Lanes()), x)
	SUBQ(U32(isa.Lanes()), n)
	JNZ(LabelRef("loop"))
	isa.Leave()
}

// timesPlus returns p·x + c, in the register of p if the instruction set has it so.
func timesPlus(c, x, p isa.Vec) isa.Vec {
	if isa.Target != isa.NEON {
		VFMADD213PS(c, x, p)
		return p
	}
	sum := isa.NewVec()
	VMOVAPS(c, sum)
	VFMADD231PS(p, x, sum)
	return sum
}

// tables is how many tables addRows adds to side by side: what an addition to one of them waits for, the others do not.
const tables = 4

// addRows: row index[t·n+j] of table t += b[j] for n rows of 64, of so many tables, size rows apart.
func addRows(count int) {
	isa.Kernel(fmt.Sprint("addRows", count), "(dst *float32, size int, index *int32, n int, b *float32)")
	size := Load(Param("size"), GP64())
	n := Load(Param("n"), GP64())
	dst, index := []reg.Register{Load(Param("dst"), GP64())}, []reg.Register{Load(Param("index"), GP64())}
	b := Load(Param("b"), GP64())
	SHLQ(U8(8), size) // 64 float32
	left := GP64()
	MOVQ(n, left)
	SHLQ(U8(2), n)
	for t := 1; t < count; t++ {
		table, places := GP64(), GP64()
		MOVQ(dst[t-1], table)
		ADDQ(size, table)
		MOVQ(index[t-1], places)
		ADDQ(n, places)
		dst, index = append(dst, table), append(index, places)
	}
	Label("loop")
	var row []isa.Vec
	for v := 0; v < columns; v += panel() * isa.Lanes() {
		row = row[:0]
		for at := v; at < min(v+panel()*isa.Lanes(), columns); at += isa.Lanes() {
			x := isa.NewVec()
			VMOVUPS(Mem{Base: b, Disp: 4 * at}, x)
			row = append(row, x)
		}
		for t := range count {
			to := GP64()
			MOVLQSX(Mem{Base: index[t]}, to)
			SHLQ(U8(8), to)
			ADDQ(dst[t], to)
			for i, x := range row {
				sum := isa.NewVec()
				VADDPS(Mem{Base: to, Disp: 4 * (v + i*isa.Lanes())}, x, sum)
				VMOVUPS(sum, Mem{Base: to, Disp: 4 * (v + i*isa.Lanes())})
			}
		}
	}
	for t := range count {
		ADDQ(U8(4), index[t])
	}
	ADDQ(U32(4*columns), b)
	DECQ(left)
	JNZ(LabelRef("loop"))
	isa.Leave()
}

// sumLists: for each of n columns, four numbers R, S, Q and list: dst[R] = Σ e·k, dst[S] = Σ k and dst[Q] = Σ k²
// over the rows from from[list] to from[list+1], in column R mod 64 of k.
func sumLists() {
	isa.Kernel("sumLists", "(dst *float32, columns *int32, n int, from *int32, rows *int32, e *float32, k *float32)")
	dst := Load(Param("dst"), GP64())
	columns := Load(Param("columns"), GP64())
	n := Load(Param("n"), GP64())
	from := Load(Param("from"), GP64())
	rows := Load(Param("rows"), GP64())
	factors := Load(Param("e"), GP64())
	k := Load(Param("k"), GP64())
	Label("column")
	to, at, end, e, in := GP64(), GP64(), GP64(), GP64(), GP64()
	MOVLQSX(Mem{Base: columns, Disp: 12}, to)
	MOVLQSX(Mem{Base: from, Index: to, Scale: 4}, at)
	MOVLQSX(Mem{Base: from, Index: to, Scale: 4, Disp: 4}, end)
	LEAQ(Mem{Base: factors, Index: at, Scale: 4}, e)
	MOVLQSX(Mem{Base: columns}, in)
	ANDQ(U8(columnsMask), in)
	LEAQ(Mem{Base: k, Index: in, Scale: 4}, in)
	var sums [3]isa.Vec
	for m := range sums {
		sums[m] = XMM()
		VPXOR(sums[m], sums[m], sums[m])
	}
	CMPQ(at, end)
	JGE(LabelRef("store"))
	Label("row")
	row := GP64()
	MOVLQSX(Mem{Base: rows, Index: at, Scale: 4}, row)
	SHLQ(U8(8), row) // 64 float32
	x, factor := XMM(), XMM()
	VMOVSS(Mem{Base: in, Index: row, Scale: 1}, x)
	VMOVSS(Mem{Base: e}, factor)
	VFMADD231PS(factor, x, sums[0])
	VADDPS(x, sums[1], sums[1])
	VMULPS(x, x, x)
	VADDPS(x, sums[2], sums[2])
	ADDQ(U8(4), e)
	ADDQ(U8(1), at)
	CMPQ(at, end)
	JL(LabelRef("row"))
	Label("store")
	for m, x := range sums {
		MOVLQSX(Mem{Base: columns, Disp: 4 * m}, to)
		VMOVSS(x, Mem{Base: dst, Index: to, Scale: 4})
	}
	ADDQ(U8(16), columns)
	DECQ(n)
	JNZ(LabelRef("column"))
	isa.Leave()
}

// accumulate: dst[i] += x[i].
func accumulate() {
	isa.Kernel("accumulate", "(dst *float64, x *float32, n int)")
	dst := Load(Param("dst"), GP64())
	x := Load(Param("x"), GP64())
	n := Load(Param("n"), GP64())
	Label("loop")
	for v := 0; v < columns; v += isa.Lanes() / 2 {
		wide := isa.NewVec()
		VCVTPS2PD(Mem{Base: x, Disp: 4 * v}, wide)
		VADDPD(Mem{Base: dst, Disp: 8 * v}, wide, wide)
		VMOVUPS(wide, Mem{Base: dst, Disp: 8 * v})
	}
	ADDQ(U32(4*columns), x)
	ADDQ(U32(8*columns), dst)
	SUBQ(U32(columns), n)
	JNZ(LabelRef("loop"))
	isa.Leave()
}
