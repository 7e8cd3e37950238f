//go:build generate

// Command gen writes the assembly of package simd: one .s file and its Go
// declarations for each unit and instruction set. Run it through go generate.
//
// Each kernel is written once, over the small vocabulary of this file, and comes out
// for each instruction set of package isa.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

// held takes the instructions of emit, if not nil, to be interleaved with others.
var held *[]func()

// emit writes the instruction that f writes, now or when its turn comes.
func emit(f func()) {
	if held == nil {
		f()
		return
	}
	*held = append(*held, f)
}

// interleave writes the instructions of several bodies in turns, so that the
// processor sees the short chains of each side by side.
func interleave(bodies ...func()) {
	streams := make([][]func(), len(bodies))
	for i, body := range bodies {
		held = &streams[i]
		body()
	}
	held = nil
	for at := 0; ; at++ {
		done := true
		for _, s := range streams {
			if at < len(s) {
				s[at]()
				done = false
			}
		}
		if done {
			return
		}
	}
}

type vec = isa.Vec

// mask holds one truth value a lane: a K register, or a vector of 0 and −1.
type mask = reg.Register

// k is a constant operand, the same in all lanes, rounded to the entry type.
type k float64

func bits(u uint32) k   { return k(math.Float32frombits(u)) }
func bits64(u uint64) k { return k(math.Float64frombits(u)) }

var constants = map[uint64]operand.Mem{}

// at returns the memory operand of a constant: one word to be broadcast by
// AVX-512 instructions, a whole vector for AVX2, one in a table of them for NEON.
func (c k) at() operand.Mem {
	u := uint64(math.Float32bits(float32(c)))
	if double {
		u = math.Float64bits(float64(c))
	}
	if isa.Target == isa.NEON {
		return isa.Constant(u, size())
	}
	if m, ok := constants[u]; ok {
		return m
	}
	m := GLOBL(fmt.Sprintf("c%0*x", 2*size(), u), isa.ReadOnly)
	for i := range 32 / size() {
		DATA(size()*i, isa.Word(u, size()))
		if isa.Target == isa.AVX512 {
			break
		}
	}
	constants[u] = m
	return m
}

func load(c k) vec {
	v := isa.NewVec()
	emit(func() { broadcastFrom(c.at(), v) })
	return v
}

// broadcastFrom writes the entry at m into all lanes of v.
func broadcastFrom(m operand.Mem, v vec) {
	if double && isa.Target == isa.NEON {
		VMOVDDUP(m, v)
	} else {
		of(VBROADCASTSS, VBROADCASTSD)(m, v)
	}
}

func copyOf(x vec) vec {
	v := isa.NewVec()
	emit(func() { VMOVAPS(x, v) })
	return v
}

func zero() vec {
	v := isa.NewVec()
	emit(func() { isa.Clear(v) })
	return v
}

// apply emits an instruction whose first source is a register, a memory operand
// or a constant.
func apply(plain, broadcast func(...operand.Op), x any, rest ...operand.Op) {
	emit(func() {
		c, ok := x.(k)
		switch {
		case !ok:
			plain(append([]operand.Op{x.(operand.Op)}, rest...)...)
		case isa.Target == isa.AVX512:
			broadcast(append([]operand.Op{c.at()}, rest...)...)
		default:
			plain(append([]operand.Op{c.at()}, rest...)...)
		}
	})
}

func variadic(f func(a, b, c operand.Op)) func(...operand.Op) {
	return func(ops ...operand.Op) { f(ops[0], ops[1], ops[2]) }
}

func add(x any, y, dst vec) { apply(of(VADDPS, VADDPD), of(VADDPS_BCST, VADDPD_BCST), x, y, dst) } // dst = y + x
func sub(x any, y, dst vec) { apply(of(VSUBPS, VSUBPD), of(VSUBPS_BCST, VSUBPD_BCST), x, y, dst) } // dst = y − x
func mul(x any, y, dst vec) { apply(of(VMULPS, VMULPD), of(VMULPS_BCST, VMULPD_BCST), x, y, dst) } // dst = y·x
func div(x any, y, dst vec) { apply(of(VDIVPS, VDIVPD), of(VDIVPS_BCST, VDIVPD_BCST), x, y, dst) } // dst = y/x

// lesser and greater return x where a lane is not a number, so that NaN passes.
func lesser(x any, y, dst vec)  { apply(of(VMINPS, VMINPD), of(VMINPS_BCST, VMINPD_BCST), x, y, dst) }
func greater(x any, y, dst vec) { apply(of(VMAXPS, VMAXPD), of(VMAXPS_BCST, VMAXPD_BCST), x, y, dst) }

func mulAdd(x any, y, dst vec) {
	apply(of(VFMADD231PS, VFMADD231PD), of(VFMADD231PS_BCST, VFMADD231PD_BCST), x, y, dst)
} // dst += y·x
func mulSub(x any, y, dst vec) {
	apply(of(VFNMADD231PS, VFNMADD231PD), of(VFNMADD231PS_BCST, VFNMADD231PD_BCST), x, y, dst)
} // dst −= y·x

