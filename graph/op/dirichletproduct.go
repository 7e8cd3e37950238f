package op

import (
	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// The form A = N·F of a batch, N the codeword masses (B×K) and F the table of outer products
// (K×C²), has B·C² entries: half a gigabyte for 128 rows of a thousand classes. Beyond
// largestForm entries [FuseHere] has scores and slopes made of N and F directly, some rows of all
// B matrices at a time. Each entry is the same sum as before, and so are the scores in
// float32, to the bit.

// largestForm is the most entries of A that stand in memory at once, and formPart about how
// many do where they would be more.
const (
	largestForm = 1 << 25
	formPart    = 1 << 20
)

// fuseProduct is [FuseHere] for the scores and slopes of a product; nil where there is nothing to
// fuse.
func fuseProduct(k Kernel, inputs []*gorgonia.Node) (Kernel, []*gorgonia.Node) {
	switch k := k.(type) {
	case DirichletOp:
		if mass, table, ok := largeProduct(inputs[0]); ok {
			return ScoresOfProductOp(k), []*gorgonia.Node{mass, table, inputs[1]}
		}
	case DirichletByInputOp:
		if mass, table, ok := largeProduct(inputs[0]); ok {
			return ProductByInputOp(k), []*gorgonia.Node{mass, table, inputs[1]}
		}
	case MatMulOp: // Nᵀ·∂A and ∂A·Fᵀ
		if k == (MatMulOp{blas.Trans, blas.NoTrans}) {
			if in, ok := largeSlopes(inputs[1]); ok && in[0] == inputs[0] {
				return ProductByTableOp{}, in
			}
		}
		if k == (MatMulOp{blas.NoTrans, blas.Trans}) {
			if in, ok := largeSlopes(inputs[0]); ok && in[1] == inputs[1] {
				return ProductByMassOp{}, in
			}
		}
	}
	return nil, nil
}

// largeProduct tells whether A is a product that is better not made, and of what.
func largeProduct(a *gorgonia.Node) (mass, table *gorgonia.Node, ok bool) {
	o, ours := a.Op().(Op)
	if !ours || o.Kernel != Kernel(MatMulOp{blas.NoTrans, blas.NoTrans}) || a.Shape().TotalSize() <= largestForm {
		return nil, nil, false
	}
	in := inputsOf(a)
	return in[0], in[1], true
}

// largeSlopes tells whether n is the slopes by such a product, and gives N, F, log p̂ and g.
func largeSlopes(n *gorgonia.Node) ([]*gorgonia.Node, bool) {
	o, ours := n.Op().(Op)
	if !ours || o.Kernel != Kernel(DirichletByFormOp{}) {
		return nil, false
	}
	in := inputsOf(n)
	mass, table, ok := largeProduct(in[0])
	return []*gorgonia.Node{mass, table, in[1], in[2]}, ok
}

func inputsOf(n *gorgonia.Node) (in []*gorgonia.Node) {
	for children := n.Graph().From(n.ID()); children.Next(); {
		in = append(in, children.Node().(*gorgonia.Node))
	}
	return in
}

// ScoresOfProductOp is [DirichletScores] of N·F, from N (B×K), F (K×C²) and log p̂ (B×C).
type ScoresOfProductOp struct{ Delta float64 }

func (ScoresOfProductOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix, Matrix} }

func (ScoresOfProductOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return productShape(in, in[2])
}

func (o ScoresOfProductOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		scoresOfProduct(Values[float32](out), newProduct[float32](in), float32(o.Delta))
	} else {
		scoresOfProduct(Values[float64](out), newProduct[float64](in), o.Delta)
	}
}

func scoresOfProduct[F Float](score []F, p *product[F], delta F) {
	c, sum := p.c, make([]F, len(score))
	clear(score)
	p.each(func(b, i, rows int, a []F) {
		addScores(sum[b*c:(b+1)*c], score[b*c:(b+1)*c], a, p.logp[b*c+i:][:rows], 1)
	})
	rowwise(len(score)/c, func(lo, hi int) {
		endScores(score[lo*c:hi*c], sum[lo*c:hi*c], p.logp[lo*c:hi*c], delta)
	})
}

// ProductByTableOp is Nᵀ·∂A (K×C²), from N, F, log p̂ and g (B×C), ∂A as [DirichletByFormOp] has it.
type ProductByTableOp struct{}

func (ProductByTableOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix, Matrix, Matrix} }

func (ProductByTableOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return productShape(in, in[1])
}

func (ProductByTableOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		productByTable(Values[float32](out), newProduct[float32](in), Values[float32](in[3]))
	} else {
		productByTable(Values[float64](out), newProduct[float64](in), Values[float64](in[3]))
	}
}

