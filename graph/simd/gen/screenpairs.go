//go:build generate

package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

// screenPairsUnit is the search for nearest codewords among pairs of 16-bit integers, for AVX-512 with VNNI alone.
func screenPairsUnit() {
	each("plus", "(z, x, y *float32, n int)", "", "x y", "z", func(_, x []vec) []vec {
		add(x[1], x[0], x[0])
		return x[:1]
	})
	kernel("quantizeSlots", "(pairs *uint32, rough *float32, x **float32, d, groups int, most, square, step float32)",
		quantizeSlots)
	kernel("nearestPairs", "(codes *int32, unsure *uint16, x, words, index *uint32, groups, depth int, "+
		"mask, limit uint32, ahead **float32, lines int)", nearestPairs)
}

// quantizeSlots rounds groups of sixteen slots, d numbers each, which lie one after the other from an address of x on,
// to integers σx, with a scale for each slot:
//
//	f = ⌊most / max(|x|, long)⌋,  σ = f·step,
//
// f being 0 where |x|² is not finite, and 1/max of 14 digits; square is long². To pairs it writes rows of 128 bytes, in
// each a pair of 16 bits for each slot of a group, those of the next group behind them: f and ⌊f/2⁸⌋ in row 0, and in
// the 2·⌈d/4⌉ that follow two numbers each, zeros behind the last. Meanwhile rough has the scales of a group and its
// slots. What one group waits for, the next does not: all are measured before the first is rounded.
func quantizeSlots() {
	pairs, rough, x := gp("pairs"), gp("rough"), gp("x")
	stride, groups := gp("d"), gp("groups")
	most, square, step := broadcastParam("most"), broadcastParam("square"), broadcastParam("step")
	part := tailMask(4)(lastOf(stride))
	SHLQ(operand.U8(2), stride)
	to, at := GP64(), GP64()
	MOVQ(pairs, to)
	MOVQ(rough, at)
	eachGroup := func(label string, body func()) {
		left := GP64()
		MOVQ(groups, left)
		Label(label)
		body()
		DECQ(left)
		JNZ(operand.LabelRef(label))
	}
	eachGroup("measure", func() { measureSlots(to, at, x, stride, part, most, square, step) })
	eachGroup("round", func() { roundSlots(pairs, rough, to, stride) })
}

// measureSlots writes the first row of a group's pairs, and its scales and slots.
func measureSlots(to, at, x, stride, part reg.Register, most, square, step vec) {
	var squares [4]vec
	for i := range squares {
		squares[i] = zero()
	}
	scales, from, end := GP64(), GP64(), GP64()
	MOVQ(at, scales)
	MOVQ(operand.Mem{Base: x}, from)
	LEAQ(operand.Mem{Base: from, Index: stride, Scale: 1}, end)
	Label("features")
	for i, row := range nextFeatures(from, stride, end, part) {
		mulAdd(row, row, squares[i])
		VMOVUPS(row, operand.Mem{Base: at, Disp: 64 * (1 + i)})
	}
	ADDQ(operand.Imm(16), from)
	ADDQ(operand.I32(256), at)
	CMPQ(from, end)
	JL(operand.LabelRef("features"))

	parts := turnQuads(squares)
	length, f, pair := parts[0], isa.NewVec(), isa.NewVec()
	add(parts[1], length, length)
	add(parts[3], parts[2], parts[2])
	add(parts[2], length, length)
	greater(length, square, length)
	VRSQRT14PS(length, length)
	mul(most, length, length)
	VCVTTPS2DQ(length, f)
	VPMAXSD(zero(), f, f)
	VCVTDQ2PS(f, length)
	mul(step, length, length)
	VMOVUPS(length, operand.Mem{Base: scales})
	VPSLLD(operand.U8(8), f, pair)
	VPTERNLOGD(operand.U8(maskedOr), f, load(bits(0xffff0000)), pair)
	VMOVUPS(pair, operand.Mem{Base: to})
	ADDQ(operand.Imm(64), at)
	ADDQ(operand.Imm(64), to)
	ADDQ(operand.Imm(8), x)
}

