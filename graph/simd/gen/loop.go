//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// array is a pointer parameter that walks along the loop.
type array struct{ ptr reg.Register }

func param(name string) array { return array{Load(Param(name), GP64())} }

// vectors emits a loop over n elements, a vector at a time, the last one masked.
// body gets the loaded vectors of src and returns those to be stored to dst.
// Lanes past the end hold zero.
func vectors(n reg.Register, src, dst []array, body func(x []vec) []vec) {
	width := lanes()
	label := "loop"
	tail := tailMask(width)

	TESTQ(n, n)
	JLE(operand.LabelRef("done"))
	Label(label)
	x := make([]vec, len(src))
	for i := range x {
		x[i] = newVec()
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
	seen := map[reg.Register]bool{}
	for _, a := range append(append([]array{}, src...), dst...) {
		if !seen[a.ptr] {
			ADDQ(operand.Imm(uint64(4*width)), a.ptr)
			seen[a.ptr] = true
		}
	}
	SUBQ(operand.Imm(uint64(width)), n)
	JG(operand.LabelRef(label))
	Label("done")
}

var tailTable operand.Mem

// tailMask returns a function that makes the mask of the first n entries, n up to
// width, the number of entries in a vector.
func tailMask(width int) func(n reg.Register) mask {
	if avx512 {
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
	if tailTable.Symbol.Name == "" {
		tailTable = GLOBL("tail", 8|16) // RODATA | NOPTR
		for i := range 16 {
			if i < 8 {
				DATA(4*i, operand.U32(0xffffffff))
			} else {
				DATA(4*i, operand.U32(0))
			}
		}
	}
	return func(n reg.Register) mask {
		// the 32 bytes that start n entries before the middle of 32 set and 32 clear
		m, p := YMM(), GP64()
		LEAQ(tailTable.Offset(32), p)
		at := GP64()
		MOVQ(n, at)
		NEGQ(at)
		VMOVUPS(operand.Mem{Base: p, Index: at, Scale: uint8(32 / width)}, m)
		return m
	}
}

func maskedLoad(m mask, from operand.Mem, to vec) {
	if avx512 {
		if double {
			VMOVUPD_Z(from, m, to)
		} else {
			VMOVUPS_Z(from, m, to)
		}
	} else if double {
		VMASKMOVPD(from, m, to)
	} else {
		VMASKMOVPS(from, m, to)
	}
}

func maskedStore(m mask, from vec, to operand.Mem) {
	if avx512 {
		if double {
			VMOVUPD(from, m, to)
		} else {
			VMOVUPS(from, m, to)
		}
	} else if double {
		VMASKMOVPD(from, m, to)
	} else {
		VMASKMOVPS(from, m, to)
	}
}
