//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"

	"calibra/graph/simd/gen/isa"
)

// adamUnit is one step of Adam, each operation rounded as plain Go rounds it.
func adamUnit() {
	isa.Kernel("adam", "(theta, grad, m, v *float32, n int, beta1, rest1, beta2, rest2, decay, shrink, rate, scale, epsilon float32)")
	beta1, rest1 := broadcastParam("beta1"), broadcastParam("rest1")
	beta2, rest2 := broadcastParam("beta2"), broadcastParam("rest2")
	decay, shrink := broadcastParam("decay"), broadcastParam("shrink")
	rate, scale, epsilon := broadcastParam("rate"), broadcastParam("scale"), broadcastParam("epsilon")
	n := gp("n")
	theta, mean, square := param("theta"), param("m"), param("v")
	vectors(n, []array{theta, param("grad"), mean, square}, []array{theta, mean, square}, func(x []vec) []vec {
		theta, g, m, v := x[0], x[1], x[2], x[3]
		t := isa.NewVec()
		mul(decay, theta, t)
		add(t, g, g)
		mul(beta1, m, m)
		mul(rest1, g, t)
		add(t, m, m)
		mul(beta2, v, v)
		mul(rest2, g, t)
		mul(g, t, t)
		add(t, v, v)
		VSQRTPS(v, t)
		mul(scale, t, t)
		add(epsilon, t, t)
		mul(rate, m, g)
		div(t, g, g)
		mul(shrink, theta, theta)
		sub(g, theta, theta)
		return []vec{theta, m, v}
	})
	isa.Leave()
}
