//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

func vectorUnit() {
	dot()
	axpy()
}

// dot returns Σ x·y: four running sums over whole groups of four vectors, then
// one vector at a time into the first.
func dot() {
	kernel("dot", "(x, y *float32, n int) float32")
	x, y := param("x"), param("y")
	n := Load(Param("n"), GP64())
	var s [4]vec
	for i := range s {
		s[i] = zero()
	}
	width := lanes()
	Label("group")
	CMPQ(n, operand.Imm(uint64(4*width)))
	JL(operand.LabelRef("rest"))
	for i := range s {
		v := newVec()
		VMOVUPS(operand.Mem{Base: x.ptr, Disp: 4 * width * i}, v)
		VFMADD231PS(operand.Mem{Base: y.ptr, Disp: 4 * width * i}, v, s[i])
	}
	ADDQ(operand.I32(16*width), x.ptr)
	ADDQ(operand.I32(16*width), y.ptr)
	SUBQ(operand.Imm(uint64(4*width)), n)
	JMP(operand.LabelRef("group"))
	Label("rest")
	vectors(n, []array{x, y}, nil, func(v []vec) []vec {
		mulAdd(v[0], v[1], s[0])
		return nil
	})
	add(s[1], s[0], s[0])
	add(s[3], s[2], s[2])
	add(s[2], s[0], s[0])
	result := sumLanes(s[0])
	Store(result.AsX(), ReturnIndex(0))
	leave()
}

// axpy adds a·x to y.
func axpy() {
	kernel("axpy", "(y *float32, a float32, x *float32, n int)")
	a := broadcastParam("a")
	y := param("y")
	n := Load(Param("n"), GP64())
	vectors(n, []array{y, param("x")}, []array{y}, func(v []vec) []vec {
		mulAdd(v[1], a, v[0])
		return v[:1]
	})
	leave()
}
