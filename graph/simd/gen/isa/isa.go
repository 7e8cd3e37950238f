//go:build generate

// Package isa has the code that the generators of assembly share (those of package simd and of the tiles of the local
// metrics): the instruction set for which a run generates code, its registers, and the translation of avo's AVX program
// to NEON (neon.go).
//
// A generator writes each kernel once, mostly in avo's AVX instructions. It comes out
// for AVX2 + FMA (8 lanes, masks in vector registers), for AVX-512 (16 lanes, masks in
// mask registers) and for the NEON of arm64 (4 lanes, masks as in AVX2). The arithmetic
// is the same instruction for instruction, so all give the same bits.
package isa

import (
	"flag"
	"fmt"
	"os"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"
)

// Set is an instruction set.
type Set string

const (
	AVX2   Set = "AVX2"
	AVX512 Set = "AVX512"
	NEON   Set = "NEON"
)

// Target is the instruction set of this run, the flag -isa.
var Target Set

func init() {
	flag.Func("isa", "AVX2, AVX512 or NEON", func(name string) error {
		Target = Set(name)
		if Lanes() == 0 {
			return fmt.Errorf("no instruction set %q", name)
		}
		return nil
	})
}

// Write writes the kernels to the files that avo's flags name; the flags must be parsed.
func Write(kernels func()) {
	switch Target {
	case "":
		fmt.Fprintln(os.Stderr, "gen: give an instruction set with -isa")
		os.Exit(2)
	case NEON:
		compileForNEON()
		build.ConstraintExpr("arm64,!noasm")
	default:
		build.ConstraintExpr("amd64,!noasm")
	}
	kernels()
	writeTable()
	build.Generate()
}

// Lanes is the number of float32 in a vector register.
func Lanes() int { return map[Set]int{AVX2: 8, AVX512: 16, NEON: 4}[Target] }

// Kernel starts the function name for the target.
func Kernel(name, signature string) {
	const noSplit = 4 // NOSPLIT: no kernel calls anything
	build.TEXT(name+string(Target), noSplit, "func"+signature)
	build.Pragma("noescape")
}

// Leave returns to Go, whose SSE code is slow while the upper halves are dirty.
func Leave() {
	if Target != NEON {
		build.VZEROUPPER()
	}
	build.RET()
}

// ReadOnly is the attribute of a symbol with constants, RODATA and NOPTR.
const ReadOnly = 8 | 16

// ParamAddr is where the kernel's parameter lies.
func ParamAddr(name string) operand.Mem {
	b, err := build.Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return b.Addr
}

// Vec is a vector register.
type Vec = reg.VecVirtual

// NewVec is a register of the target's width.
func NewVec() Vec {
	switch Target {
	case AVX512:
		return build.ZMM()
	case AVX2:
		return build.YMM()
	}
	return build.XMM()
}

// Clear writes zeros into v.
func Clear(v Vec) {
	if Target != AVX512 {
		build.VPXOR(v, v, v)
		return
	}
	i, err := x86.VPXORD(v, v, v)
	if err != nil {
		panic(err)
	}
	i.CancellingInputs = true // avo does not know it of this one: v is not read
	build.Instruction(i)
}

// RoundEven rounds x, entries of 4 or 8 bytes, to integers, halves to the even one.
func RoundEven(size int, x, dst Vec) {
	switch {
	case Target == AVX512 && size == 8:
		build.VRNDSCALEPD(operand.U8(8), x, dst)
	case Target == AVX512:
		build.VRNDSCALEPS(operand.U8(8), x, dst)
	case size == 8:
		build.VROUNDPD(operand.U8(8), x, dst)
	default:
		build.VROUNDPS(operand.U8(8), x, dst)
	}
}

// Word is u as data of 4 or 8 bytes.
func Word(u uint64, size int) operand.Constant {
	if size == 8 {
		return operand.U64(u)
	}
	return operand.U32(uint32(u))
}

// Predicates of VCMPPS and VCMPPD, ordered but where said otherwise: false for NaN. All are quiet
// but the one that raises the invalid flag for it, which nothing here reads.
const (
	IsEqual            = 0x00
	IsLess             = 0x11
	IsAtLeast          = 0x1d
	IsAtLeastSignaling = 0x0d
	IsNotBelow         = 0x15 // x ≥ y or NaN
	IsGreater          = 0x1e
)
