package layers

import (
	"context"
	"errors"
	"fmt"
	"math"

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

// NewTwoStage computes the covariance of the learned weights of m and of the head that made the rows' log p̂
// of quantized features z (N×M), both fitted without a ridge. Beyond what Sandwich
// refuses, more than 7000 numbers of head and map together are an error.
func NewTwoStage(ctx context.Context, m Map, w *graph.Weights, rows Observed, z *mat.Dense, s Sizes) (*TwoStage, error) {
	if z == nil {
		return nil, errors.New("layers: intervals of two stages need the quantized features of the rows")
	}
	alone, scores, err := newSandwich(ctx, m, w, rows, s, 0)
	if err != nil {
		return nil, err
	}
	n, M := z.Dims()
	d1, d2 := (M+1)*s.Classes, alone.dim()
	if n != len(rows.Labels) {
		return nil, fmt.Errorf("layers: intervals of two stages need the quantized features of all %d rows, not of %d", len(rows.Labels), n)
	}
	if d1+d2 > largestTwoStage {
		return nil, fmt.Errorf("layers: intervals of two stages take matrices of the square of %d parameters, of which the head has %d; %d is the most, reduce the features (pretrain) or use fewer codewords", d1+d2, d1, largestTwoStage)
	}
	bread1, err := invertHead(rows, z)
	if err != nil {
		return nil, err
	}
	F21 := mat.NewDense(d2, d1, nil) // Σ_rows Σ_j q_j s²_j (t_j ⊗ z)ᵀ
	t, across := make([]float64, s.Classes), mat.NewVecDense(d1, nil)
	err = scores.each(ctx, "what the head means for the map", func(row int) {
		for j, logq := range scores.LogQ {
			copy(t, scores.ByInput.RawRowView(j))
			throughHead(t, rows.View.LogProbs.RawRowView(row))
			headGradient(across.RawVector().Data, t, z.RawRowView(row))
			F21.RankOne(F21, rows.Count(row)*math.Exp(logq), scores.ByWeight.RowView(j), across)
		}
	})
	if err != nil {
		return nil, err
	}
	J, both := mat.NewSymDense(d1+d2, nil), make([]float64, d1+d2) // both are s of a row, each score over 1 − its leverage
	ofHead, ofMap := mat.NewVecDense(d1, both[:d1]), mat.NewVecDense(d2, both[d1:])
	squares := newOuterSum(J)
	err = scores.each(ctx, "scores", func(row int) {
		for i, l := range rows.View.LogProbs.RawRowView(row) {
			t[i] = -math.Exp(l)
		}
		t[rows.Labels[row]]++
		headGradient(ofHead.RawVector().Data, t, z.RawRowView(row))
		copy(ofMap.RawVector().Data, scores.own)
		ofHead.ScaleVec(1/(1-math.Min(mat.Inner(ofHead, bread1, ofHead), LargestLeverage)), ofHead)
		ofMap.ScaleVec(1/(1-math.Min(mat.Inner(ofMap, alone.bread, ofMap), LargestLeverage)), ofMap)
		squares.add(math.Sqrt(rows.Count(row)*rows.weight(row)), both)
	})
	if err != nil {
		return nil, err
	}
	squares.flush()
	bread, joint := stackedBread(bread1, alone.bread, F21), new(mat.Dense)
	joint.Product(bread, J, bread.T())
	return &TwoStage{alone, joint}, nil
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

// invertHead is F₁⁻¹.
func invertHead(rows Observed, z *mat.Dense) (*mat.Dense, error) {
	_, M := z.Dims()
	_, C := rows.View.LogProbs.Dims()
	F, t, v := mat.NewSymDense((M+1)*C, nil), make([]float64, C), make([]float64, (M+1)*C)
	squares := newOuterSum(F) // Σ_l p̂_l (e_l − p̂)(e_l − p̂)ᵀ = diag p̂ − p̂p̂ᵀ
	for row := range rows.Labels {
		logp := rows.View.LogProbs.RawRowView(row)
		for l, of := range logp {
			for i, other := range logp {
				t[i] = -math.Exp(other)
			}
			t[l]++
			headGradient(v, t, z.RawRowView(row))
			squares.add(math.Sqrt(rows.Count(row)*math.Exp(of)), v)
		}
	}
	squares.flush()
	// A shift of all logits moves no p̂: a curvature of its own keeps F₁ invertible.
	for i := range (M + 1) * C {
		F.SetSym(i, i, F.At(i, i)+1e-9*rows.total())
	}
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if !cholesky.Factorize(F) || cholesky.InverseTo(&inverse) != nil {
		return nil, errors.New("layers: the calibration rows do not identify the head")
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
