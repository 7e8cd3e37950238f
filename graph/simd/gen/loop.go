//go:build generate

package main

import (
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

// array is a pointer parameter that walks along the loop.
type array struct{ ptr reg.Register }

func param(name string) array { return array{gp(name)} }

// gp is a parameter in a register.
func gp(name string) reg.Register { return Load(Param(name), GP64()) }

// kernel is a kernel that body emits.
func kernel(name, signature string, body func()) {
	isa.Kernel(name, signature)
	body()
	isa.Leave()
}

// each emits a kernel that maps vectors of the arrays src to those of dst, by constants that are
// parameters.
func each(name, signature, constants, src, dst string, body func(c, x []vec) []vec) {
	kernel(name, signature, func() {
		var c []vec
		for _, name := range strings.Fields(constants) {
			c = append(c, broadcastParam(name))
		}
		n, known := gp("n"), map[string]array{}
		arrays := func(names string) (list []array) {
			for _, name := range strings.Fields(names) {
				if _, ok := known[name]; !ok {
					known[name] = param(name)
				}
				list = append(list, known[name])
			}
			return list
		}
		pairs(n, arrays(src), arrays(dst), func(x []vec) []vec { return body(c, x) })
	})
}

// pairs is vectors with two vectors at a time, interleaved, where the instruction set
// has registers enough for that, 32; body must consist of emitted instructions.
func pairs(n reg.Register, src, dst []array, body func(x []vec) []vec) {
	if isa.Target != isa.AVX2 {
		bytes := 4 * isa.Lanes()
		whileLeft(n, 2*width(), "pair", "single", func() {
			var x, y [2][]vec
			var bodies []func()
			for half := range x {
				for _, s := range src {
					v := isa.NewVec()
					VMOVUPS(operand.Mem{Base: s.ptr, Disp: bytes * half}, v)
					x[half] = append(x[half], v)
				}
				bodies = append(bodies, func() { y[half] = body(x[half]) })
			}
			interleave(bodies...)
			for half := range y {
				for i, d := range dst {
					VMOVUPS(y[half][i], operand.Mem{Base: d.ptr, Disp: bytes * half})
				}
			}
			advance(2*bytes, src, dst)
		})
	}
	vectors(n, src, dst, body)
}

// whileLeft emits a loop, between two labels, of bodies that do with many of n at a time, as long as so many are left.
func whileLeft(n reg.Register, many int, begin, end string, body func()) {
	Label(begin)
	CMPQ(n, operand.Imm(uint64(many)))
	JL(operand.LabelRef(end))
	body()
	SUBQ(operand.Imm(uint64(many)), n)
	JMP(operand.LabelRef(begin))
	Label(end)
}

// overVectors ends a kernel that does with n columns of arrays: body is emitted for whole vectors, and for the part of
// one that is left.
func overVectors(n reg.Register, arrays []array, body func(label string, load func(from operand.Mem, to vec), store func(from vec, to operand.Mem))) {
	width := isa.Lanes()
	whileLeft(n, width, "whole", "part", func() {
		body("wholeplace", func(from operand.Mem, to vec) { VMOVUPS(from, to) }, func(from vec, to operand.Mem) { VMOVUPS(from, to) })
		advance(4*width, arrays)
	})
	TESTQ(n, n)
	JLE(operand.LabelRef("done"))
	m := tailMask(width)(n)
	body("partplace", func(from operand.Mem, to vec) { maskedLoad(m, from, to) }, func(from vec, to operand.Mem) { maskedStore(m, from, to) })
	Label("done")
}

// advance moves each array on, once.
func advance(bytes int, arrays ...[]array) {
	seen := map[reg.Register]bool{}
	for _, list := range arrays {
		for _, a := range list {
			if !seen[a.ptr] {
				ADDQ(operand.I32(int32(bytes)), a.ptr)
				seen[a.ptr] = true
			}
		}
	}
}

// vectors emits a loop over n elements, a vector at a time, the last one masked.
// body gets the loaded vectors of src and returns those to be stored to dst.
// Lanes past the end hold zero.
func vectors(n reg.Register, src, dst []array, body func(x []vec) []vec) {
	width := width()
	label := "loop"
	tail := tailMask(width)

	TESTQ(n, n)
	JLE(operand.LabelRef("done"))
	Label(label)
	x := make([]vec, len(src))
	for i := range x {
		x[i] = isa.NewVec()
	}
	CMPQ(n, operand.Imm(uint64(width)))
	JGE(operand.LabelRef("fullLoad"))
	m := tail(n)
	for i, s := range src {
		maskedLoad(m, operand.Mem{Base: s.ptr}, x[i])
	}
	JMP(operand.LabelRef("compute"))
	Label("fullLoad")
	for i, s := range src {
		VMOVUPS(operand.Mem{Base: s.ptr}, x[i])
	}
	Label("compute")
	y := body(x)
	CMPQ(n, operand.Imm(uint64(width)))
	JGE(operand.LabelRef("fullStore"))
	if len(dst) > 0 {
		m = tail(n)
	}
	for i, d := range dst {
		maskedStore(m, y[i], operand.Mem{Base: d.ptr})
	}
	JMP(operand.LabelRef("done"))
	Label("fullStore")
	for i, d := range dst {
		VMOVUPS(y[i], operand.Mem{Base: d.ptr})
	}
	advance(4*isa.Lanes(), src, dst)
	SUBQ(operand.Imm(uint64(width)), n)
	JG(operand.LabelRef(label))
	Label("done")
}

var tailTable operand.Mem

// tailMask returns a function that makes the mask of the first n entries, n up to
// width, the number of entries in a vector, for masked loads and stores. For NEON,
// which has no such instructions, it is n itself.
func tailMask(width int) func(n reg.Register) mask {
	switch isa.Target {
	case isa.NEON:
		return func(n reg.Register) mask { return n }
	case isa.AVX512:
		return func(n reg.Register) mask {
			m, bit, count := K(), GP64(), reg.RCX
			MOVQ(n, count)
			MOVQ(operand.I32(1), bit)
			SHLQ(reg.CL, bit)
			DECQ(bit)
			KMOVW(bit.As32(), m)
			return m
		}
	}
	return func(n reg.Register) mask { return lanesBelow(width, n) }
}

// lanesBelow returns a vector register with the first n entries set, the others clear:
// the vector that starts n entries before the middle of one set and one clear.
func lanesBelow(width int, n reg.Register) mask {
	words := isa.Lanes()
	if tailTable.Symbol.Name == "" {
		tailTable = GLOBL("tail", isa.ReadOnly)
		for i := range 2 * words {
			if i < words {
				DATA(4*i, operand.U32(0xffffffff))
			} else {
				DATA(4*i, operand.U32(0))
			}
		}
	}
	m, p := isa.NewVec(), GP64()
	LEAQ(tailTable.Offset(4*words), p)
	at := GP64()
	MOVQ(n, at)
	NEGQ(at)
	VMOVUPS(operand.Mem{Base: p, Index: at, Scale: uint8(4 * words / width)}, m)
	return m
}

func maskedLoad(m mask, from operand.Mem, to vec) {
	switch isa.Target {
	case isa.NEON:
		isa.LoadPart(size(), m, from, to)
	case isa.AVX512:
		of(variadic(VMOVUPS_Z), variadic(VMOVUPD_Z))(from, m, to)
	default:
		of(variadic(VMASKMOVPS), variadic(VMASKMOVPD))(from, m, to)
	}
}

func maskedStore(m mask, from vec, to operand.Mem) {
	switch isa.Target {
	case isa.NEON:
		isa.StorePart(size(), m, from, to)
	case isa.AVX512:
		of(VMOVUPS, VMOVUPD)(from, m, to)
	default:
		of(variadic(VMASKMOVPS), variadic(VMASKMOVPD))(from, m, to)
	}
}
