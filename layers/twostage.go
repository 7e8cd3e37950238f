package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/graph"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TwoStage is the sampling covariance of the quantized head and a map together,
// both fitted to the same rows: the stacked estimating equations of Newey & McFadden
// (1994, section 6). [Sandwich] takes p̂ as given; here the head's error reaches the posterior
// twice, through p̂ and through the map that was fitted to it. With z the quantized
// features and a 1, s¹ = (e_y − p̂) ⊗ z the head's score, s² the map's, at each row,
//
//	F₁ = Σ (diag p̂ − p̂p̂ᵀ) ⊗ zzᵀ + Λ₁,  F₂ as F of Sandwich,
//	F₂₁ = Σ_rows Σ_j q_j s²_j (∂log q_j/∂θ₁)ᵀ, also of a [Costed] map,
//	Cov(θ̂₁, θ̂₂) = B⁻¹ J B⁻ᵀ,  B = (F₁ 0; F₂₁ F₂),  J = Σ ssᵀ, s = (s¹, s²),
//
// each score over 1 − its leverage. The codebook is taken as given: its codewords are means
// of many slots each.
type TwoStage struct {
	*Sandwich
	joint *mat.Dense // covariance of (θ₁, θ₂), θ₁ (M+1)·C, class by class: the weights of class i, then its bias
}

// largestTwoStage bounds the parameters of head and map: their matrices then take 400 MB each.
const largestTwoStage = 7000

// headGradient fills dst with t ⊗ z for a row's quantized features z, a 1 behind them.
func headGradient(dst, t, z []float64) {
	n := len(z) + 1
	for i, ti := range t {
		floats.ScaleTo(dst[i*n:i*n+n-1], ti, z)
		dst[i*n+n-1] = ti
	}
}

// throughHead turns a change c of log p̂ into what it means for the head's logits, ∂log p̂_i/∂logit_l = 1[i=l] − p̂_l, 0 where log p̂
// stands on the head's floor.
func throughHead(c, logp []float64) {
	for i, l := range logp {
		if l <= HeadFloor {
			c[i] = 0
		}
	}
	total := floats.Sum(c)
	for l := range c {
		c[l] -= total * math.Exp(logp[l])
	}
}

// Ridges are those of the trainings of a map and of its base's head.
type Ridges struct{ Map, Head float64 }

// NewTwoStage computes the covariance of the learned weights of m and of the head that made the rows' log p̂
// of quantized features z (N×M), with the ridges of both trainings. Beyond what Sandwich
// refuses, more than 7000 numbers of head and map together are an error.
func NewTwoStage(ctx context.Context, m Map, w *graph.Weights, rows Observed, z *mat.Dense, s Sizes, r Ridges) (*TwoStage, error) {
	if z == nil {
		return nil, errors.New("layers: intervals of two stages need the quantized features of the rows")
	}
	n, M := z.Dims()
	if n != len(rows.Labels) {
		return nil, fmt.Errorf("layers: intervals of two stages need the quantized features of all %d rows, not of %d", len(rows.Labels), n)
	}
	d1 := (M + 1) * s.Classes
	if dim := d1 + w.Size(); dim > largestTwoStage {
		return nil, fmt.Errorf("layers: intervals of two stages take matrices of the square of %d parameters, of which the head has %d; %d is the most, reduce the features (pretrain) or use fewer codewords", dim, d1, largestTwoStage)
	}
	alone, scores, err := newSandwich(ctx, m, w, rows, s, r.Map)
	if err != nil {
		return nil, err
	}
	bread1, err := invertHead(ctx, rows, z, r.Head)
	if err != nil {
		return nil, err
	}
	dim := d1 + alone.dim()
	// Σ_rows Σ_j q_j vvᵀ with v = (t_j ⊗ z, s²_j), of which F₂₁ is a block.
	across, v := mat.NewSymDense(dim, nil), make([]float64, dim)
	products := newOuterSum(across)
	err = scores.each(ctx, "what the head means for the map", func(row int) {
		for j, logq := range scores.LogQ {
			t := scores.ByInput.RawRowView(j)
			throughHead(t, rows.View.LogProbs.RawRowView(row))
			headGradient(v[:d1], t, z.RawRowView(row))
			copy(v[d1:], scores.ByWeight.RawRowView(j))
			products.add(math.Sqrt(rows.Count(row)*math.Exp(logq)), v)
		}
	})
	if err != nil {
		return nil, err
	}
	products.flush()
	J := mat.NewSymDense(dim, nil)
	for i := range dim {
		J.SetSym(i, i, r.Map*rows.total())
		if i < d1 {
			J.SetSym(i, i, r.Head*rows.total())
		}
	}
	if err := addSquares(ctx, J, scores, z, [2]*mat.Dense{bread1, alone.bread}); err != nil {
		return nil, err
	}
	F21 := mat.NewDense(dim-d1, d1, nil)
	F21.Apply(func(i, j int, _ float64) float64 { return across.At(d1+i, j) }, F21)
	bread, joint := stackedBread(bread1, alone.bread, F21), new(mat.Dense)
	joint.Product(bread, mat.DenseCopyOf(J), bread.T())
	return &TwoStage{alone, joint}, nil
}

