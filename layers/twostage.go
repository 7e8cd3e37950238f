package layers

import (
	"context"
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"calibra/graph"
)

// TwoStage is the sampling covariance of the quantized head and the bilinear map together,
// both fitted to the same rows: the stacked estimating equations of Newey & McFadden
// (1994, section 6). [Sandwich] takes p̂ as given; here the head's error reaches the posterior
// twice, through p̂ and through the map that was fitted to it. With z the quantized
// features and a 1, s¹ = (e_y − p̂) ⊗ z the head's score, s² the map's, at each row,
//
//	F₁ = Σ (diag p̂ − p̂p̂ᵀ) ⊗ zzᵀ + Λ₁,  F₂ as F of Sandwich,
//	F₂₁ = Σ_rows Σ_j q_j s²_j (∂log q_j/∂θ₁)ᵀ,
//	Cov(θ̂₁, θ̂₂) = B⁻¹ J B⁻ᵀ,  B = (F₁ 0; F₂₁ F₂),  J = Σ ssᵀ, s = (s¹, s²),
//
// each score over 1 − its leverage. The codebook is taken as given: its codewords are means
// of many slots each.
type TwoStage struct {
	*Sandwich
	joint *mat.Dense // covariance of (θ₁, θ₂)
	first int        // (M+1)·C, class by class: the weights of class i, then its bias
}

// largestTwoStage bounds the parameters of head and map: their matrices then take 400 MB each.
const largestTwoStage = 7000

// headSlope fills dst with t ⊗ z for a row's quantized features z, a 1 behind them.
func headSlope(dst, t, z []float64) {
	n := len(z) + 1
	for i, ti := range t {
		floats.ScaleTo(dst[i*n:i*n+n-1], ti, z)
		dst[i*n+n-1] = ti
	}
}

// throughHead fills t (C) with what a change of log p̂ by c means for the head's logits:
// ∂log p̂_i/∂logit_l = 1[i=l] − p̂_l.
func throughHead(t, c, logp []float64) {
	total := floats.Sum(c)
	for l := range t {
		t[l] = c[l] - total*math.Exp(logp[l])
	}
}

// byInput fills c (C) with ∂score_j/∂log p̂_i = α_ij − 1 + δ_ij of the row that was set.
func (s *slopes) byInput(c []float64, j int, logp []float64) {
	C := len(c)
	for i := range c {
		c[i] = 0
		if logp[i] > LogFloor {
			c[i] = s.form[i*C+j] - 1
			if i == j {
				c[i]++
			}
		}
	}
}

