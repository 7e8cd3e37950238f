package simd

import (
	"encoding/binary"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
)

// digest hashes bit patterns; every NaN counts as the same.
func digest[T float32 | float64 | int32](arrays ...[]T) uint64 {
	h := fnv.New64a()
	for _, x := range arrays {
		for i, v := range x {
			if v != v {
				x[i] = T(math.NaN())
			}
		}
		binary.Write(h, binary.LittleEndian, x)
	}
	return h.Sum64()
}

// uniforms returns numbers of [−2, 2) that no processor rounds, so all have the same.
func uniforms[T float32 | float64](n int, seed uint64) []T {
	rng := rand.New(rand.NewPCG(seed, 14))
	x := make([]T, n)
	for i := range x {
		x[i] = T(rng.Float32()-0.5) * 4
	}
	return x
}

// digests are computations, and the digest of what each gives on every instruction set but
// plain Go. The digests were printed by this test under AVX-512; a change of a formula
// changes them.
var digests = []struct {
	name   string
	of     func() uint64
	digest uint64
}{
	{"Exp", elementwise(Exp, -110, 90), 0xeff310a5fd739f42},
	{"Softplus", elementwise(Softplus, -huge, huge), 0xa11bbfaa50ec271d},
	{"Sigmoid", elementwise(Sigmoid, -huge, huge), 0x6d551d29e2b85b5f},
	{"Lgamma", elementwise(Lgamma, -1, huge), 0x436da5d7876d0d8e},
	{"Digamma", elementwise(Digamma, -1, huge), 0xd458b2be65500b63},
	{"Lgamma64", func() uint64 {
		x := uniforms[float64](20_000, 5)
		for i, v := range x { // of [1/16, 16), in powers that no processor rounds
			x[i] = math.Ldexp(1+math.Abs(v)/2, i%8-4)
		}
		Lgamma64(x, x)
		return digest(x)
	}, 0x5bef7d3be5265a30},
	{"SoftplusPlus64", func() uint64 {
		x := uniforms[float64](20_000, 6)
		for i, v := range x {
			x[i] = math.Ldexp(v, i%60-50)
		}
		SoftplusPlus64(x, x, 1e-8)
		return digest(x)
	}, 0x8618216018df5eb8},
	{"DirichletScores", func() uint64 {
		a, logp, score := uniforms[float32](5*33*33, 1), uniforms[float32](5*33, 2), make([]float32, 5*33)
		DirichletScores(score, a, logp, 33, 0.3, 1e-8)
		return digest(score)
	}, 0xb9405cc441b23b2a},
	{"DirichletGradient", func() uint64 {
		a, logp, g := uniforms[float32](5*33*33, 1), uniforms[float32](5*33, 2), uniforms[float32](5*33, 3)
		DirichletGradient(a, a, logp, g, 33, 1e-8)
		return digest(a)
	}, 0xadf880fbab939715},
	{"DirichletScoresAndGradient", func() uint64 {
		a, logp, g := uniforms[float32](5*33*33, 1), uniforms[float32](5*33, 2), uniforms[float32](5*33, 3)
		score := make([]float32, 5*33)
		DirichletScoresAndGradient(score, a, a, logp, 33, 0.3, 1e-8)
		ScaleColumns(a, g, 33)
		return digest(score, a)
	}, 0xe792857f89c2e907},
	{"GaussianRow", func() uint64 {
		row, sq := uniforms[float32](1003, 1), uniforms[float32](1003, 2)
		for i := range sq {
			sq[i] += float32(i)
		}
		GaussianRow(row, sq, 1.5, 2)
		return digest(row)
	}, 0x9b17c0382ce6c8e2},
	{"SumListed", func() uint64 {
		x, sums := uniforms[float32](40*37, 1), uniforms[float32](5*37, 2)
		codes := make([]int32, 40)
		for i := range codes {
			codes[i] = int32(i * i % 5)
		}
		SumListed(sums[:37], x, codes)
		TakeRows(sums[37:4*37], x, codes[:3], 37)
		return digest(sums)
	}, 0x2960fce8c964fb51},
	{"SumRows", func() uint64 {
		y, table := make([]float32, 137), uniforms[float32](40*5*137, 1)
		codes := make([]int32, 40)
		for i := range codes {
			codes[i] = int32(i * i % 5)
		}
		SumRows(y, table, codes, 5)
		AddToRows(table, y, codes, 5)
		return digest(y, table)
	}, 0x67390820da3c911f},
	{"SumShares", func() uint64 {
		y, table, shares := make([]float32, 137), uniforms[float32](50*137, 1), uniforms[float32](40, 2)
		places := make([]int32, 40)
		for i := range places {
			places[i] = int32(i * i % 50)
		}
		SumShares(y, table, len(y), 0, []int32{40}, places, shares)
		AddShares(table, y, places, shares)
		return digest(y, table)
	}, 0xa07fe2da59393076},
	{"Adam", func() uint64 {
		theta, grad, m, v := uniforms[float32](1003, 1), uniforms[float32](1003, 2), uniforms[float32](1003, 3), uniforms[float32](1003, 4)
		for i, x := range v {
			v[i] = x * x
		}
		Adam{Beta1: 0.9, Beta2: 0.999, Decay: 1e-3, Shrink: 0.99, Rate: 0.01, Scale: 3, Epsilon: 1e-8}.Step(theta, grad, m, v)
		return digest(theta, m, v)
	}, 0xd7bd4d084bfba9d3},
	{"Sgemm", func() uint64 { return products(Sgemm) }, 0x2db4d759b0216d49},
	{"Dgemm", func() uint64 { return products(Dgemm) }, 0x808f86118b270398},
	{"NearestRows", func() uint64 {
		var c Codebook
		c.Set(uniforms[float32](77*30, 1), 77, 30)
		codes := make([]int32, 500)
		NearestRows(codes, uniforms[float32](500*30, 2), &c)
		return digest(codes)
	}, 0x0be96e1706c1b041},
}

func elementwise(f func(dst, x []float32), lo, hi float32) func() uint64 {
	return func() uint64 {
		x := spaced(lo, hi, 20_000)
		f(x, x)
		return digest(x)
	}
}

// products multiplies in all orientations, deeper than one rounding into C and with
// every height and width of a tile.
func products[T float32 | float64](gemm product[T]) uint64 {
	const m, n, k = 15, 43, 301
	a, b := uniforms[T](m*k, 1), uniforms[T](k*n, 2)
	var c [][]T
	for _, tA := range transposes {
		for _, tB := range transposes {
			for _, beta := range []T{0, 1, 0.25} {
				x := uniforms[T](m*n, 3)
				_, lda := rectangle(tA, m, k)
				_, ldb := rectangle(tB, k, n)
				gemm(tA, tB, m, n, k, 1.5, a, lda, b, ldb, beta, x, n)
				c = append(c, x)
			}
		}
	}
	return digest(c...)
}

// The same bits under AVX2, AVX-512 and NEON, in all that does not sum along lanes.
func TestBits(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		if isa == portable {
			t.Skip("plain Go rounds elsewhere")
		}
		for _, b := range digests {
			if got := b.of(); got != b.digest {
				t.Errorf("%s: digest %#016x, not %#016x", b.name, got, b.digest)
			}
		}
	})
}
