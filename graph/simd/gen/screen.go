//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

// screenUnit is the work of vectors around the tile products of the nearest codewords, for AVX-512 alone.
func screenUnit() {
	splitSlots()
	leastTwo()
}

// splitSlots writes groups of sixteen slots, d numbers each, which lie one after the other from an address of x on, as
// tiles: a row is a pair of features, a column a slot, an entry the upper halves of two float32. Let p be 2·⌈d/4⌉. Rows
// 0 to p−1, and once more p to 2p−1, are the features rounded to bfloat16, rows 2p to 3p−1 what rounding left over, cut
// to bfloat16. A group begins next bytes after the one before. To limit it writes slope·|x| + offset for each slot.
func splitSlots() {
	isa.Kernel("splitSlots", "(tiles, limit *float32, x **float32, d, next, groups int, slope, offset float32)")
	group, limit, x := Load(Param("tiles"), GP64()), Load(Param("limit"), GP64()), Load(Param("x"), GP64())
	stride, next, groups := Load(Param("d"), GP64()), Load(Param("next"), GP64()), Load(Param("groups"), GP64())
	slope, offset := broadcastParam("slope"), broadcastParam("offset")
	part := tailMask(4)(lastOf(stride))
	half := GP64() // bytes of p rows
	LEAQ(operand.Mem{Base: stride, Disp: 3}, half)
	SHRQ(operand.U8(2), half)
	SHLQ(operand.U8(7), half)
	SHLQ(operand.U8(2), stride)

	Label("group")
	var squares [2]vec
	for i := range squares {
		squares[i] = zero()
	}
	from, to, end := GP64(), GP64(), GP64()
	MOVQ(operand.Mem{Base: x}, from)
	MOVQ(group, to)
	LEAQ(operand.Mem{Base: from, Index: stride, Scale: 1}, end)
	Label("features")
	columns := turnQuads(nextFeatures(from, stride, end, part))
	last := GP64()
	LEAQ(operand.Mem{Base: to, Index: half, Scale: 2}, last)
	for pair := range 2 {
		at := 64 * pair
		first, second := columns[2*pair], columns[2*pair+1]
		mulAdd(first, first, squares[0])
		mulAdd(second, second, squares[1])
		upper, rest := splitPair(first, second)
		VMOVUPS(upper, operand.Mem{Base: to, Disp: at})
		VMOVUPS(upper, operand.Mem{Base: to, Index: half, Scale: 1, Disp: at})
		VMOVUPS(rest, operand.Mem{Base: last, Disp: at})
	}
	ADDQ(operand.Imm(16), from)
	ADDQ(operand.I32(128), to)
	CMPQ(from, end)
	JL(operand.LabelRef("features"))

	add(squares[1], squares[0], squares[0])
	VSQRTPS(squares[0], squares[0])
	VFMADD213PS(offset, slope, squares[0])
	VMOVUPS(squares[0], operand.Mem{Base: limit})
	ADDQ(operand.Imm(64), limit)
	ADDQ(next, group)
	ADDQ(operand.Imm(8), x)
	DECQ(groups)
	JNZ(operand.LabelRef("group"))
	isa.Leave()
}

// nextFeatures returns the next four features of sixteen slots, or those before end and zeros, part being a mask of
// them.
func nextFeatures(from, stride, end, part reg.Register) (rows [4]vec) {
	left := GP64()
	MOVQ(end, left)
	SUBQ(from, left)
	CMPQ(left, operand.Imm(16))
	for i := range rows {
		rows[i] = isa.NewVec()
	}
	JL(operand.LabelRef("part"))
	fourFeatures(rows, from, stride, func(at operand.Mem, quarter uint8, row vec) {
		if quarter == 0 {
			VMOVUPS(at, row.AsX())
		} else {
			VINSERTF32X4(operand.U8(quarter), at, row, row)
		}
	})
	JMP(operand.LabelRef("turn"))
	Label("part")
	fourFeatures(rows, from, stride, func(at operand.Mem, quarter uint8, row vec) {
		if quarter == 0 {
			VMOVUPS_Z(at, part, row.AsX())
		} else {
			some := XMM()
			VMOVUPS_Z(at, part, some)
			VINSERTF32X4(operand.U8(quarter), some, row, row)
		}
	})
	Label("turn")
	return rows
}

// maskedOr lets VPTERNLOGD compute dst & mask | x, of x, mask and dst.
const maskedOr = 0xea

// splitPair returns two features as pairs of bfloat16: rounded, and what rounding left over.
func splitPair(first, second vec) (upper, rest vec) {
	high, low := isa.NewVec(), isa.NewVec()
	takeUpper(first, high)
	takeUpper(second, low)
	sub(high, first, first)
	sub(low, second, second)
	VPSRLD(operand.U8(16), high, high)
	VPORD(low, high, high)
	VPSRLD(operand.U8(16), first, first)
	VPTERNLOGD(operand.U8(maskedOr), first, load(bits(0xffff0000)), second)
	return high, second
}

