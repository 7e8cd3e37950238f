package tile

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

func digest(arrays ...[]float32) uint64 {
	h := fnv.New64a()
	for _, x := range arrays {
		binary.Write(h, binary.LittleEndian, x)
	}
	return h.Sum64()
}

// uniforms returns numbers of [−2, 2) that no processor rounds, so all have the same.
func uniforms(n int, seed uint64) []float32 {
	x, rng := make([]float32, n), rand.New(rand.NewPCG(seed, 14))
	for i := range x {
		x[i] = (rng.Float32() - 0.5) * 4
	}
	return x
}

// exponents returns n numbers of (−42, 0] and the edges of that range.
func exponents(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = -42 * float32(i) / float32(n)
	}
	x[1], x[2], x[3], x[4], x[5] = float32(math.Inf(-1)), -math.MaxFloat32, -41, math.Nextafter32(-41, -42), -math.SmallestNonzeroFloat32
	return x
}

// products runs a function of blocks with every height of a block, alone and after a
// whole one.
func products(f func(dst, a []float32, stride, m, k int, b []float32)) func() uint64 {
	return func() uint64 {
		const k, stride = 53, 57
		var all [][]float32
		for m := 1; m <= 2*registerRows; m++ {
			dst := uniforms(m*Lanes, 3)
			f(dst, uniforms(m*stride, 1), stride, m, k, uniforms(k*Lanes, 2))
			all = append(all, dst)
		}
		return digest(all...)
	}
}

// bits is a computation and the digest of what it gives on every instruction set but
// plain Go. The digests were printed by this test under AVX-512; a change of a formula
// changes them.
var bits = []struct {
	name   string
	of     func() uint64
	digest uint64
}{
	{"Multiply", products(Multiply), 0x5b440ae95c0c900e},
	{"MultiplySquares", products(MultiplySquares), 0x8406e2ef146c598d},
	{"Distances", products(Distances), 0x0e40054d75208c7b},
	{"Gaussian", func() uint64 {
		x := exponents(1 << 16)
		Gaussian(x)
		squares := make([]float32, len(x))
		for i, v := range x {
			squares[i] = v * v
		}
		return digest(x, squares)
	}, 0x77186015a878c8f7},
	{"AddRows", func() uint64 {
		dst, index := uniforms(7*Lanes, 1), make([]int32, 40)
		for j := range index {
			index[j] = int32(j * j % 7)
		}
		AddRows(dst, index, 40, uniforms(40*Lanes, 2))
		return digest(dst)
	}, 0x56f97ab05f326f15},
	{"SumLists", func() uint64 {
		dst := uniforms(3*Lanes, 1)
		SumLists(dst, someColumns(), someLists(), uniforms(4*Lanes, 2))
		return digest(dst)
	}, 0x281e5ce322604226},
	{"Accumulate", func() uint64 {
		dst := make([]float64, 2*Lanes)
		for i := range dst {
			dst[i] = 1 / float64(i+1)
		}
		Accumulate(dst, uniforms(len(dst), 1))
		h := fnv.New64a()
		binary.Write(h, binary.LittleEndian, dst)
		return h.Sum64()
	}, 0x639029aa00f9cb39},
}

// someLists are a list of no row and others of three, with factors that every processor has alike.
func someLists() Lists {
	return NewLists([]int32{0, 0, 3, 6}, []int32{0, 2, 3, 2, 1, 2}, uniforms(6, 3))
}

// someColumns have sums of them in three rows of 64.
func someColumns() Columns {
	return NewColumns([]Column{{R: 63, S: 64 + 63, Q: 128 + 63, List: 1}, {R: 5, S: 64 + 5, Q: 128 + 5, List: 0}, {R: 0, S: 64, Q: 128, List: 2}, {R: 17, S: 64 + 17, Q: 128 + 17, List: 1}})
}

// The same bits under AVX2, AVX-512 and NEON: a local metric does not depend on the
// processor.
func TestBits(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		if isa == portable {
			t.Skip("plain Go rounds elsewhere")
		}
		for _, b := range bits {
			if got := b.of(); got != b.digest {
				t.Errorf("%s: digest %#016x, not %#016x", b.name, got, b.digest)
			}
		}
	})
}
