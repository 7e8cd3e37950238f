//go:build generate

// Command gen writes the assembly of package tile: one .s file and its Go
// declarations for each instruction set. Run it through go generate.
//
// Every kernel is written once over vectors of either width and performs the same
// additions and multiplications in the same order, so AVX2 and AVX-512 give the same bits.
package main

import (
	"flag"
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

var avx512 = flag.Bool("avx512", false, "for AVX-512 instead of AVX2")

const (
	columns = 64 // tile.Lanes
	maxRows = 6  // rows of a register block
)

// perVector is the number of float32 in a vector register.
func perVector() int {
	if *avx512 {
		return 16
	}
	return 8
}

// panel is the number of vectors that a register block is wide: 6×4 of 32
// registers, or 6×2 of 16.
func panel() int {
	if *avx512 {
		return 4
	}
	return 2
}

func main() {
	flag.Parse()
	ConstraintExpr("amd64,!noasm")
	for rows := 1; rows <= maxRows; rows++ {
		multiply(rows)
		distances(rows)
	}
	gaussian()
	addRows()
	addMoments()
	Generate()
}

func kernel(name, signature string) {
	suffix := "AVX2"
	if *avx512 {
		suffix = "AVX512"
	}
	TEXT(name+suffix, 4 /* NOSPLIT */, "func"+signature)
	Pragma("noescape")
}

func leave() {
	VZEROUPPER()
	RET()
}

func newVec() reg.VecVirtual {
	if *avx512 {
		return ZMM()
	}
	return YMM()
}

// block walks dst (rows×64) by panels of columns; inner sees the accumulators, loaded
// from dst, and for each step of k the panel's vectors of b and how to broadcast a's value of a row.
func block(name string, rows int, step func(acc [][]reg.VecVirtual, b []reg.VecVirtual, a func(row int, to reg.VecVirtual)), scale bool) {
	kernel(fmt.Sprintf("%s%d", name, rows), "(dst *float32, a *float32, stride int, k int, b *float32)")
	dst := Load(Param("dst"), GP64())
	a := Load(Param("a"), GP64())
	stride := Load(Param("stride"), GP64())
	k := Load(Param("k"), GP64())
	b := Load(Param("b"), GP64())
	SHLQ(U8(2), stride)
	wide := panel() * perVector()

	var half reg.VecVirtual
	if scale {
		half = newVec()
		broadcastConstant(-0.5, half)
	}
	panels := GP64()
	MOVQ(U32(columns/wide), panels)
	Label("panel")
	acc := make([][]reg.VecVirtual, rows)
	for r := range acc {
		for v := range panel() {
			x := newVec()
			acc[r] = append(acc[r], x)
			if scale {
				zero(x)
			} else {
				VMOVUPS(Mem{Base: dst, Disp: 4 * (r*columns + v*perVector())}, x)
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
	vectors := make([]reg.VecVirtual, panel())
	for v := range vectors {
		vectors[v] = newVec()
		VMOVUPS(Mem{Base: from, Disp: 4 * v * perVector()}, vectors[v])
	}
	step(acc, vectors, func(r int, to reg.VecVirtual) {
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
	for r := range acc {
		for v, x := range acc[r] {
			if scale {
				VMULPS(half, x, x)
			}
			VMOVUPS(x, Mem{Base: dst, Disp: 4 * (r*columns + v*perVector())})
		}
	}
	ADDQ(U32(4*wide), dst)
	ADDQ(U32(4*wide), b)
	DECQ(panels)
	JNZ(LabelRef("panel"))
	leave()
}

// multiply: dst += a·b.
func multiply(rows int) {
	block("multiply", rows, func(acc [][]reg.VecVirtual, b []reg.VecVirtual, a func(int, reg.VecVirtual)) {
		x := newVec()
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
	block("distances", rows, func(acc [][]reg.VecVirtual, b []reg.VecVirtual, a func(int, reg.VecVirtual)) {
		x := newVec()
		for r := range acc {
			a(r, x)
			for v := range b {
				d := newVec()
				VSUBPS(b[v], x, d)
				VFMADD231PS(d, d, acc[r][v])
			}
		}
	}, true)
}

func zero(x reg.VecVirtual) {
	if *avx512 {
		VPXORD(x, x, x)
	} else {
		VPXOR(x, x, x)
	}
}

var constants = map[uint32]Mem{}

func broadcastConstant(c float32, to reg.VecVirtual) {
	u := math.Float32bits(c)
	m, ok := constants[u]
	if !ok {
		m = GLOBL(fmt.Sprintf("c%08x", u), 8|16 /* RODATA|NOPTR */)
		DATA(0, U32(u))
		constants[u] = m
	}
	VBROADCASTSS(m, to)
}

func constant(c float32) reg.VecVirtual {
	v := newVec()
	broadcastConstant(c, v)
	return v
}

// gaussian: x = exp(x), 0 below −41, and squares = x².
//
// exp(x) = 2^n·e^r with n = round(x/ln 2) and r = x − n ln 2 in two pieces, |r| ≤ 0.347;
// e^r by its Taylor polynomial of degree 7, whose remainder r⁸/8! is below 6e-9.
func gaussian() {
	kernel("gaussian", "(x *float32, squares *float32, n int)")
	x := Load(Param("x"), GP64())
	squares := Load(Param("squares"), GP64())
	n := Load(Param("n"), GP64())
	least, log2e := constant(-41), constant(math.Log2E)
	high, low := constant(0.693359375), constant(-2.12194440e-4)
	var taylor []reg.VecVirtual
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
	v, whole, p := newVec(), newVec(), newVec()
	VMOVUPS(Mem{Base: x}, v)
	VMULPS(log2e, v, whole)
	if *avx512 {
		VRNDSCALEPS(U8(8), whole, whole)
	} else {
		VROUNDPS(U8(8), whole, whole)
	}
	r := newVec()
	VMOVAPS(v, r)
	VFNMADD231PS(high, whole, r)
	VFNMADD231PS(low, whole, r)
	VMOVAPS(taylor[7], p)
	for i := 6; i >= 0; i-- {
		VFMADD213PS(taylor[i], r, p)
	}
	// 2^n: n into the exponent bits
	VCVTPS2DQ(whole, whole)
	VPSLLD(U8(23), whole, whole)
	VPADDD(whole, p, p)
	if *avx512 {
		near := K()
		VCMPPS(U8(13 /* ≥ */), least, v, near)
		VMOVAPS_Z(p, near, p)
	} else {
		VCMPPS(U8(13), least, v, v)
		VANDPS(v, p, p)
	}
	VMOVUPS(p, Mem{Base: x})
	VMULPS(p, p, p)
	VMOVUPS(p, Mem{Base: squares})
	ADDQ(U32(4*perVector()), x)
	ADDQ(U32(4*perVector()), squares)
	SUBQ(U32(perVector()), n)
	JNZ(LabelRef("loop"))
	leave()
}

// addRows: dst[index[j]] += b[j] for n rows of 64.
func addRows() {
	kernel("addRows", "(dst *float32, index *int32, n int, b *float32)")
	dst := Load(Param("dst"), GP64())
	index := Load(Param("index"), GP64())
	n := Load(Param("n"), GP64())
	b := Load(Param("b"), GP64())
	Label("loop")
	to := GP64()
	MOVLQSX(Mem{Base: index}, to)
	SHLQ(U8(8), to) // 64 float32
	ADDQ(dst, to)
	for v := 0; v < columns; v += perVector() {
		x := newVec()
		VMOVUPS(Mem{Base: b, Disp: 4 * v}, x)
		VADDPS(Mem{Base: to, Disp: 4 * v}, x, x)
		VMOVUPS(x, Mem{Base: to, Disp: 4 * v})
	}
	ADDQ(U8(4), index)
	ADDQ(U32(4*columns), b)
	DECQ(n)
	JNZ(LabelRef("loop"))
	leave()
}

// addMoments: dst[0] += e·k, dst[1] += k, dst[2] += squares, rows of 64.
func addMoments() {
	kernel("addMoments", "(dst *float32, e float32, k *float32, squares *float32)")
	dst := Load(Param("dst"), GP64())
	e := newVec()
	address, err := Param("e").Resolve()
	if err != nil {
		panic(err)
	}
	VBROADCASTSS(address.Addr, e)
	k := Load(Param("k"), GP64())
	squares := Load(Param("squares"), GP64())
	for v := 0; v < columns; v += perVector() {
		x, r, s, q := newVec(), newVec(), newVec(), newVec()
		VMOVUPS(Mem{Base: k, Disp: 4 * v}, x)
		VMOVUPS(Mem{Base: dst, Disp: 4 * v}, r)
		VFMADD231PS(e, x, r)
		VMOVUPS(r, Mem{Base: dst, Disp: 4 * v})
		VADDPS(Mem{Base: dst, Disp: 4 * (columns + v)}, x, s)
		VMOVUPS(s, Mem{Base: dst, Disp: 4 * (columns + v)})
		VMOVUPS(Mem{Base: squares, Disp: 4 * v}, q)
		VADDPS(Mem{Base: dst, Disp: 4 * (2*columns + v)}, q, q)
		VMOVUPS(q, Mem{Base: dst, Disp: 4 * (2*columns + v)})
	}
	leave()
}