// lastOf returns n mod 4.
func lastOf(n reg.Register) reg.Register {
	last := GP64()
	MOVQ(n, last)
	ANDQ(operand.Imm(3), last)
	return last
}

// fourFeatures fills row i with four features of each of the slots i, i+4, i+8 and i+12, in its quarters.
func fourFeatures(rows [4]vec, from, stride reg.Register, read func(at operand.Mem, quarter uint8, row vec)) {
	three, base := GP64(), GP64()
	LEAQ(operand.Mem{Base: stride, Index: stride, Scale: 2}, three)
	MOVQ(from, base)
	for quarter := range uint8(4) {
		at := operand.Mem{Base: base}
		for i, row := range rows {
			switch i {
			case 1, 2:
				at.Index, at.Scale = stride, uint8(i)
			case 3:
				at.Index, at.Scale = three, 1
			}
			read(at, quarter, row)
		}
		if quarter < 3 {
			LEAQ(operand.Mem{Base: base, Index: stride, Scale: 4}, base)
		}
	}
}

// turnQuads returns the four features of all slots, each in a vector, the slots in order.
func turnQuads(r [4]vec) [4]vec {
	pair := func(f func(...operand.Op), a, b vec) vec {
		d := isa.NewVec()
		f(b, a, d)
		return d
	}
	lo, hi := pair(VUNPCKLPS, r[0], r[1]), pair(VUNPCKHPS, r[0], r[1])
	lo2, hi2 := pair(VUNPCKLPS, r[2], r[3]), pair(VUNPCKHPS, r[2], r[3])
	return [4]vec{pair(VUNPCKLPD, lo, lo2), pair(VUNPCKHPD, lo, lo2), pair(VUNPCKLPD, hi, hi2), pair(VUNPCKHPD, hi, hi2)}
}

// takeUpper rounds x to the nearest bfloat16, of two the one of greater magnitude.
func takeUpper(x, dst vec) {
	addInt(bits(0x8000), x, dst)
	and(bits(0xffff0000), dst, dst)
}

// leastTwo looks through the scores of groups of sixteen slots, for each group rows of sixteen numbers, a row for
// each of n codewords (a multiple of four). Scores get the index of their codeword, from the array index, into
// the bits that mask leaves free. Codes are the indices of the least scores; a bit of unsure is set unless the second
// least score of a slot lies more than its limit above the least.
func leastTwo() {
	isa.Kernel("leastTwo", "(codes *int32, unsure *uint16, scores, limit *float32, index *int32, n, groups int, mask uint32)")
	codes, unsure := Load(Param("codes"), GP64()), Load(Param("unsure"), GP64())
	scores, limit := Load(Param("scores"), GP64()), Load(Param("limit"), GP64())
	index, n, groups := Load(Param("index"), GP64()), Load(Param("n"), GP64()), Load(Param("groups"), GP64())
	mask := isa.NewVec()
	VPBROADCASTD(Load(Param("mask"), GP32()), mask)
	end := GP64()
	LEAQ(operand.Mem{Base: index, Index: n, Scale: 4}, end)

	Label("group")
	var least, second [4]vec
	for i := range least {
		least[i], second[i] = load(bits(0x7f7fffff)), load(bits(0x7f7fffff))
	}
	at := GP64()
	MOVQ(index, at)
	Label("words")
	for i := range least {
		v, greater := isa.NewVec(), isa.NewVec()
		VMOVUPS(operand.Mem{Base: scores, Disp: 64 * i}, v)
		VPTERNLOGD_BCST(operand.U8(maskedOr), operand.Mem{Base: at, Disp: 4 * i}, mask, v)
		VMAXPS(v, least[i], greater)
		VMINPS(v, least[i], least[i])
		VMINPS(greater, second[i], second[i])
	}
	ADDQ(operand.I32(256), scores)
	ADDQ(operand.Imm(16), at)
	CMPQ(at, end)
	JL(operand.LabelRef("words"))

	for _, step := range []int{2, 1} {
		for i := range step {
			greater := isa.NewVec()
			VMAXPS(least[i+step], least[i], greater)
			VMINPS(least[i+step], least[i], least[i])
			VMINPS(second[i+step], second[i], second[i])
			VMINPS(greater, second[i], second[i])
		}
	}
	sub(least[0], second[0], second[0])
	sure := compare(isa.IsGreater, operand.Mem{Base: limit}, second[0])
	KNOTW(sure, sure)
	KMOVW(sure, operand.Mem{Base: unsure})
	VPANDND(least[0], mask, least[0])
	VMOVUPS(least[0], operand.Mem{Base: codes})
	ADDQ(operand.Imm(64), codes)
	ADDQ(operand.Imm(64), limit)
	ADDQ(operand.Imm(2), unsure)
	DECQ(groups)
	JNZ(operand.LabelRef("group"))
	isa.Leave()
}
