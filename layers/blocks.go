package layers

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/graph/work"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/mat"
)

// blocks are what a [Sandwich] of many weights has in place of matrices of all P: F by blocks of codewords that never
// meet in a row ([estimate.Arrow]), and the scores of which J is the sum.
//
//	Cov(θ̂) = F⁻¹ (Λ + Σ_rows s̃ s̃ᵀ) F⁻¹ ,  s̃ = √n w s_y/(1 − h)
type blocks struct {
	F      *estimate.Arrow
	scores []sparse // s̃
	ridge  float64  // λN
	dim    int      // P
}

// sparse is a vector by its entries that are not 0.
type sparse struct {
	at     []int
	values []float64
}

// blockOf is which block each learned weight is of (P): that of its codeword, of its codeword in a slot, or that of all
// rows.
func (x *Sandwich) blockOf() (block []int) {
	for _, name := range x.weights.Learned() {
		shape, first := x.weights.Tensor(name).Shape(), 1
		switch shape[0] {
		case x.sizes.Codewords:
		case x.sizes.Places():
			first += x.sizes.Codewords
		default:
			block = append(block, make([]int, shape.TotalSize())...)
			continue
		}
		for i := range shape.TotalSize() {
			block = append(block, first+i/(shape.TotalSize()/shape[0]))
		}
	}
	return block
}

// fillBlocks computes the blocks of x.
func (x *Sandwich) fillBlocks(ctx context.Context, scores *scored, rows Observed) error {
	block := x.blockOf()
	seen, meeting := make([]sparse, len(rows.Labels)), make([][]int, len(rows.Labels))
	err := scores.each(ctx, "the map's scores", func(row int) {
		touched := make([]bool, x.dim())
		for j := range scores.LogQ {
			for p, v := range scores.ByWeight.RawRowView(j) {
				touched[p] = touched[p] || v != 0
			}
		}
		for p, is := range touched {
			if is {
				seen[row].at, seen[row].values = append(seen[row].at, p), append(seen[row].values, scores.own[p])
				meeting[row] = append(meeting[row], block[p])
			}
		}
		slices.Sort(meeting[row])
		meeting[row] = slices.Compact(meeting[row])
	})
	if err != nil {
		return err
	}
	shape := estimate.ShapeOf(block, meeting)
	if err := data.CheckRoom("", "what is known of the weights", int(shape.Numbers()), 8, "numbers"); err != nil {
		return err
	}
	b := &blocks{F: estimate.NewArrow(shape), ridge: x.ridge * rows.total(), dim: x.dim()}
	err = scores.each(ctx, "the map's information", func(row int) {
		entries := seen[row].at
		v := mat.NewDense(len(scores.LogQ), max(len(entries), 1), nil)
		for j, logq := range scores.LogQ {
			for i, p := range entries {
				v.Set(j, i, math.Sqrt(rows.Count(row)*math.Exp(logq))*scores.ByWeight.At(j, p))
			}
		}
		if len(entries) > 0 {
			b.F.Add(entries, v)
		}
	})
	if err != nil {
		return err
	}
	if !b.F.Factorize(b.ridge) {
		return fmt.Errorf("layers: the rows do not identify the weights of %s; fit it with a larger penalty", NameOf(x.m))
	}
	leverages := estimate.NewForms(func(row int, _, h []float64) {
		weight := rows.weight(row)
		scale := math.Sqrt(rows.seen(row)) * weight / (1 - math.Min(weight*h[0], estimate.LargestLeverage))
		for i := range seen[row].values {
			seen[row].values[i] *= scale
		}
	}, bread{b})
	for row, s := range seen {
		v := leverages.Next(row)
		clear(v)
		for i, p := range s.at {
			v[p] = s.values[i]
		}
	}
	leverages.Flush()
	b.scores, x.blocks = seen, b
	return ctx.Err()
}

// bread is F⁻¹.
type bread struct{ *blocks }

// Dims are P and P.
func (b *blocks) Dims() (r, c int) { return b.dim, b.dim }

// Times is F⁻¹ of vectors.
func (b bread) Times(x mat.Matrix) *mat.Dense { return b.F.Solve(x) }

// Times is Cov(θ̂) of vectors.
func (b *blocks) Times(x mat.Matrix) *mat.Dense {
	solved := b.F.Solve(x)
	m, _ := solved.Dims()
	product := mat.NewDense(m, b.dim, nil)
	product.Scale(b.ridge, solved)
	work.Each(m, 1, func(i int) {
		from, to := solved.RawRowView(i), product.RawRowView(i)
		for _, s := range b.scores {
			dot := 0.0
			for k, p := range s.at {
				dot += s.values[k] * from[p]
			}
			for k, p := range s.at {
				to[p] += dot * s.values[k]
			}
		}
	})
	return b.F.Solve(product)
}
