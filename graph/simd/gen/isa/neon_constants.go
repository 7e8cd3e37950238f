//go:build generate

package isa

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

var (
	constants = map[uint32]operand.Mem{}
	table     []uint32 // the constants in the order of their first use
)

const constantsName = "constants"

// Constant returns the address of a vector that holds the float32 of these bits in each
// lane: an entry of the table that all kernels of a NEON unit share.
func Constant(bits uint32) operand.Mem {
	m, ok := constants[bits]
	if !ok {
		m = operand.NewDataAddr(operand.NewStaticSymbol(constantsName), 4*Lanes()*len(table))
		constants[bits] = m
		table = append(table, bits)
	}
	return m
}

// writeTable writes the constants, if any.
func writeTable() {
	if len(table) == 0 {
		return
	}
	build.GLOBL(constantsName, ReadOnly)
	for at := range len(table) * Lanes() {
		build.DATA(4*at, operand.U32(table[at/Lanes()]))
	}
}
