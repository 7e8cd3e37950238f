//go:build generate

package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

func vectorUnit() {
	kernel("dot", "(x, y *float32, n int) float32", dot)
	kernel("dots", "(y, m, b *float32, rows, n int)", dots)
	if isa.Target != isa.NEON {
		kernel("less", "(z, x *float32, c *float64, n int)", less)
		kernel("lessMost", "(z, x *float32, rows, c int)", lessMost)
	}
	kernel("nearestTwo", "(codes *int32, least, second, scores, x, words, half *float32, groups, d int, ahead *float32, lines int) float32", nearestTwo)
	kernel("takeRows", "(y, table *float32, list *int32, count, stride, n, ahead int)", takeRows)
	kernel("addToRows", "(table, x *float32, codes *int32, slots, stride, next, n int)", addToRows)
	kernel("sumRows", "(y, table *float32, codes *int32, slots, stride, next, n int)", sumRows)
	kernel("sumShares", "(y, table *float32, places *int32, shares *float32, count, stride, n int)", sumShares)
	if isa.Target != isa.NEON {
		kernel("sumSharesFour", "(y0, y1, y2, y3, table *float32, p0, p1, p2, p3 *int32, s0, s1, s2, s3 *float32, count, stride, n int)", sumSharesFour)
		kernel("mostCode", "(codes *int32, n int) uint32", mostCode)
	}
	kernel("addShares", "(table, x *float32, places *int32, shares *float32, count, stride, n int)", addShares)
}

// dot returns Σ x·y.
func dot() {
	Store(dotOf(gp("x"), gp("y"), gp("n")).AsX(), ReturnIndex(0))
}

// dots sets number i of y to Σ m·b of row i of m, n numbers each, as dot.
func dots() {
	y, m, rows := gp("y"), gp("m"), gp("rows")
	Label("row")
	n, x, bytes := gp("n"), GP64(), GP64()
	MOVQ(m, x)
	MOVQ(n, bytes)
	SHLQ(operand.Imm(2), bytes)
	ADDQ(bytes, m)
	VMOVSS(dotOf(x, gp("b"), n).AsX(), operand.Mem{Base: y})
	ADDQ(operand.Imm(4), y)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
}

// dotOf is Σ x·y: four running sums over whole groups of four vectors, then
// one vector at a time into the first.
func dotOf(x, y, n reg.Register) vec {
	var s [4]vec
	for i := range s {
		s[i] = zero()
	}
	width := isa.Lanes()
	whileLeft(n, 4*width, "group", "rest", func() {
		for i := range s {
			v := isa.NewVec()
			VMOVUPS(operand.Mem{Base: x, Disp: 4 * width * i}, v)
			VFMADD231PS(operand.Mem{Base: y, Disp: 4 * width * i}, v, s[i])
		}
		ADDQ(operand.I32(16*width), x)
		ADDQ(operand.I32(16*width), y)
	})
	vectors(n, []array{{x}, {y}}, nil, func(v []vec) []vec {
		mulAdd(v[0], v[1], s[0])
		return nil
	})
	add(s[1], s[0], s[0])
	add(s[3], s[2], s[2])
	add(s[2], s[0], s[0])
	return sumLanes(s[0])
}

// less sets z to x − c in float64, rounded once, of n numbers, a multiple of the vector's doubles.
func less() {
	z, x, c, n := gp("z"), gp("x"), gp("c"), gp("n")
	doubles := isa.Lanes() / 2
	Label("loop")
	wide := isa.NewVec()
	VCVTPS2PD(operand.Mem{Base: x}, wide)
	VSUBPD(operand.Mem{Base: c}, wide, wide)
	if isa.Target == isa.AVX512 {
		narrow := YMM()
		VCVTPD2PS(wide, narrow)
		VMOVUPS(narrow, operand.Mem{Base: z})
	} else {
		narrow := XMM()
		VCVTPD2PSY(wide, narrow)
		VMOVUPS(narrow, operand.Mem{Base: z})
	}
	ADDQ(operand.U32(uint32(4*doubles)), z)
	ADDQ(operand.U32(uint32(4*doubles)), x)
	ADDQ(operand.U32(uint32(8*doubles)), c)
	SUBQ(operand.U32(uint32(doubles)), n)
	JNZ(operand.LabelRef("loop"))
}

