package simd

// instructionSet names a family of kernels.
type instructionSet int

const (
	portable instructionSet = iota // plain Go
	avx2                           // 8 lanes, AVX2 and FMA
	avx512                         // 16 lanes, AVX-512 F, DQ, BW and VL
)

// InstructionSet names what the kernels of this process run on: "avx512", "avx2"
// or "go", the last on every processor that is not amd64 with AVX2 and under the
// build tag noasm.
func InstructionSet() string {
	return [...]string{portable: "go", avx2: "avx2", avx512: "avx512"}[isa]
}
