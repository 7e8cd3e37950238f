package tile

// instructionSet names a family of kernels.
type instructionSet int

const (
	portable instructionSet = iota // plain Go
	avx2                           // 8 lanes, AVX2 and FMA
	avx512                         // 16 lanes, AVX-512 F, DQ, BW and VL
	neon                           // 4 lanes, arm64
)

func (s instructionSet) String() string {
	return [...]string{portable: "go", avx2: "avx2", avx512: "avx512", neon: "neon"}[s]
}

// blockKernel computes a block of 1 to registerRows rows.
type blockKernel func(dst, a *float32, stride, k int, b *float32)