// lessMost sets z to x less the greatest of its row, of rows of c numbers.
func lessMost() {
	z, x, rows, c := gp("z"), gp("x"), gp("rows"), gp("c")
	bytes := 4 * isa.Lanes()
	whole, rest := GP64(), GP64() // bytes of a row in whole vectors, numbers behind them
	MOVQ(c, rest)
	ANDQ(operand.Imm(uint64(isa.Lanes()-1)), rest)
	MOVQ(c, whole)
	SUBQ(rest, whole)
	SHLQ(operand.Imm(2), whole)
	SHLQ(operand.Imm(2), c)
	m, lowest := tailMask(isa.Lanes())(rest), load(k(math.Inf(-1)))
	each := func(label string, body func(at reg.Register)) {
		at := GP64()
		XORQ(at, at)
		Label(label)
		CMPQ(at, whole)
		JGE(operand.LabelRef(label + "Rest"))
		body(at)
		ADDQ(operand.Imm(uint64(bytes)), at)
		JMP(operand.LabelRef(label))
		Label(label + "Rest")
	}
	tail := func(of reg.Register) operand.Mem { return operand.Mem{Base: of, Index: whole, Scale: 1} }

	Label("row")
	most, last, y := copyOf(lowest), isa.NewVec(), isa.NewVec()
	each("most", func(at reg.Register) { greater(operand.Mem{Base: x, Index: at, Scale: 1}, most, most) })
	maskedLoad(m, tail(x), last)
	end := copyOf(lowest)
	choose(m, last, end)
	greater(end, most, most)
	acrossLanes(most, VMAXPS)
	each("less", func(at reg.Register) {
		VMOVUPS(operand.Mem{Base: x, Index: at, Scale: 1}, y)
		sub(most, y, y)
		VMOVUPS(y, operand.Mem{Base: z, Index: at, Scale: 1})
	})
	sub(most, last, last)
	maskedStore(m, last, tail(z))
	ADDQ(c, x)
	ADDQ(c, z)
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
}

// takeRows copies n columns of the rows of a table that a list names; rows are stride bytes long, there and in y.
// Meanwhile the row that the list names so far ahead is fetched, if it goes so far.
func takeRows() {
	y, table := gp("y"), gp("table")
	list, count := gp("list"), gp("count")
	stride, n := gp("stride"), gp("n")
	ahead := gp("ahead")
	Label("row")
	if isa.Target != isa.NEON {
		CMPQ(count, ahead)
		JLE(operand.LabelRef("fetched"))
		row, lines := GP64(), GP64()
		MOVLQSX(operand.Mem{Base: list, Index: ahead, Scale: 4}, row)
		IMULQ(stride, row)
		ADDQ(table, row)
		MOVQ(stride, lines)
		ADDQ(operand.Imm(63), lines)
		SHRQ(operand.Imm(6), lines)
		fetch(row, lines)
	}
	from, to, left := GP64(), GP64(), GP64()
	MOVLQSX(operand.Mem{Base: list}, from)
	IMULQ(stride, from)
	ADDQ(table, from)
	MOVQ(y, to)
	MOVQ(n, left)
	vectors(left, []array{{from}}, []array{{to}}, func(v []vec) []vec { return v })
	ADDQ(stride, y)
	ADDQ(operand.Imm(4), list)
	DECQ(count)
	JNZ(operand.LabelRef("row"))
}

