//go:build generate

package isa

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// constant is the bits of an entry of so many bytes.
type constant struct {
	bits uint64
	size int
}

var (
	constants = map[constant]operand.Mem{}
	table     []constant // in the order of their first use
)

const constantsName = "constants"

// Constant returns the address of a vector that holds the float of these bits, 4 or 8 bytes, in
// each lane: an entry of the table that all kernels of a NEON unit share.
func Constant(bits uint64, size int) operand.Mem {
	c := constant{bits, size}
	m, ok := constants[c]
	if !ok {
		m = operand.NewDataAddr(operand.NewStaticSymbol(constantsName), 4*Lanes()*len(table))
		constants[c] = m
		table = append(table, c)
	}
	return m
}

// writeTable writes the constants, if any.
func writeTable() {
	if len(table) == 0 {
		return
	}
	build.GLOBL(constantsName, ReadOnly)
	for i, c := range table {
		for at := 0; at < 4*Lanes(); at += c.size {
			build.DATA(4*Lanes()*i+at, Word(c.bits, c.size))
		}
	}
}