// TwoStage computes the covariance of weights w and of the head that made the rows' log p̂
// of quantized features z (N×M), with the ridges of both trainings. Beyond what Sandwich
// refuses, more than 7000 numbers of head and map together are an error.
func (m Bilinear) TwoStage(ctx context.Context, w *graph.Weights, rows Observed, z *mat.Dense, s Sizes, ridge, headRidge float64) (*TwoStage, error) {
	alone, err := m.Sandwich(ctx, w, rows, s, ridge)
	if err != nil {
		return nil, err
	}
	C := s.Classes
	n, M := z.Dims()
	x := &TwoStage{Sandwich: alone, first: (M + 1) * C}
	d1, d2 := x.first, alone.learned
	if n != len(rows.Labels) {
		return nil, fmt.Errorf("layers: intervals of two stages need the quantized features of all %d rows, not of %d", len(rows.Labels), n)
	}
	if d1+d2 > largestTwoStage {
		return nil, fmt.Errorf("layers: intervals of two stages take matrices of the square of %d parameters; %d is the most, use fewer features or codewords", d1+d2, largestTwoStage)
	}
	F1, F2 := mat.NewSymDense(d1, nil), mat.NewSymDense(d2, nil)
	F21 := mat.NewDense(d2, d1, nil)
	slope := newSlopes(alone)
	one := make([]float64, d1)
	c, center, t := make([]float64, C), make([]float64, C), make([]float64, C)
	inputs, across := mat.NewDense(C, C, nil), mat.NewDense(C, d2, nil)
	withOne := make([]float64, M+1)
	withOne[M] = 1
	each := func(visit func(row int, logp []float64)) error {
		for row := range rows.Labels {
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("layers: intervals of two stages, interrupted at calibration row %d: %w", row, err)
			}
			if rows.count(row) > 0 {
				logp := rows.View.LogProbs.RawRowView(row)
				slope.set(rows.View.Codes[row*s.Slots:(row+1)*s.Slots], logp)
				slope.center()
				visit(row, logp)
			}
		}
		return nil
	}
	var total float64
	squares1, squares2 := newOuterSum(F1), newOuterSum(F2)
	err = each(func(row int, logp []float64) {
		count := rows.count(row)
		total += count
		clear(center)
		for j, logq := range slope.logq {
			slope.byInput(inputs.RawRowView(j), j, logp)
			floats.AddScaled(center, math.Exp(logq), inputs.RawRowView(j))
		}
		for j, logq := range slope.logq {
			q := count * math.Exp(logq)
			squares2.add(math.Sqrt(q), slope.rows.RawRowView(j))
			floats.SubTo(c, inputs.RawRowView(j), center)
			throughHead(t, c, logp)
			for i, ti := range t {
				floats.AddScaled(across.RawRowView(i), q*ti, slope.rows.RawRowView(j))
			}

			p := math.Exp(logp[j]) // Σ_j p̂_j (e_j − p̂)(e_j − p̂)ᵀ = diag p̂ − p̂p̂ᵀ
			score(t, j, logp)
			headSlope(one, t, z.RawRowView(row))
			squares1.add(math.Sqrt(count*p), one)
		}
		// Σ_j q_j s²_j (t_j ⊗ z)ᵀ, class by class of the head.
		copy(withOne, z.RawRowView(row))
		for i := range C {
			block := F21.Slice(0, d2, i*(M+1), (i+1)*(M+1)).(*mat.Dense)
			blas64.Ger(1, blas64.Vector{N: d2, Inc: 1, Data: across.RawRowView(i)}, blas64.Vector{N: M + 1, Inc: 1, Data: withOne}, block.RawMatrix())
		}
		across.Zero()
	})
	if err != nil {
		return nil, err
	}
	squares1.flush()
	squares2.flush()
	// A shift of all logits moves no p̂: a curvature of its own keeps F₁ invertible.
	for i := range d1 {
		F1.SetSym(i, i, F1.At(i, i)+math.Max(headRidge, 1e-9)*total)
	}
	for i := range d2 {
		F2.SetSym(i, i, F2.At(i, i)+ridge*total)
	}
	gauge := alone.gauge()
	for _, v := range gauge {
		F2.SymRankOne(F2, total, mat.NewVecDense(len(v), v))
	}
	bread1, err := invert(F1)
	if err != nil {
		return nil, fmt.Errorf("layers: the calibration rows do not identify the head; fit it with weight decay: %w", err)
	}
	bread2, err := invert(F2)
	if err != nil {
		return nil, fmt.Errorf("layers: the calibration rows do not identify every factor; fit with weight decay: %w", err)
	}
	// B⁻¹ = (F₁⁻¹ 0; −F₂⁻¹F₂₁F₁⁻¹ F₂⁻¹).
	bread := mat.NewDense(d1+d2, d1+d2, nil)
	bread.Slice(0, d1, 0, d1).(*mat.Dense).Copy(bread1)
	bread.Slice(d1, d1+d2, d1, d1+d2).(*mat.Dense).Copy(bread2)
	var half, corner mat.Dense
	half.Mul(bread2, F21)
	corner.Mul(&half, bread1)
	corner.Scale(-1, &corner)
	bread.Slice(d1, d1+d2, 0, d1).(*mat.Dense).Copy(&corner)

	J := mat.NewSymDense(d1+d2, nil)
	for i := range d1 {
		J.SetSym(i, i, headRidge*total)
	}
	for i := range d2 {
		J.SetSym(d1+i, d1+i, ridge*total)
	}
	squares := newOuterSum(J)
	both := make([]float64, d1+d2)
	var v1, v2 mat.VecDense
	err = each(func(row int, logp []float64) {
		y := rows.Labels[row]
		score(t, y, logp)
		headSlope(both[:d1], t, z.RawRowView(row))
		copy(both[d1:], slope.rows.RawRowView(y))
		s1, s2 := mat.NewVecDense(d1, both[:d1]), mat.NewVecDense(d2, both[d1:])
		v1.MulVec(bread1, s1)
		v2.MulVec(bread2, s2)
		h1, h2 := math.Min(mat.Dot(&v1, s1), largestLeverage), math.Min(mat.Dot(&v2, s2), largestLeverage)
		s1.ScaleVec(1/(1-h1), s1)
		s2.ScaleVec(1/(1-h2), s2)
		squares.add(math.Sqrt(rows.count(row)), both)
	})
	if err != nil {
		return nil, err
	}
	squares.flush()
	var left mat.Dense
	left.Mul(bread, mat.DenseCopyOf(J))
	x.joint = new(mat.Dense)
	x.joint.Mul(&left, bread.T())
	return x, nil
}