// timesPlus returns p·y + x, in the register of p if the instruction set has it so.
func timesPlus(x any, y, p vec) vec {
	if isa.Target != isa.NEON {
		apply(of(VFMADD213PS, VFMADD213PD), of(VFMADD213PS_BCST, VFMADD213PD_BCST), x, y, p)
		return p
	}
	var sum vec
	if c, ok := x.(k); ok {
		sum = load(c)
	} else {
		sum = copyOf(x.(vec))
	}
	mulAdd(p, y, sum)
	return sum
}

func and(x any, y, dst vec) {
	if isa.Target == isa.AVX512 {
		apply(of(VPANDD, VPANDQ), of(VPANDD_BCST, VPANDQ_BCST), x, y, dst)
	} else {
		apply(variadic(VPAND), nil, x, y, dst)
	}
}

func or(x any, y, dst vec) {
	if isa.Target == isa.AVX512 {
		apply(of(VPORD, VPORQ), of(VPORD_BCST, VPORQ_BCST), x, y, dst)
	} else {
		apply(VORPS, nil, x, y, dst)
	}
}

func addInt(x any, y, dst vec) { apply(VPADDD, VPADDD_BCST, x, y, dst) }
func subInt(x any, y, dst vec) { apply(VPSUBD, VPSUBD_BCST, x, y, dst) } // dst = y − x

// horner returns c[0] + c[1]·x + c[2]·x² + …
func horner[F float32 | float64](c []F, x vec) vec {
	p := load(k(c[len(c)-1]))
	for i := len(c) - 2; i >= 0; i-- {
		p = timesPlus(k(c[i]), x, p)
	}
	return p
}

func roundEven(x, dst vec) { emit(func() { isa.RoundEven(size(), x, dst) }) }

// compare returns the mask of y (predicate) x.
func compare(predicate uint8, x any, y vec) mask {
	var m mask = isa.NewVec()
	if isa.Target == isa.AVX512 {
		m = K()
	}
	emit(func() {
		imm := operand.U8(predicate)
		c, constant := x.(k)
		switch {
		case constant && isa.Target == isa.AVX512:
			of(VCMPPS_BCST, VCMPPD_BCST)(imm, c.at(), y, m)
		case constant:
			of(VCMPPS, VCMPPD)(imm, c.at(), y, m)
		default:
			of(VCMPPS, VCMPPD)(imm, x.(operand.Op), y, m)
		}
	})
	return m
}

// choose writes x into the lanes of dst where m holds.
func choose(m mask, x any, dst vec) {
	emit(func() {
		c, constant := x.(k)
		switch {
		case isa.Target == isa.AVX512 && constant:
			of(VBROADCASTSS, VBROADCASTSD)(c.at(), m, dst)
		case isa.Target == isa.AVX512:
			of(VMOVAPS, VMOVAPD)(x.(operand.Op), m, dst)
		case constant:
			VBLENDVPS(m, c.at(), dst, dst)
		default:
			VBLENDVPS(m, x.(operand.Op), dst, dst)
		}
	})
}

// addWhere and subWhere add x to, or take it from, the lanes of dst where m holds.
func addWhere(m mask, x any, dst vec) {
	where(of(VADDPS, VADDPD), of(VADDPS_BCST, VADDPD_BCST), m, x, dst)
}
func subWhere(m mask, x any, dst vec) {
	where(of(VSUBPS, VSUBPD), of(VSUBPS_BCST, VSUBPD_BCST), m, x, dst)
}

func where(plain, broadcast func(...operand.Op), m mask, x any, dst vec) {
	if isa.Target == isa.AVX512 {
		apply(plain, broadcast, x, dst, m, dst)
		return
	}
	emit(func() {
		masked := isa.NewVec()
		if c, ok := x.(k); ok {
			VANDPS(c.at(), m, masked)
		} else {
			VANDPS(x.(operand.Op), m, masked)
		}
		plain(masked, dst, dst)
	})
}

// mulWhere multiplies by x the lanes of dst where m holds.
func mulWhere(m mask, x, dst vec) {
	if isa.Target == isa.AVX512 {
		apply(of(VMULPS, VMULPD), nil, x, dst, m, dst)
		return
	}
	product := isa.NewVec()
	mul(x, dst, product)
	choose(m, product, dst)
}

// sumLanes adds the lanes of v, halves first, into lane 0 of the returned register.
func sumLanes(v vec) vec {
	x, t := XMM(), XMM()
	if isa.Target == isa.NEON {
		VMOVAPS(v, x)
	} else {
		y := YMM()
		if isa.Target == isa.AVX512 {
			VEXTRACTF64X4(operand.U8(1), v, y)
			VADDPS(v.AsY(), y, y)
		} else {
			VMOVAPS(v, y)
		}
		VEXTRACTF128(operand.U8(1), y, x)
		VADDPS(y.AsX(), x, x)
	}
	VMOVHLPS(x, x, t)
	VADDPS(t, x, x)
	VMOVSHDUP(x, t)
	VADDSS(t, x, x)
	return x
}
