//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"

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
}

func broadcastParam(name string) vec {
	v := isa.NewVec()
	broadcastFrom(isa.ParamAddr(name), v)
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
