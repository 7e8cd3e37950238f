//go:build generate

package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

// wordsAtATime is how many codewords nearestTwo multiplies at a time: with slots in two vectors, twice as many sums
// stay in registers.
func wordsAtATime() int {
	if isa.Target == isa.AVX2 {
		return 4
	}
	return 8
}

// nearestTwo scores the slots in two vectors against groups of codewords, s = ½|c|² − x·c, and keeps the first index of
// the least score of each slot, that score and the next. x has a row of two vectors for each of the d numbers of a
// slot, words a row of a group's codewords. Scores get a row of two vectors for each codeword. The result is the least
// distance between the two scores of a slot. Meanwhile so many lines from ahead on are fetched for each group.
func nearestTwo() {
	h, bytes := wordsAtATime(), 4*isa.Lanes()
	words, half := gp("words"), gp("half")
	groups, scores, ahead := gp("groups"), gp("scores"), gp("ahead")
	for v := range 2 {
		most := load(k(math.Inf(1)))
		VMOVUPS(most, twoOf("least", v))
		VMOVUPS(most, twoOf("second", v))
		VMOVUPS(zero(), twoOf("codes", v))
	}
	index := zero()

	Label("group")
	acc := groupProducts(words, h)
	if isa.Target != isa.NEON {
		fetch(ahead, gp("lines"))
	}
	for v := range 2 {
		keepNearest(v, acc, index, half, scores)
	}
	addInt(bits(uint32(h)), index, index)
	ADDQ(operand.I32(int32(4*h)), half)
	ADDQ(operand.I32(int32(2*bytes*h)), scores)
	DECQ(groups)
	JNZ(operand.LabelRef("group"))

	closest := load(k(math.Inf(1)))
	for v := range 2 {
		l, s := isa.NewVec(), isa.NewVec()
		VMOVUPS(twoOf("least", v), l)
		VMOVUPS(twoOf("second", v), s)
		sub(l, s, s)
		lesser(closest, s, closest) // closest, where s is not a number
	}
	acrossLanes(closest, VMINPS)
	Store(closest.AsX(), ReturnIndex(0))
}

// twoOf is vector v of the two that an argument of nearestTwo points at.
func twoOf(argument string, v int) operand.Mem {
	return operand.Mem{Base: gp(argument), Disp: 4 * isa.Lanes() * v}
}

// groupProducts is x·c of the slots in two vectors and of the h codewords of a group, at which words points and behind
// which it ends.
func groupProducts(words reg.Register, h int) [][2]vec {
	bytes := 4 * isa.Lanes()
	acc := make([][2]vec, h)
	for i := range acc {
		acc[i] = [2]vec{zero(), zero()}
	}
	x, d := gp("x"), gp("d")
	Label("depth")
	var row [2]vec
	for v := range row {
		row[v] = isa.NewVec()
		VMOVUPS(operand.Mem{Base: x, Disp: bytes * v}, row[v])
	}
	for i := range acc {
		w := isa.NewVec()
		VBROADCASTSS(operand.Mem{Base: words, Disp: 4 * i}, w)
		for v := range row {
			mulAdd(w, row[v], acc[i][v])
		}
	}
	ADDQ(operand.I32(int32(2*bytes)), x)
	ADDQ(operand.I32(int32(4*h)), words)
	DECQ(d)
	JNZ(operand.LabelRef("depth"))
	return acc
}

// keepNearest writes the scores of the slots in vector v by the products acc, of codewords from index on, and keeps the
// least of each slot, its index and the next.
func keepNearest(v int, acc [][2]vec, index vec, half, scores reg.Register) {
	least, second, best := isa.NewVec(), isa.NewVec(), isa.NewVec()
	leastAt, secondAt, codesAt := twoOf("least", v), twoOf("second", v), twoOf("codes", v)
	VMOVUPS(leastAt, least)
	VMOVUPS(secondAt, second)
	VMOVUPS(codesAt, best)
	number := copyOf(index)
	for i := range acc {
		s, greatest := isa.NewVec(), isa.NewVec()
		VBROADCASTSS(operand.Mem{Base: half, Disp: 4 * i}, s)
		sub(acc[i][v], s, s)
		VMOVUPS(s, operand.Mem{Base: scores, Disp: 4 * isa.Lanes() * (2*i + v)})
		choose(compare(isa.IsLess, least, s), number, best)
		greater(least, s, greatest) // least, where s is not a number
		lesser(least, s, least)
		lesser(second, greatest, second)
		addInt(bits(1), number, number)
	}
	VMOVUPS(least, leastAt)
	VMOVUPS(second, secondAt)
	VMOVUPS(best, codesAt)
}

// fetch moves ahead on by so many lines, which it fetches.
func fetch(ahead, lines reg.Register) {
	TESTQ(lines, lines)
	JZ(operand.LabelRef("fetched"))
	Label("fetch")
	PREFETCHT0(operand.Mem{Base: ahead})
	ADDQ(operand.Imm(64), ahead)
	DECQ(lines)
	JNZ(operand.LabelRef("fetch"))
	Label("fetched")
}