// addSquares adds Σ ssᵀ to J, the score of head and of map each over 1 − its leverage by its own F⁻¹.
func addSquares(ctx context.Context, J *mat.SymDense, scores *scored, z *mat.Dense, inverses [2]*mat.Dense) error {
	rows, d1 := scores.rows, inverses[0].RawMatrix().Rows
	certain := mat.NewDense(len(rows.Labels), 2, nil) // 1 − h
	var stages [2]*forms
	for stage, inverse := range inverses {
		stages[stage] = newForms(inverse, func(row int, _ []float64, h float64) { certain.Set(row, stage, 1-math.Min(h, LargestLeverage)) })
	}
	apart := make([]float64, len(scores.LogQ)) // e_y − p̂
	each := func(what string, visit func(row int)) error {
		return scores.each(ctx, what, func(row int) {
			for i, l := range rows.View.LogProbs.RawRowView(row) {
				apart[i] = -math.Exp(l)
			}
			apart[rows.Labels[row]]++
			visit(row)
		})
	}
	err := each("leverages", func(row int) {
		headGradient(stages[0].next(row), apart, z.RawRowView(row))
		copy(stages[1].next(row), scores.own)
	})
	if err != nil {
		return err
	}
	stages[0].flush()
	stages[1].flush()
	squares, both := newOuterSum(J), make([]float64, J.SymmetricDim())
	err = each("scores", func(row int) {
		headGradient(both[:d1], apart, z.RawRowView(row))
		floats.Scale(1/certain.At(row, 0), both[:d1])
		floats.ScaleTo(both[d1:], 1/certain.At(row, 1), scores.own)
		squares.add(math.Sqrt(rows.Count(row)*rows.weight(row)), both)
	})
	squares.flush()
	return err
}

// stackedBread is B⁻¹ = (F₁⁻¹ 0; −F₂⁻¹F₂₁F₁⁻¹ F₂⁻¹) of F₁⁻¹, F₂⁻¹ and F₂₁.
func stackedBread(inverse1, inverse2, F21 *mat.Dense) *mat.Dense {
	d2, d1 := F21.Dims()
	bread := mat.NewDense(d1+d2, d1+d2, nil)
	bread.Slice(0, d1, 0, d1).(*mat.Dense).Copy(inverse1)
	bread.Slice(d1, d1+d2, d1, d1+d2).(*mat.Dense).Copy(inverse2)
	var corner mat.Dense
	corner.Product(inverse2, F21, inverse1)
	corner.Scale(-1, &corner)
	bread.Slice(d1, d1+d2, 0, d1).(*mat.Dense).Copy(&corner)
	return bread
}

// invertHead is F₁⁻¹. Block (i, l) of F₁ is Zᵀ diag(p̂_i (1[i=l] − p̂_l)) Z, Z with a column of ones.
func invertHead(ctx context.Context, rows Observed, z *mat.Dense, ridge float64) (*mat.Dense, error) {
	n, M := z.Dims()
	_, C := rows.View.LogProbs.Dims()
	var withOne, scaled, block mat.Dense
	withOne.Augment(z, mat.NewVecDense(n, slices.Repeat([]float64{1}, n)))
	F := mat.NewSymDense((M+1)*C, nil)
	for i := range C {
		for l := i; l < C; l++ {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("layers: intervals of two stages, interrupted at the head's information: %w", err)
			}
			scaled.CloneFrom(&withOne)
			for row := range n {
				weight := -math.Exp(rows.View.LogProbs.At(row, l))
				if i == l {
					weight++
				}
				floats.Scale(weight*rows.Count(row)*math.Exp(rows.View.LogProbs.At(row, i)), scaled.RawRowView(row))
			}
			block.Reset()
			block.Mul(withOne.T(), &scaled)
			for j := range M + 1 {
				for k := range M + 1 {
					F.SetSym(i*(M+1)+j, l*(M+1)+k, block.At(j, k))
				}
			}
		}
	}
	// A shift of all logits moves no p̂: a curvature of its own keeps F₁ invertible.
	for i := range (M + 1) * C {
		F.SetSym(i, i, F.At(i, i)+math.Max(ridge, 1e-9)*rows.total())
	}
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if !cholesky.Factorize(F) || cholesky.InverseTo(&inverse) != nil {
		return nil, errors.New("layers: the calibration rows do not identify the head; fit it with weight decay")
	}
	return mat.DenseCopyOf(&inverse), nil
}

// Intervals is [Sandwich.Intervals] with the head's error in it; z are the quantized features
// of the view's rows (N×M).
func (x *TwoStage) Intervals(ctx context.Context, v *View, z *mat.Dense, level float64) (lower, upper *mat.Dense, err error) {
	if v == nil || z == nil {
		return nil, nil, errors.New("layers: intervals of two stages need rows with their quantized features")
	}
	parts, through := make([]float64, x.sizes.Classes), mat.NewVecDense(x.sizes.Classes, nil)
	_, M := z.Dims()
	d1 := (M + 1) * x.sizes.Classes
	return x.intervals(ctx, v, level, x.joint, func(scores *Scores, gradient []float64, row, j int) (logit float64) {
		logitParts(parts, scores.LogQ, j)
		through.MulVec(scores.ByInput.T(), mat.NewVecDense(len(parts), parts))
		throughHead(through.RawVector().Data, v.LogProbs.RawRowView(row))
		headGradient(gradient[:d1], through.RawVector().Data, z.RawRowView(row))
		return scores.logit(gradient[d1:], j)
	})
}
