//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"

	"calibra/graph/simd/gen/isa"
	"calibra/graph/simd/internal/minimax"
)

func gaussianUnit() {
	// kernel values in place of the products in row
	isa.Kernel("gaussianRow", "(row, sq *float32, n int, si, scale float32)")
	si, scale := broadcastParam("si"), broadcastParam("scale")
	n := Load(Param("n"), GP64())
	row := param("row")
	pairs(n, []array{row, param("sq")}, []array{row}, func(x []vec) []vec {
		return []vec{gaussian(x[0], x[1], si, scale)}
	})
	isa.Leave()

	// Σ K, Σ K² and Σ K·e of a row, nothing written but these three
	isa.Kernel("gaussianMoments", "(moments, row, sq, e *float32, n int, si, scale float32)")
	si, scale = broadcastParam("si"), broadcastParam("scale")
	sum, squares, dot := zero(), zero(), zero()
	n = Load(Param("n"), GP64())
	left := n
	vectors(n, []array{param("row"), param("sq"), param("e")}, nil, func(x []vec) []vec {
		value := gaussian(x[0], x[1], si, scale)
		CMPQ(left, operand.Imm(uint64(isa.Lanes())))
		JGE(operand.LabelRef("whole"))
		keepLanes(left, value)
		Label("whole")
		add(value, sum, sum)
		mulAdd(value, value, squares)
		mulAdd(x[2], value, dot)
		return nil
	})
	to := Load(Param("moments"), GP64())
	for i, v := range []vec{sum, squares, dot} {
		VMOVSS(sumLanes(v), operand.Mem{Base: to, Disp: 4 * i})
	}
	isa.Leave()
}

func broadcastParam(name string) vec {
	v := isa.NewVec()
	VBROADCASTSS(isa.ParamAddr(name), v)
	return v
}

// gaussian returns exp(scale·max(0, si + sq − 2·product)), scale = −1/(2γ²).
// Values below the smallest normal number are 0.
func gaussian(product, sq, si, scale vec) vec {
	d := isa.NewVec()
	add(si, sq, d)
	mulSub(k(2), product, d)
	least := zero()
	greater(d, least, least)
	mul(scale, least, least)
	lowest := load(minimax.GaussianLowest)
	vanishes := compare(isa.IsLess, lowest, least)
	greater(least, lowest, lowest)
	value := expReduced(lowest)
	choose(vanishes, k(0), value)
	return value
}