// addToRows adds n columns of x to the row of each slot's table that its code names; rows are stride bytes
// long, the table of a slot begins next bytes after that of the slot before.
func addToRows() {
	x := gp("x")
	n := gp("n")
	eachSlot("slot", gp("table"), gp("codes"), func(sum reg.Register) {
		from, left := GP64(), GP64()
		MOVQ(x, from)
		MOVQ(n, left)
		vectors(left, []array{{sum}, {from}}, []array{{sum}}, func(v []vec) []vec {
			add(v[1], v[0], v[0])
			return v[:1]
		})
	})
}

// loader loads vector i of a row, whole or in part.
type loader func(i int, row reg.Register) vec

// sumRows sets n columns of y to the sum, over the slots, of the row of the slot's table
// that its code names; rows are stride bytes long, the table of a slot begins next bytes
// after that of the slot before.
func sumRows() {
	y, table := param("y"), param("table")
	codes := gp("codes")
	sumColumns(y, table, "slot", false, func(label string, s []vec, load loader) {
		first, code := GP64(), GP64()
		MOVQ(table.ptr, first)
		MOVQ(codes, code)
		eachSlot(label, first, code, func(row reg.Register) {
			for i := range s {
				add(load(i, row), s[i], s[i])
			}
		})
	})
}

// sumShares adds to n columns of y the rows of a table that places name, each times its share; rows are
// stride bytes long.
func sumShares() {
	y, table := param("y"), param("table")
	sumColumns(y, table, "place", true, func(label string, s []vec, load loader) {
		eachPlace(label, table.ptr, func(row reg.Register, share vec) {
			for i := range s {
				mulAdd(load(i, row), share, s[i])
			}
		})
	})
}

// sumColumns ends a kernel that sets n columns of y to sums of rows of a table, which begin with y where they go
// on. Four vectors of sums stay in registers; each emits the loop that adds the rows to some of them.
func sumColumns(y, table array, what string, goOn bool, each func(label string, s []vec, load loader)) {
	n := gp("n")
	width := isa.Lanes()
	tail := tailMask(width)
	sums := func(label string, count int, load loader) (s []vec) {
		for i := range count {
			if goOn {
				s = append(s, load(i, y.ptr))
			} else {
				s = append(s, zero())
			}
		}
		each(label+what, s, load)
		return s
	}
	for _, count := range []int{4, 2, 1} {
		label, next := fmt.Sprint("by", count), fmt.Sprint("below", count)
		whole := func(i int, row reg.Register) vec {
			v := isa.NewVec()
			VMOVUPS(operand.Mem{Base: row, Disp: 4 * width * i}, v)
			return v
		}
		whileLeft(n, count*width, label, next, func() {
			for i, s := range sums(label, count, whole) {
				VMOVUPS(s, operand.Mem{Base: y.ptr, Disp: 4 * width * i})
			}
			advance(4*width*count, []array{y, table})
		})
	}
	TESTQ(n, n)
	JLE(operand.LabelRef("done"))
	m := tail(n)
	s := sums("part", 1, func(_ int, row reg.Register) vec {
		v := isa.NewVec()
		maskedLoad(m, operand.Mem{Base: row}, v)
		return v
	})
	maskedStore(m, s[0], operand.Mem{Base: y.ptr})
	Label("done")
}

// sumSharesFour adds to n columns each of y0 … y3 as sumShares does, by count places each. What one of them waits for,
// the next does not.
func sumSharesFour() {
	table, stride, n, column := param("table"), gp("stride"), gp("n"), GP64()
	XORQ(column, column) // in bytes
	var places, shares [4]reg.Register
	for l := range places {
		places[l], shares[l] = gp(fmt.Sprint("p", l)), gp(fmt.Sprint("s", l))
	}
	overVectors(n, []array{table, {column}}, func(label string, load func(from operand.Mem, to vec), store func(from vec, to operand.Mem)) {
		var s [4]vec
		row := GP64()
		y := func(l int) operand.Mem {
			MOVQ(isa.ParamAddr(fmt.Sprint("y", l)), row)
			return operand.Mem{Base: row, Index: column, Scale: 1}
		}
		for l := range s {
			s[l] = isa.NewVec()
			load(y(l), s[l])
		}
		at := GP64()
		XORQ(at, at)
		Label(label)
		for l := range s {
			v, share := isa.NewVec(), isa.NewVec()
			MOVLQSX(operand.Mem{Base: places[l], Index: at, Scale: 4}, row)
			IMULQ(stride, row)
			VBROADCASTSS(operand.Mem{Base: shares[l], Index: at, Scale: 4}, share)
			load(operand.Mem{Base: table.ptr, Index: row, Scale: 1}, v)
			mulAdd(v, share, s[l])
		}
		INCQ(at)
		CMPQ(at, isa.ParamAddr("count"))
		JL(operand.LabelRef(label))
		for l := range s {
			store(s[l], y(l))
		}
	})
}

