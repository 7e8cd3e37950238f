package simd

// instructionSet names a family of kernels.
type instructionSet int

const (
	portable instructionSet = iota // plain Go
	avx2                           // 8 lanes, AVX2 and FMA
	avx512                         // 16 lanes, AVX-512 F, DQ, BW and VL
	vnni                           // the same, and products of pairs of 16-bit integers
	amx                            // AVX-512, and tiles of bfloat16
	neon                           // 4 lanes, arm64
)

// InstructionSet names what the kernels of this process run on: "avx512+amx", "avx512+vnni",
// "avx512", "avx2", "neon" on every arm64, or "go", plain Go: on an amd64 without AVX2, on any other
// processor and under the build tag noasm.
func InstructionSet() string {
	return [...]string{portable: "go", avx2: "avx2", avx512: "avx512", vnni: "avx512+vnni", amx: "avx512+amx", neon: "neon"}[isa]
}