// roundSlots writes the other rows of a group's pairs.
func roundSlots(pairs, rough, to, stride reg.Register) {
	var scales, rows [4]vec
	for i := range scales {
		scales[i], rows[i] = isa.NewVec(), isa.NewVec()
		VPERMILPS(operand.U8(0x55*i), operand.Mem{Base: rough}, scales[i])
	}
	left := GP64()
	MOVQ(pairs, to)
	MOVQ(stride, left)
	Label("numbers")
	for i, row := range rows {
		VMULPS(operand.Mem{Base: rough, Disp: 64 * (1 + i)}, scales[i], row)
		VCVTPS2DQ(row, row)
	}
	VPACKSSDW(rows[1], rows[0], rows[0])
	VPACKSSDW(rows[3], rows[2], rows[2])
	for i, which := range []operand.U8{0x88, 0xdd} { // the first pairs and the second ones of four slots
		VSHUFPS(which, rows[2], rows[0], rows[1])
		VMOVUPS(rows[1], operand.Mem{Base: to, Disp: 128 * (1 + i)})
	}
	ADDQ(operand.I32(256), rough)
	ADDQ(operand.I32(256), to)
	SUBQ(operand.Imm(16), left)
	JG(operand.LabelRef("numbers"))
	ADDQ(operand.Imm(64), rough)
	ADDQ(operand.Imm(64), pairs)
}

// nearestPairs scores 32 slots, in rows of quantizeSlots, against groups of eight codewords, which have rows as deep:
// the sum of products, whose last digits, those that mask leaves free, become the codeword's of index. Codes are those
// digits of the greatest scores; a bit of unsure is set unless the second greatest score of a slot lies more than
// limit below, and where the first pair of a slot is 0. Meanwhile so many lines from each of the addresses at
// ahead on are fetched for each group: two that are needed next, and into the second cache those needed then.
func nearestPairs() {
	const h = 8
	words, index, groups := gp("words"), gp("index"), gp("groups")
	var most, second [2]vec
	for v := range most {
		most[v], second[v] = load(bits(1<<31)), load(bits(1<<31))
	}
	mask := broadcastParam("mask")
	var ahead [4]reg.Register
	for i := range ahead {
		ahead[i] = GP64()
	}
	list := gp("ahead")
	for i := range ahead {
		MOVQ(operand.Mem{Base: list, Disp: 8 * i}, ahead[i])
	}

	Label("group")
	acc := make([][2]vec, h)
	for i := range acc {
		acc[i] = [2]vec{zero(), zero()}
	}
	fetchPairs(ahead)
	x, depth := gp("x"), gp("depth")
	Label("depth")
	var row [2]vec
	for v := range row {
		row[v] = isa.NewVec()
		VMOVUPS(operand.Mem{Base: x, Disp: 64 * v}, row[v])
	}
	for i := range acc {
		w := isa.NewVec()
		VPBROADCASTD(operand.Mem{Base: words, Disp: 4 * i}, w)
		for v := range row {
			VPDPWSSD(w, row[v], acc[i][v])
		}
	}
	ADDQ(operand.I32(128), x)
	ADDQ(operand.Imm(4*h), words)
	DECQ(depth)
	JNZ(operand.LabelRef("depth"))

	for i := range acc {
		for v, s := range acc[i] {
			lesser := isa.NewVec()
			VPTERNLOGD_BCST(operand.U8(maskedOr), operand.Mem{Base: index, Disp: 4 * i}, mask, s)
			VPMINSD(s, most[v], lesser)
			VPMAXSD(s, most[v], most[v])
			VPMAXSD(lesser, second[v], second[v])
		}
	}
	ADDQ(operand.Imm(4*h), index)
	DECQ(groups)
	JNZ(operand.LabelRef("group"))

	bestPairs(mask, most, second)
}

// bestPairs writes codes and unsure by the two greatest scores of each slot.
func bestPairs(mask vec, most, second [2]vec) {
	first, codes, unsure := gp("x"), gp("codes"), gp("unsure")
	limit := broadcastParam("limit")
	for v := range most {
		near, none := K(), K()
		pair := isa.NewVec()
		VMOVUPS(operand.Mem{Base: first, Disp: 64 * v}, pair)
		VPTESTNMD(pair, pair, none)
		addInt(limit, second[v], second[v])
		const notAbove = 2
		VPCMPD(operand.U8(notAbove), second[v], most[v], near)
		KORW(none, near, near)
		KMOVW(near, operand.Mem{Base: unsure, Disp: 2 * v})
		VPANDND(most[v], mask, most[v])
		VMOVUPS(most[v], operand.Mem{Base: codes, Disp: 64 * v})
	}
}

// fetchPairs fetches lines from each of the addresses on, and moves these on.
func fetchPairs(ahead [4]reg.Register) {
	lines := gp("lines")
	Label("fetch")
	for i, a := range ahead {
		if line := (operand.Mem{Base: a}); i < 2 {
			PREFETCHT0(line)
		} else {
			PREFETCHT1(line)
		}
		ADDQ(operand.Imm(64), a)
	}
	DECQ(lines)
	JNZ(operand.LabelRef("fetch"))
}
