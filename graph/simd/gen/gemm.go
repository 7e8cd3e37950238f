//go:build generate

package main

import (
	"fmt"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

// double selects float64 for the product kernels of this run.
var double bool

func sgemmUnit() { gemmUnit() }

func dgemmUnit() {
	double = true
	gemmUnit()
}

func gemmUnit() {
	for _, vectorsWide := range []int{2, 1} {
		for _, byRows := range []bool{true, false} {
			panel(vectorsWide, byRows)
		}
	}
	packRows()
	packTransposed()
}

// width is the number of entries in a vector, size that of bytes in an entry.
func width() int {
	if double {
		return isa.Lanes() / 2
	}
	return isa.Lanes()
}

func size() int {
	if double {
		return 8
	}
	return 4
}

// typed puts the entry type into a signature and the BLAS letter before a name.
func typed(name, signature string) {
	if double {
		isa.Kernel("d"+name, strings.ReplaceAll(signature, "float32", "float64"))
	} else {
		isa.Kernel("s"+name, signature)
	}
}

// of picks the instruction for the entry type.
func of(single, other func(...operand.Op)) func(...operand.Op) {
	if double {
		return other
	}
	return single
}

// heights lists the rows of C that are held in registers at once, tallest first.
// The tallest tile leaves two registers for a row of B and two for entries of A; with
// NEON by rows, one for each row of A.
func heights(byRows bool) []int {
	switch {
	case isa.Target == isa.AVX2:
		return []int{6, 4, 2, 1}
	case isa.Target == isa.NEON && byRows:
		return []int{8, 4, 2, 1}
	}
	return []int{12, 8, 4, 2, 1}
}

// panel emits
//
//	C[i, j] = α·Σ_l A[i, l]·B[l, j]  (accumulate = 0), or adds it to C (1)
//
// for m rows i and n columns j, n at most the width of wide vectors. Row l of B
// starts l·ldb bytes into b and is a full panel wide. A[i, l] lies i·lda + 4l bytes
// into a where A is walked by rows, 4i + l·lda where it is walked by columns.
//
// The sum over l runs upward in one accumulator for each entry of C, whatever the
// height of the tile: an entry's bits do not depend on how C is cut into tiles.
func panel(wide int, byRows bool) {
	name := fmt.Sprintf("gemmColumns%d", wide)
	if byRows {
		name = fmt.Sprintf("gemmRows%d", wide)
	}
	typed(name, "(m, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc, n int, alpha float32, accumulate int)")
	p := &panelState{wide: wide, byRows: byRows, m: gp("m"), a: gp("a"), lda: gp("lda"), ldb: gp("ldb"), c: gp("c")}
	if isa.Target == isa.AVX512 {
		n := gp("n")
		SUBQ(operand.Imm(uint64(width()*(wide-1))), n)
		p.mask = tailMask(width())(n)
	}
	for _, h := range heights(byRows) {
		p.tiles(h)
	}
	isa.Leave()
}

type panelState struct {
	wide         int
	byRows       bool
	m, a, lda, c reg.Register
	ldb          reg.Register
	mask         reg.Register
}

// tiles emits the loop over tiles of h rows.
func (p *panelState) tiles(h int) {
	label := func(s string) string { return fmt.Sprintf("%s%d", s, h) }
	next := label("end")
	Label(label("tile"))
	CMPQ(p.m, operand.I32(h))
	JL(operand.LabelRef(next))

	acc := make([][]vec, h)
	for i := range acc {
		for range p.wide {
			acc[i] = append(acc[i], zero())
		}
	}
	read := p.broadcasts
	if isa.Target == isa.NEON {
		read = p.laneReads
	}
	a := read(h)
	b := gp("b")
	step := func(l int) {
		row := make([]vec, p.wide)
		for v := range row {
			row[v] = isa.NewVec()
			VMOVUPS(operand.Mem{Base: b, Disp: size() * width() * v}, row[v])
		}
		ADDQ(p.ldb, b)
		for i := range h {
			a.multiply(i, l, row, acc[i])
		}
		a.step()
	}
	k := GP64()
	Load(Param("k"), k)
	SUBQ(operand.I32(a.terms), k)
	JL(operand.LabelRef(label("rest")))
	Label(label("loop"))
	a.begin(a.terms)
	for l := range a.terms {
		step(l)
	}
	a.advance(a.terms)
	SUBQ(operand.I32(a.terms), k)
	JGE(operand.LabelRef(label("loop")))
	Label(label("rest"))
	ADDQ(operand.I32(a.terms), k)
	JLE(operand.LabelRef(label("store")))
	Label(label("one"))
	a.begin(1)
	step(0)
	a.advance(1)
	DECQ(k)
	JNZ(operand.LabelRef(label("one")))

	Label(label("store"))
	p.store(acc, label)
	if p.byRows {
		t := GP64()
		IMUL3Q(operand.I32(h), p.lda, t)
		ADDQ(t, p.a)
	} else {
		ADDQ(operand.I32(size()*h), p.a)
	}
	SUBQ(operand.I32(h), p.m)
	JMP(operand.LabelRef(label("tile")))
	Label(next)
}

// entriesOfA is how a tile comes by its entries of A.
type entriesOfA struct {
	terms    int                            // l that the loop takes at a time
	begin    func(terms int)                // before so many terms
	multiply func(i, l int, row, acc []vec) // acc += A[i, l]·row, l counted from begin
	step     func()                         // after each term
	advance  func(terms int)                // after so many terms
}

// broadcasts reads each entry into all lanes.
func (p *panelState) broadcasts(h int) entriesOfA {
	// Bases three rows apart; within them 0, 1 and 2 times lda.
	var base []reg.GPVirtual
	if p.byRows {
		three := GP64()
		LEAQ(operand.Mem{Base: p.lda, Index: p.lda, Scale: 2}, three)
		for i := 0; i < h; i += 3 {
			b := GP64()
			if i == 0 {
				MOVQ(p.a, b)
			} else {
				LEAQ(operand.Mem{Base: base[len(base)-1], Index: three, Scale: 1}, b)
			}
			base = append(base, b)
		}
	} else {
		b := GP64()
		MOVQ(p.a, b)
		base = append(base, b)
	}
	entry := func(i, l int) operand.Mem {
		if !p.byRows {
			return operand.Mem{Base: base[0], Disp: size() * i}
		}
		m := operand.Mem{Base: base[i/3], Disp: size() * l}
		if i%3 > 0 {
			m.Index, m.Scale = p.lda, uint8(i%3)
		}
		return m
	}
	return entriesOfA{
		terms: 4,
		begin: func(int) {},
		multiply: func(i, l int, row, acc []vec) {
			x := isa.NewVec()
			of(VBROADCASTSS, VBROADCASTSD)(entry(i, l), x)
			for v := range row {
				of(VFMADD231PS, VFMADD231PD)(row[v], x, acc[v])
			}
		},
		step: func() {
			if !p.byRows {
				ADDQ(p.lda, base[0])
			}
		},
		advance: func(terms int) {
			if p.byRows {
				for _, r := range base {
					ADDQ(operand.I32(size()*terms), r)
				}
			}
		},
	}
}

// laneReads reads vectors of A, along its rows or across them, and multiplies by
// their lanes.
func (p *panelState) laneReads(h int) entriesOfA {
	base := GP64()
	MOVQ(p.a, base)
	x := make([]vec, h)
	if !p.byRows {
		return entriesOfA{
			terms: 4,
			begin: func(int) {},
			multiply: func(i, _ int, row, acc []vec) {
				first := i / width() * width()
				if i == first {
					x[i] = loadEntries(min(width(), h-i), operand.Mem{Base: base, Disp: size() * i})
				}
				multiplyByLane(i-first, x[first], row, acc)
			},
			step:    func() { ADDQ(p.lda, base) },
			advance: func(int) {},
		}
	}
	return entriesOfA{
		terms: width(),
		begin: func(terms int) {
			at := GP64()
			MOVQ(base, at)
			for i := range x {
				x[i] = loadEntries(terms, operand.Mem{Base: at})
				if i < h-1 {
					ADDQ(p.lda, at)
				}
			}
		},
		multiply: func(i, l int, row, acc []vec) { multiplyByLane(l, x[i], row, acc) },
		step:     func() {},
		advance:  func(terms int) { ADDQ(operand.I32(size()*terms), base) },
	}
}

// loadEntries loads n entries, a power of two.
func loadEntries(n int, from operand.Mem) vec {
	v := isa.NewVec()
	switch n * size() {
	case 4:
		VMOVSS(from, v)
	case 8:
		VMOVSD(from, v)
	default:
		VMOVUPS(from, v)
	}
	return v
}

// multiplyByLane adds x[lane]·row to acc.
func multiplyByLane(lane int, x vec, row, acc []vec) {
	for v := range row {
		isa.MultiplyLane(size(), lane, x, row[v], acc[v])
	}
}

// store writes the accumulators to C, masked to n columns, and moves c down.
func (p *panelState) store(acc [][]vec, label func(string) string) {
	alpha := broadcastParam("alpha")
	ldc := gp("ldc")
	accumulate := gp("accumulate")
	m := p.mask
	if isa.Target != isa.AVX512 {
		n := gp("n")
		SUBQ(operand.Imm(uint64(width()*(p.wide-1))), n)
		m = tailMask(width())(n)
	}
	TESTQ(accumulate, accumulate)
	JNZ(operand.LabelRef(label("add")))
	walk := func(each func(v vec, last bool, at operand.Mem)) {
		for i := range acc {
			for v := range acc[i] {
				each(acc[i][v], v == p.wide-1, operand.Mem{Base: p.c, Disp: size() * width() * v})
			}
			ADDQ(ldc, p.c)
		}
	}
	write := func(v vec, last bool, at operand.Mem) {
		if last {
			maskedStore(m, v, at)
		} else {
			VMOVUPS(v, at)
		}
	}
	walk(func(v vec, last bool, at operand.Mem) {
		of(VMULPS, VMULPD)(alpha, v, v)
		write(v, last, at)
	})
	JMP(operand.LabelRef(label("stored")))
	Label(label("add"))
	walk(func(v vec, last bool, at operand.Mem) {
		old := isa.NewVec()
		if last {
			maskedLoad(m, at, old)
		} else {
			VMOVUPS(at, old)
		}
		of(VFMADD231PS, VFMADD231PD)(alpha, v, old)
		write(old, last, at)
	})
	Label(label("stored"))
}

// packRows copies k rows of n floats, lds bytes apart, into rows of wide vectors
// filled up with zeros.
func packRows() {
	for _, wide := range []int{2, 1} {
		typed(fmt.Sprintf("packRows%d", wide), "(dst, src *float32, lds, k, n int)")
		dst, src := param("dst"), param("src")
		lds, k, n := gp("lds"), gp("k"), gp("n")
		SUBQ(operand.Imm(uint64(width()*(wide-1))), n)
		m := tailMask(width())(n)
		Label("row")
		for v := range wide {
			x := isa.NewVec()
			at := operand.Mem{Base: src.ptr, Disp: size() * width() * v}
			if v == wide-1 {
				maskedLoad(m, at, x)
			} else {
				VMOVUPS(at, x)
			}
			VMOVUPS(x, operand.Mem{Base: dst.ptr, Disp: size() * width() * v})
		}
		ADDQ(lds, src.ptr)
		ADDQ(operand.I32(size()*width()*wide), dst.ptr)
		DECQ(k)
		JNZ(operand.LabelRef("row"))
		isa.Leave()
	}
}

// packTransposed writes the transpose of a block of one vector's lanes of rows, lds
// bytes apart, and k columns, k a multiple of the lanes, into k rows ldd bytes apart.
func packTransposed() {
	typed("packTransposed", "(dst *float32, ldd int, src *float32, lds, k int)")
	dst, src := param("dst"), param("src")
	ldd, lds, k := gp("ldd"), gp("lds"), gp("k")
	n := width()
	Label("block")
	rows := make([]vec, n)
	from := GP64()
	MOVQ(src.ptr, from)
	for i := range rows {
		rows[i] = isa.NewVec()
		VMOVUPS(operand.Mem{Base: from}, rows[i])
		ADDQ(lds, from)
	}
	for _, column := range transpose(rows) {
		VMOVUPS(column, operand.Mem{Base: dst.ptr})
		ADDQ(ldd, dst.ptr)
	}
	ADDQ(operand.I32(size()*n), src.ptr)
	SUBQ(operand.I32(n), k)
	JG(operand.LabelRef("block"))
	isa.Leave()
}

// transpose returns the columns of the square that the rows form.
func transpose(rows []vec) []vec {
	pair := func(f func(...operand.Op), a, b vec) vec {
		d := isa.NewVec()
		f(b, a, d) // Go order: the second source first
		return d
	}
	var x []vec
	block := 16 / size() // entries of a 128-bit lane, within which blocks are transposed
	for i := 0; i < len(rows); i += block {
		r := rows[i : i+block]
		if double {
			x = append(x, pair(VUNPCKLPD, r[0], r[1]), pair(VUNPCKHPD, r[0], r[1]))
			continue
		}
		lo, hi := pair(VUNPCKLPS, r[0], r[1]), pair(VUNPCKHPS, r[0], r[1])
		lo2, hi2 := pair(VUNPCKLPS, r[2], r[3]), pair(VUNPCKHPS, r[2], r[3])
		x = append(x, pair(VUNPCKLPD, lo, lo2), pair(VUNPCKHPD, lo, lo2), pair(VUNPCKLPD, hi, hi2), pair(VUNPCKHPD, hi, hi2))
	}
	if isa.Target == isa.NEON {
		return x
	}
	// x[b·g+c] holds, in 128-bit lane q, column b·q+c of the b rows from b·g on.
	columns := make([]vec, len(rows))
	for c := range block {
		to := func(g int) *vec { return &columns[block*g+c] }
		from := func(g int) vec { return x[block*g+c] }
		if isa.Target == isa.AVX2 {
			*to(0), *to(1) = YMM(), YMM()
			VPERM2F128(operand.U8(0x20), from(1), from(0), *to(0))
			VPERM2F128(operand.U8(0x31), from(1), from(0), *to(1))
			continue
		}
		even01, odd01 := lanes(0x88, from(0), from(1)), lanes(0xdd, from(0), from(1)) // lanes 0, 2 and 1, 3 of each
		even23, odd23 := lanes(0x88, from(2), from(3)), lanes(0xdd, from(2), from(3))
		*to(0), *to(2) = lanes(0x88, even01, even23), lanes(0xdd, even01, even23)
		*to(1), *to(3) = lanes(0x88, odd01, odd23), lanes(0xdd, odd01, odd23)
	}
	return columns
}

// lanes takes two 128-bit lanes of each of two vectors of AVX-512.
func lanes(which uint8, a, b vec) vec {
	d := isa.NewVec()
	of(VSHUFF32X4, VSHUFF64X2)(operand.U8(which), b, a, d)
	return d
}