func productByTable[F Float](out []F, p *product[F], g []F) {
	p.slopes(g, func(i, rows int, da []F) {
		gemm(blas.Trans, blas.NoTrans, p.k, rows*p.c, p.b, p.mass, p.k, da, rows*p.c, 0, out[i*p.c:], p.c*p.c)
	})
}

// ProductByMassOp is ∂A·Fᵀ (B×K), from what [ProductByTableOp] takes.
type ProductByMassOp struct{}

func (ProductByMassOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix, Matrix, Matrix} }

func (ProductByMassOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return productShape(in, in[0]) }

func (ProductByMassOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		productByMass(Values[float32](out), newProduct[float32](in), Values[float32](in[3]))
	} else {
		productByMass(Values[float64](out), newProduct[float64](in), Values[float64](in[3]))
	}
}

func productByMass[F Float](out []F, p *product[F], g []F) {
	clear(out)
	p.slopes(g, func(i, rows int, da []F) {
		gemm(blas.NoTrans, blas.Trans, p.b, p.k, rows*p.c, da, rows*p.c, p.table[i*p.c:], p.c*p.c, 1, out, p.k)
	})
}

// ProductByInputOp is [DirichletByInputOp] of N·F, from N, F and g (B×C).
type ProductByInputOp struct{ Delta float64 }

func (ProductByInputOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix, Matrix} }

func (ProductByInputOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return productShape(in, in[2])
}

func (o ProductByInputOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		productByInput(Values[float32](out), newProduct[float32](in), float32(o.Delta))
	} else {
		productByInput(Values[float64](out), newProduct[float64](in), o.Delta)
	}
}

func productByInput[F Float](dlogp []F, p *product[F], delta F) {
	c, g := p.c, p.logp // the third input is g here
	p.each(func(b, i, rows int, a []F) {
		setWeights(dlogp[b*c+i:][:rows], a, g[b*c:(b+1)*c], 1)
	})
	for at, v := range g {
		dlogp[at] += delta * v
	}
}

// product is N·F in flight.
type product[F Float] struct {
	mass, table, logp []F
	b, k, c           int
}

func newProduct[F Float](in []gorgonia.Value) *product[F] {
	return &product[F]{Values[F](in[0]), Values[F](in[1]), Values[F](in[2]), in[0].Shape()[0], columns(in[0]), columns(in[2])}
}

func productShape(in []tensor.Shape, out tensor.Shape) (tensor.Shape, error) {
	mass, table, logp := in[0], in[1], in[2]
	if mass[0] != logp[0] || mass[1] != table[0] || table[1] != logp[1]*logp[1] {
		return nil, errShapes
	}
	return out.Clone(), nil
}

// parts calls f for some rows of all B matrices at a time: i is the first of them, and a
// B×(rows·C) is those rows.
func (p *product[F]) parts(f func(i, rows int, a []F)) {
	// As many at a time as package simd takes, or a multiple: its sums are then the same.
	step := max(1, 1024/p.c)
	step *= max(1, formPart/(p.b*p.c*step))
	memory := make([]F, p.b*min(step, p.c)*p.c)
	for i := 0; i < p.c; i += step {
		rows := min(step, p.c-i)
		a := memory[:p.b*rows*p.c]
		gemm(blas.NoTrans, blas.NoTrans, p.b, rows*p.c, p.k, p.mass, p.k, p.table[i*p.c:], p.c*p.c, 0, a, rows*p.c)
		f(i, rows, a)
	}
}

// each calls f for the rows of one matrix after another, b its number, side by side.
func (p *product[F]) each(f func(b, i, rows int, a []F)) {
	p.parts(func(i, rows int, a []F) {
		size := rows * p.c
		parallel(p.b, func(b int) { f(b, i, rows, a[b*size:(b+1)*size]) })
	})
}

// slopes calls f with ∂A in place of A.
func (p *product[F]) slopes(g []F, f func(i, rows int, da []F)) {
	c, psi := p.c, make([]F, len(p.logp))
	p.each(func(b, _, _ int, a []F) { addColumns(psi[b*c:(b+1)*c], a, 1) })
	rowwise(p.b, func(lo, hi int) { digammas(psi[lo*c : hi*c]) })
	p.parts(func(i, rows int, a []F) {
		size := rows * c
		parallel(p.b, func(b int) {
			setSlopes(a[b*size:(b+1)*size], p.logp[b*c+i:][:rows], psi[b*c:(b+1)*c], g[b*c:(b+1)*c], 1)
		})
		f(i, rows, a)
	})
}
