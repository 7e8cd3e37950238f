//go:build generate

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"calibra/graph/simd/gen/isa"
)

func dirichletUnit() {
	kernel("scoreSums", "(sum, rest, alpha, lg, logp *float32, rows, c int)", scoreSums)
	kernel("columnSums", "(sum, alpha *float32, rows, c int)", columnSums)
	kernel("slopes", "(slope, psi, psiSum, gradient, logp *float32, rows, c int)", slopes)
	kernel("scaleColumns", "(x, gradient *float32, rows, c int)", scaleColumns)
	kernel("outer", "(m, a, b *float32, rows, c int)", outer)
}

// overRows emits a loop over rows that walks pointers by stride, and entry, if any,
// by one float.
func overRows(rows, stride reg.Register, walking []reg.Register, entry reg.Register, body func()) {
	Label("row")
	body()
	for _, p := range walking {
		ADDQ(stride, p)
	}
	if entry != nil {
		ADDQ(operand.Imm(4), entry)
	}
	DECQ(rows)
	JNZ(operand.LabelRef("row"))
}

// together are the rows that replaceRows loads before it stores the first of them. A row is shorter than a vector where
// there are few classes, and a load that a store still under way touches waits for it.
var together = []int{5, 1}

// replaceRows emits a loop over rows whose numbers at p are replaced: load gives what body needs of a row, body the
// numbers to store. Pointers walk on by stride, and entry, if any, by one float.
func replaceRows(rows, stride, p reg.Register, walking []reg.Register, entry reg.Register, store func(vec, reg.Register), load func(p reg.Register) []vec, body func(x []vec) vec) {
	for _, n := range together {
		label, next := fmt.Sprint("rows", n), fmt.Sprint("end", n)
		whileLeft(rows, n, label, next, func() {
			at := GP64()
			MOVQ(p, at)
			var y []vec
			for range n {
				y = append(y, body(load(at)))
				for _, w := range append(walking, at) {
					ADDQ(stride, w)
				}
				if entry != nil {
					ADDQ(operand.Imm(4), entry)
				}
			}
			for _, v := range y {
				store(v, p)
				ADDQ(stride, p)
			}
		})
	}
}

// overColumns emits a loop over the c columns, a vector at a time. body gets a load and a
// store masked to the columns that are left, and the stride of a row in bytes; the
// arrays move on behind it.
func overColumns(arrays []array, body func(load func(reg.Register) vec, store func(vec, reg.Register), stride reg.Register)) {
	c, stride := gp("c"), GP64()
	MOVQ(c, stride)
	SHLQ(operand.Imm(2), stride)
	Label("column")
	m := fullOrTail(c)
	body(func(p reg.Register) vec {
		v := isa.NewVec()
		maskedLoad(m, operand.Mem{Base: p}, v)
		return v
	}, func(v vec, p reg.Register) { maskedStore(m, v, operand.Mem{Base: p}) }, stride)
	for _, a := range arrays {
		ADDQ(operand.Imm(uint64(4*isa.Lanes())), a.ptr)
	}
	SUBQ(operand.Imm(uint64(isa.Lanes())), c)
	JG(operand.LabelRef("column"))
}

// walker returns a pointer that starts where a stands.
func (a array) walker() reg.Register {
	p := GP64()
	MOVQ(a.ptr, p)
	return p
}

func broadcast(p reg.Register) vec {
	v := isa.NewVec()
	VBROADCASTSS(operand.Mem{Base: p}, v)
	return v
}

// fullOrTail returns the mask of the first min(left, lanes) lanes.
func fullOrTail(left reg.Register) mask {
	n, most := GP64(), GP64()
	MOVQ(left, n)
	MOVQ(operand.I32(int32(isa.Lanes())), most)
	CMPQ(n, most)
	CMOVQGT(most, n)
	return tailMask(isa.Lanes())(n)
}

// scoreSums adds to sum the columns' Σ_i α_ij, and to rest their
// Σ_i (α_ij − 1)·logp_i − ln Γ(α_ij).
func scoreSums() {
	sum, rest, alpha, lg := param("sum"), param("rest"), param("alpha"), param("lg")
	overColumns([]array{sum, rest, alpha, lg}, func(load func(reg.Register) vec, store func(vec, reg.Register), stride reg.Register) {
		total, linear, logGamma := load(sum.ptr), load(rest.ptr), zero()
		alphaAt, lgAt := alpha.walker(), lg.walker()
		rows, logp := gp("rows"), gp("logp")
		overRows(rows, stride, []reg.Register{alphaAt, lgAt}, logp, func() {
			a := load(alphaAt)
			add(a, total, total)
			sub(k(1), a, a)
			mulAdd(a, broadcast(logp), linear)
			add(load(lgAt), logGamma, logGamma)
		})
		sub(logGamma, linear, linear)
		store(total, sum.ptr)
		store(linear, rest.ptr)
	})
}

// columnSums adds to sum the columns' Σ_i α_ij.
func columnSums() {
	sum, alpha := param("sum"), param("alpha")
	overColumns([]array{sum, alpha}, func(load func(reg.Register) vec, store func(vec, reg.Register), stride reg.Register) {
		total, at := load(sum.ptr), alpha.walker()
		overRows(gp("rows"), stride, []reg.Register{at}, nil, func() { add(load(at), total, total) })
		store(total, sum.ptr)
	})
}

// slopes replaces σ_ij in slope by g_j·(logp_i − ψ_ij + psiSum_j)·σ_ij.
func slopes() {
	slope, psi, psiSum, g := param("slope"), param("psi"), param("psiSum"), param("gradient")
	overColumns([]array{slope, psi, psiSum, g}, func(load func(reg.Register) vec, store func(vec, reg.Register), stride reg.Register) {
		gj, sj := load(g.ptr), load(psiSum.ptr)
		slopeAt, psiAt := slope.walker(), psi.walker()
		rows, logp := gp("rows"), gp("logp")
		replaceRows(rows, stride, slopeAt, []reg.Register{psiAt}, logp, store, func(at reg.Register) []vec {
			return []vec{broadcast(logp), load(psiAt), load(at)}
		}, func(x []vec) vec {
			sub(x[1], x[0], x[0])
			add(sj, x[0], x[0])
			mul(gj, x[0], x[0])
			mul(x[2], x[0], x[0])
			return x[0]
		})
	})
}

// scaleColumns multiplies x_ij by g_j.
func scaleColumns() {
	x, g := param("x"), param("gradient")
	overColumns([]array{x, g}, func(load func(reg.Register) vec, store func(vec, reg.Register), stride reg.Register) {
		gj := load(g.ptr)
		replaceRows(gp("rows"), stride, x.walker(), nil, nil, store, func(at reg.Register) []vec { return []vec{load(at)} }, func(x []vec) vec {
			mul(gj, x[0], x[0])
			return x[0]
		})
	})
}

// outer sets m_ij = a_i·b_j.
func outer() {
	m, b := param("m"), param("b")
	overColumns([]array{m, b}, func(load func(reg.Register) vec, store func(vec, reg.Register), stride reg.Register) {
		bj, at := load(b.ptr), m.walker()
		rows, a := gp("rows"), gp("a")
		overRows(rows, stride, []reg.Register{at}, a, func() {
			v := broadcast(a)
			mul(bj, v, v)
			store(v, at)
		})
	})
}
