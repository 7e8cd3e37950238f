//go:build generate

package main

import (
	"calibra/graph/simd/gen/isa"
	"calibra/graph/simd/internal/minimax"
)

func gaussianUnit() {
	// kernel values in place of the products in row
	each("gaussianRow", "(row, sq *float32, n int, si, scale float32)", "si scale", "row sq", "row", func(c, x []vec) []vec {
		return []vec{gaussian(x[0], x[1], c[0], c[1])}
	})
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