// score fills t (C) with e_y − p̂.
func score(t []float64, y int, logp []float64) {
	for i, l := range logp {
		t[i] = -math.Exp(l)
	}
	t[y]++
}

func invert(f *mat.SymDense) (*mat.Dense, error) {
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if !cholesky.Factorize(f) {
		return nil, fmt.Errorf("their information is singular")
	}
	if err := cholesky.InverseTo(&inverse); err != nil {
		return nil, err
	}
	return mat.DenseCopyOf(&inverse), nil
}

// Intervals is [Sandwich.Intervals] with the head's error in it; z are the quantized features
// of the view's rows (N×M). The gauge moves no posterior, so that the covariance along it
// does not matter.
func (x *TwoStage) Intervals(ctx context.Context, v *View, z *mat.Dense, level float64) (lower, upper *mat.Dense, err error) {
	if !(level > 0 && level < 1) {
		return nil, nil, &SettingError{fmt.Sprintf("the level of an interval lies between 0 and 1, not %g", level)}
	}
	reach := distuv.UnitNormal.Quantile(0.5 + level/2)
	n, C := v.LogProbs.Dims()
	lower, upper = mat.NewDense(n, C, nil), mat.NewDense(n, C, nil)
	slope := newSlopes(x.Sandwich)
	logit := make([]float64, n*C)
	spread := newForms(x.joint, func(at int, _ []float64, variance float64) {
		half := reach * math.Sqrt(math.Max(variance, 0))
		lower.Set(at/C, at%C, simd.Sigmoid64(logit[at]-half))
		upper.Set(at/C, at%C, simd.Sigmoid64(logit[at]+half))
	})
	c, own, t := make([]float64, C), make([]float64, C), make([]float64, C)
	for row := range n {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		logp := v.LogProbs.RawRowView(row)
		slope.set(v.Codes[row*x.sizes.Slots:(row+1)*x.sizes.Slots], logp)
		for j := range C {
			at := row*C + j
			both := spread.next(at)
			logit[at] = slope.logit(both[x.first:], j)
			// ∂logit q_j/∂log p̂ = ∂score_j − Σ_{l≠j} q_l/(1 − q_j) ∂score_l.
			q := math.Exp(slope.logq[j])
			slope.byInput(c, j, logp)
			for l := range C {
				if l != j {
					slope.byInput(own, l, logp)
					floats.AddScaled(c, -math.Exp(slope.logq[l])/math.Max(1-q, math.SmallestNonzeroFloat64), own)
				}
			}
			throughHead(t, c, logp)
			headSlope(both[:x.first], t, z.RawRowView(row))
		}
	}
	spread.flush()
	return lower, upper, nil
}

// TwoStage is the covariance of a fitted bilinear map and the head of its divided base,
// from the calibration rows that both were fitted to; the ridges as in [Bilinear.TwoStage].
func (t *Trained) TwoStage(ctx context.Context, cal *data.Set, ridge, headRidge float64) (*TwoStage, error) {
	m, ok := t.Map.(Bilinear)
	divide, divided := t.Base.(*Divide)
	switch {
	case !ok || !divided:
		return nil, fmt.Errorf("layers: intervals of two stages are known for the bilinear map on a divided base only, not for %T on %T", t.Map, t.Base)
	case t.weights == nil:
		return nil, ErrUnfitted
	}
	view, err := divide.View(cal)
	if err != nil {
		return nil, err
	}
	z, err := divide.Embed(cal)
	if err != nil {
		return nil, err
	}
	return m.TwoStage(ctx, t.weights, Observed{View: view, Labels: cal.Labels}, z, divide.Sizes(), ridge, headRidge)
}

// TwoStageIntervals returns the interval of each posterior of x (N×C each) at a level, with
// the error of both stages.
func (t *Trained) TwoStageIntervals(ctx context.Context, s *TwoStage, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	view, err := t.Base.View(x)
	if err != nil {
		return nil, nil, err
	}
	z, err := t.Base.(*Divide).Embed(x)
	if err != nil {
		return nil, nil, err
	}
	return s.Intervals(ctx, view, z, level)
}
