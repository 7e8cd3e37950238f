//go:build amd64 && !noasm

package tile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Both instruction sets round alike, so results do not depend on the processor.
func TestInstructionSetsAgree(t *testing.T) {
	if isa != avx512 {
		t.Skip("needs a processor with AVX-512 to compare with AVX2")
	}
	defer func() { isa = avx512 }()
	results := map[instructionSet][]string{}
	for _, set := range []instructionSet{avx512, avx2} {
		isa = set
		rng := rand.New(rand.NewPCG(3, 3))
		a, b := random(17*20, rng), random(20*Lanes, rng)
		k, squares, sums := make([]float32, 17*Lanes), make([]float32, 17*Lanes), make([]float32, 13*Lanes)
		Distances(k, a, 20, 17, 20, b)
		Gaussian(k, squares)
		Multiply(sums, a, 20, 13, 17, k)
		AddRows(sums, []int32{1, 1, 0}, squares)
		AddMoments(sums, 0.7, k, squares)
		results[set] = []string{fmt.Sprint(k), fmt.Sprint(squares), fmt.Sprint(sums)}
	}
	if !slices.Equal(results[avx512], results[avx2]) {
		t.Error("AVX2 and AVX-512 differ")
	}
}

// The plain Go path holds the same laws.
func TestPortable(t *testing.T) {
	set := isa
	defer func() { isa = set }()
	isa = portable
	t.Run("Gaussian", TestGaussian)
	t.Run("Panics", TestShortSlicesPanic)
}
