package run_test

import (
	"fmt"
	"math/bits"
	"testing"
)

// numpyPermutation is numpy.random.default_rng(seed).permutation(n) for n below 2³²: the
// rows that the published results on CIFAR-10 were drawn by. The seed is spread by
// SeedSequence, the generator is PCG64 (XSL RR 128/64, O'Neill 2014), and the shuffle draws
// from the halves of its outputs, the low one first.
func numpyPermutation(seed uint32, n int) []int {
	g := newNumpyPCG(seed)
	p := make([]int, n)
	for i := range p {
		p[i] = i
	}
	for i := n - 1; i > 0; i-- {
		j := g.upTo(uint32(i))
		p[i], p[j] = p[j], p[i]
	}
	return p
}

// numpyPCG is PCG64 with the half of an output that is still to be used.
type numpyPCG struct {
	state, increment uint128
	half             uint32
	halved           bool
}

type uint128 struct{ high, low uint64 }

func (a uint128) plus(b uint128) uint128 {
	low, carry := bits.Add64(a.low, b.low, 0)
	high, _ := bits.Add64(a.high, b.high, carry)
	return uint128{high, low}
}

func (a uint128) times(b uint128) uint128 {
	high, low := bits.Mul64(a.low, b.low)
	return uint128{high + a.high*b.low + a.low*b.high, low}
}

func newNumpyPCG(seed uint32) *numpyPCG {
	w := seedSequence(seed)
	g := &numpyPCG{increment: uint128{w[2]<<1 | w[3]>>63, w[3]<<1 | 1}}
	g.step()
	g.state = g.state.plus(uint128{w[0], w[1]})
	g.step()
	return g
}

func (g *numpyPCG) step() {
	g.state = g.state.times(uint128{2549297995355413924, 4865540595714422341}).plus(g.increment)
}

// next is the next 32 bits.
func (g *numpyPCG) next() uint32 {
	if g.halved {
		g.halved = false
		return g.half
	}
	g.step()
	x := bits.RotateLeft64(g.state.high^g.state.low, -int(g.state.high>>58))
	g.half, g.halved = uint32(x>>32), true
	return uint32(x)
}

// upTo draws from 0…n: bits as many as n has, until they are no more than n.
func (g *numpyPCG) upTo(n uint32) uint32 {
	for {
		if x := g.next() & (1<<bits.Len32(n) - 1); x <= n {
			return x
		}
	}
}

// seedSequence is SeedSequence(seed).generate_state(4, uint64).
func seedSequence(seed uint32) (words [4]uint64) {
	constant := uint32(0x43b0d7e5)
	hash := func(x, factor uint32) uint32 {
		x ^= constant
		constant *= factor
		x *= constant
		return x ^ x>>16
	}
	const in, out = 0x931e8875, 0x58f38ded
	pool := [4]uint32{seed}
	for i := range pool {
		pool[i] = hash(pool[i], in)
	}
	for from := range pool {
		for to := range pool {
			if from != to {
				x := 0xca01f9dd*pool[to] - 0x4973f715*hash(pool[from], in)
				pool[to] = x ^ x>>16
			}
		}
	}
	constant = 0x8b51f9dd
	for i := range 8 {
		words[i/2] |= uint64(hash(pool[i%4], out)) << (32 * (i % 2))
	}
	return words
}

// TestNumpyPermutation holds it to NumPy 2.4.
func TestNumpyPermutation(t *testing.T) {
	for _, c := range []struct {
		seed uint32
		n    int
		want string
	}{
		{42, 22500, "[3020 3708 10301 2402 14004 19202 10358 4402 2676 1151]"},
		{44, 10000, "[8129 1685 6432 8542 1045 8182 5332 1091 3249 6814]"},
		{0, 10, "[4 6 2 7 3 5 9 0 8 1]"},
	} {
		if got := fmt.Sprint(numpyPermutation(c.seed, c.n)[:10]); got != c.want {
			t.Errorf("seed %d, %d rows: %s, NumPy has %s", c.seed, c.n, got, c.want)
		}
	}
}