// mostCode is the greatest of n codes as if they were unsigned, n a multiple of the lanes.
func mostCode() {
	codes, n := gp("codes"), gp("n")
	most := zero()
	Label("codes")
	VPMAXUD(operand.Mem{Base: codes}, most, most)
	ADDQ(operand.Imm(uint64(4*isa.Lanes())), codes)
	SUBQ(operand.Imm(uint64(isa.Lanes())), n)
	JNZ(operand.LabelRef("codes"))
	acrossLanes(most, VPMAXUD)
	code := GP32()
	VMOVD(most.AsX(), code)
	Store(code, ReturnIndex(0))
}

// addShares adds n columns of x, times their shares, to the rows of a table that places name. A
// vector of x stays in a register.
func addShares() {
	table, x := param("table"), param("x")
	n := gp("n")
	overVectors(n, []array{x, table}, func(label string, load func(from operand.Mem, to vec), store func(from vec, to operand.Mem)) {
		v := isa.NewVec()
		load(operand.Mem{Base: x.ptr}, v)
		eachPlace(label, table.ptr, func(row reg.Register, share vec) {
			sum, at := isa.NewVec(), operand.Mem{Base: row}
			load(at, sum)
			mulAdd(v, share, sum)
			store(sum, at)
		})
	})
}

// eachPlace emits a loop over count places: body gets the row of the table that the place names,
// and its share in all lanes.
func eachPlace(label string, table reg.Register, body func(row reg.Register, share vec)) {
	places, shares := gp("places"), gp("shares")
	count, stride := gp("count"), gp("stride")
	Label(label)
	row := GP64()
	MOVLQSX(operand.Mem{Base: places}, row)
	IMULQ(stride, row)
	ADDQ(table, row)
	share := isa.NewVec()
	VBROADCASTSS(operand.Mem{Base: shares}, share)
	body(row, share)
	ADDQ(operand.Imm(4), places)
	ADDQ(operand.Imm(4), shares)
	DECQ(count)
	JNZ(operand.LabelRef(label))
}

// eachSlot emits a loop over the slots: body gets the row that the slot's code names in the
// table that stands there, and both move on.
func eachSlot(label string, table, codes reg.Register, body func(row reg.Register)) {
	slots, stride, next := gp("slots"), gp("stride"), gp("next")
	Label(label)
	row := GP64()
	MOVLQSX(operand.Mem{Base: codes}, row)
	IMULQ(stride, row)
	ADDQ(table, row)
	body(row)
	ADDQ(operand.Imm(4), codes)
	ADDQ(next, table)
	DECQ(slots)
	JNZ(operand.LabelRef(label))
}

// acrossLanes combines all lanes of v with op into every lane.
func acrossLanes(v vec, op func(...operand.Op)) {
	t := isa.NewVec()
	combine := func() { op(t, v, v) }
	switch isa.Target {
	case isa.AVX512:
		VSHUFF64X2(operand.U8(0x4e), v, v, t)
		combine()
		VSHUFF64X2(operand.U8(0xb1), v, v, t)
		combine()
	case isa.AVX2:
		VPERM2F128(operand.U8(1), v, v, t)
		combine()
	}
	VPERMILPS(operand.U8(0x4e), v, t)
	combine()
	VPERMILPS(operand.U8(0xb1), v, t)
	combine()
}
