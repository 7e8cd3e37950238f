package layers

import (
	"context"
	"errors"
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/work"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"gorgonia.org/tensor"
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
	joint *mat.Dense // covariance of (θ₁, θ₂)
	first int        // (M+1)·C, class by class: the weights of class i, then its bias
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

// throughHead fills t (C) with what a change of log p̂ by c means for the head's logits:
// ∂log p̂_i/∂logit_l = 1[i=l] − p̂_l.
func throughHead(t, c, logp []float64) {
	total := floats.Sum(c)
	for l := range t {
		t[l] = c[l] - total*math.Exp(logp[l])
	}
}

// unfloored sets derivatives by log p̂ to 0 where log p̂ stands on the head's floor.
func unfloored(byInput, logp []float64) []float64 {
	for i, l := range logp {
		if l <= HeadFloor {
			byInput[i] = 0
		}
	}
	return byInput
}

// Ridges are the ridges of the trainings of a map and of its base's head.
type Ridges struct{ Map, Head float64 }

// NewTwoStage computes the covariance of the learned weights of m and of the head that made the rows' log p̂
// of quantized features z (N×M), with the ridges of both trainings. Beyond what Sandwich
// refuses, more than 7000 numbers of head and map together are an error.
func NewTwoStage(ctx context.Context, m Map, w *graph.Weights, rows Observed, z *mat.Dense, s Sizes, r Ridges) (*TwoStage, error) {
	if err := twoStaged(w, rows, z, s); err != nil {
		return nil, err
	}
	C := s.Classes
	_, M := z.Dims()
	if err := sandwiched(ctx, m, w, rows, s); err != nil {
		return nil, err
	}
	alone := &Sandwich{m: m, weights: w.As(tensor.Float64), sizes: s, ridge: r.Map}
	of, err := newScored(alone, rows)
	if err != nil {
		return nil, err
	}
	if err := alone.fill(ctx, of, rows); err != nil {
		return nil, err
	}
	x := &TwoStage{Sandwich: alone, first: (M + 1) * C}
	f := &stackedScores{Sandwich: alone, scored: of, z: z, ofHead: make([]float64, C)}
	bread1, err := invertHead(ctx, rows, z, r.Head)
	if err != nil {
		return nil, err
	}
	F21, err := f.mapByHead(ctx)
	if err != nil {
		return nil, err
	}
	bread := stackedBread(bread1, alone.bread, F21)
	h, err := f.leverages(ctx, bread1)
	if err != nil {
		return nil, err
	}
	J := mat.NewSymDense(x.first+alone.dim(), nil)
	total := rows.total()
	for i := range x.first {
		J.SetSym(i, i, r.Head*total)
	}
	for i := range alone.dim() {
		J.SetSym(x.first+i, x.first+i, r.Map*total)
	}
	if err := f.addSquares(ctx, J, h); err != nil {
		return nil, err
	}
	var left mat.Dense
	left.Mul(bread, mat.DenseCopyOf(J))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	x.joint = new(mat.Dense)
	x.joint.Mul(&left, bread.T())
	return x, nil
}

// twoStaged refuses rows without their features, and too many parameters.
func twoStaged(w *graph.Weights, rows Observed, z *mat.Dense, s Sizes) error {
	if z == nil {
		return errors.New("layers: intervals of two stages need the quantized features of the rows")
	}
	n, M := z.Dims()
	C := s.Classes
	if n != len(rows.Labels) {
		return fmt.Errorf("layers: intervals of two stages need the quantized features of all %d rows, not of %d", len(rows.Labels), n)
	}
	if dim := (M+1)*C + w.Size(); dim > largestTwoStage {
		return fmt.Errorf("layers: intervals of two stages take square matrices of %d parameters, %d of them in the head; at most %d are possible: reduce the features (pretrain) or use fewer codewords", dim, (M+1)*C, largestTwoStage)
	}
	return nil
}

// stackedBread is B⁻¹ = (F₁⁻¹ 0; −F₂⁻¹F₂₁F₁⁻¹ F₂⁻¹) of F₁⁻¹, F₂⁻¹ and F₂₁.
func stackedBread(inverse1, inverse2, F21 *mat.Dense) *mat.Dense {
	d2, d1 := F21.Dims()
	bread := mat.NewDense(d1+d2, d1+d2, nil)
	bread.Slice(0, d1, 0, d1).(*mat.Dense).Copy(inverse1)
	bread.Slice(d1, d1+d2, d1, d1+d2).(*mat.Dense).Copy(inverse2)
	var half, corner mat.Dense
	half.Mul(inverse2, F21)
	corner.Mul(&half, inverse1)
	corner.Scale(-1, &corner)
	bread.Slice(d1, d1+d2, 0, d1).(*mat.Dense).Copy(&corner)
	return bread
}

// stackedScores are the scores of head and map at each row.
type stackedScores struct {
	*Sandwich            // of the map
	*scored              // s² of the current row
	z         *mat.Dense // N×M
	ofHead    []float64  // C, e_y − p̂ of the current row
}

// eachStacked visits the rows that were seen, with the scores of both stages set to them. what names the work.
func (f *stackedScores) eachStacked(ctx context.Context, what string, visit func(row int, logp []float64)) error {
	return f.each(ctx, what, func(row int) {
		logp := f.rows.View.LogProbs.RawRowView(row)
		for i, l := range logp {
			f.ofHead[i] = -math.Exp(l)
		}
		f.ofHead[f.rows.Labels[row]]++
		visit(row, logp)
	})
}

// leverages are those of each row, of the head (0), whose F₁⁻¹ is given, and of the map (1).
func (f *stackedScores) leverages(ctx context.Context, inverse1 *mat.Dense) (h [2][]float64, err error) {
	var stages [2]*forms
	for stage, inverse := range []*mat.Dense{inverse1, f.bread} {
		h[stage] = make([]float64, len(f.rows.Labels))
		stages[stage] = newForms(inverse, func(row int, _ []float64, own float64) { h[stage][row] = math.Min(own, LargestLeverage) })
	}
	err = f.eachStacked(ctx, "leverages", func(row int, _ []float64) {
		headGradient(stages[0].next(row), f.ofHead, f.z.RawRowView(row))
		copy(stages[1].next(row), f.own)
	})
	if err != nil {
		return h, err
	}
	stages[0].flush()
	stages[1].flush()
	return h, nil
}

// addSquares adds Σ ssᵀ to J, each score over 1 − its leverage.
func (f *stackedScores) addSquares(ctx context.Context, J *mat.SymDense, h [2][]float64) error {
	squares := newOuterSum(J)
	both := make([]float64, J.SymmetricDim())
	d1 := len(both) - f.dim()
	err := f.eachStacked(ctx, "scores", func(row int, _ []float64) {
		headGradient(both[:d1], f.ofHead, f.z.RawRowView(row))
		floats.Scale(1/(1-h[0][row]), both[:d1])
		floats.ScaleTo(both[d1:], 1/(1-h[1][row]), f.own)
		squares.add(math.Sqrt(f.rows.Count(row)*f.rows.weight(row)), both)
	})
	if err != nil {
		return err
	}
	squares.flush()
	return nil
}

// together is how many rows go into one product of matrices: enough for the rate of package
// simd's kernels, few enough for memory.
const together = 64

// withOnes are the rows of z with a 1 behind them.
func withOnes(z *mat.Dense) *mat.Dense {
	n, M := z.Dims()
	out := mat.NewDense(n, M+1, nil)
	for row := range n {
		copy(out.RawRowView(row), z.RawRowView(row))
		out.Set(row, M, 1)
	}
	return out
}

// invertHead is F₁⁻¹. Block (i, l) of F₁ is Zᵀ diag(p̂_i (1[i=l] − p̂_l)) Z, Z with a column of ones.
func invertHead(ctx context.Context, rows Observed, z *mat.Dense, ridge float64) (*mat.Dense, error) {
	n, M := z.Dims()
	_, C := rows.View.LogProbs.Dims()
	withOne := withOnes(z)
	F := mat.NewSymDense((M+1)*C, nil)
	to := F.RawSymmetric()
	scaled := mat.NewDense(n, M+1, nil)
	for i := range C {
		for l := i; l < C; l++ {
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("layers: intervals of two stages, interrupted at the head's information: %w", err)
			}
			work.Report(ctx, float64(i*C+l)/float64(C*C), "the head's information")
			for row := range n {
				weight := -math.Exp(rows.View.LogProbs.At(row, l))
				if i == l {
					weight++
				}
				weight *= rows.Count(row) * math.Exp(rows.View.LogProbs.At(row, i))
				floats.ScaleTo(scaled.RawRowView(row), weight, withOne.RawRowView(row))
			}
			block := blas64.General{Rows: M + 1, Cols: M + 1, Stride: to.Stride, Data: to.Data[i*(M+1)*to.Stride+l*(M+1):]}
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, withOne.RawMatrix(), scaled.RawMatrix(), 0, block)
		}
	}
	// A shift of all logits moves no p̂: a curvature of its own keeps F₁ invertible.
	total := rows.total()
	for i := range (M + 1) * C {
		F.SetSym(i, i, F.At(i, i)+math.Max(ridge, 1e-9)*total)
	}
	var cholesky mat.Cholesky
	var inverse mat.SymDense
	if !cholesky.Factorize(F) {
		return nil, errors.New("layers: the calibration rows do not identify the head; fit it with weight decay")
	}
	if err := cholesky.InverseTo(&inverse); err != nil {
		return nil, fmt.Errorf("layers: intervals of the head: %w", err)
	}
	return mat.DenseCopyOf(&inverse), nil
}

// mapByHead is F₂₁ = Σ_rows Σ_j q_j s²_j (t_j ⊗ z)ᵀ, class by class of the head.
func (f *stackedScores) mapByHead(ctx context.Context) (*mat.Dense, error) {
	C, d2 := f.sizes.Classes, f.dim()
	_, M := f.z.Dims()
	F := mat.NewDense(d2, (M+1)*C, nil)
	across := make([]*mat.Dense, C) // of each class of the head: Σ_j q_j t_ji s²_j of each row
	for i := range across {
		across[i] = mat.NewDense(together, d2, nil)
	}
	withOne := mat.NewDense(together, M+1, nil)
	count := 0
	flush := func() {
		for i := range C {
			block := F.Slice(0, d2, i*(M+1), (i+1)*(M+1)).(*mat.Dense)
			blas64.Gemm(blas.Trans, blas.NoTrans, 1, across[i].RawMatrix(), withOne.RawMatrix(), 1, block.RawMatrix())
			across[i].Zero()
		}
		withOne.Zero()
		count = 0
	}
	t := make([]float64, C)
	err := f.eachStacked(ctx, "what the head means for the map", func(row int, logp []float64) {
		for j, logq := range f.LogQ {
			throughHead(t, unfloored(f.ByInput.RawRowView(j), logp), logp)
			for i, ti := range t {
				floats.AddScaled(across[i].RawRowView(count), f.rows.Count(row)*math.Exp(logq)*ti, f.ByWeight.RawRowView(j))
			}
		}
		copy(withOne.RawRowView(count), f.z.RawRowView(row))
		withOne.Set(count, M, 1)
		if count++; count == together {
			flush()
		}
	})
	flush()
	return F, err
}

// Intervals is [Sandwich.Intervals] with the head's error in it; z are the quantized features
// of the view's rows (N×M).
func (x *TwoStage) Intervals(ctx context.Context, v *View, z *mat.Dense, level float64) (lower, upper *mat.Dense, err error) {
	if err := CheckLevel(level); err != nil {
		return nil, nil, err
	}
	if v == nil || z == nil {
		return nil, nil, errors.New("layers: intervals of two stages need rows with their quantized features")
	}
	scores, err := NewScores(x.m, x.weights, v, x.sizes)
	if err != nil {
		return nil, nil, err
	}
	reach := distuv.UnitNormal.Quantile(0.5 + level/2)
	n, C := v.LogProbs.Dims()
	_, M := z.Dims()
	lower, upper = mat.NewDense(n, C, nil), mat.NewDense(n, C, nil)
	d1, d2 := x.first, x.dim()
	ofMap := x.joint.Slice(d1, d1+d2, d1, d1+d2)
	r := newSpreads(C, d2)
	for begin := 0; begin < n; begin += r.rows {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		work.Report(ctx, float64(begin)/float64(n), "intervals of rows")
		end := min(begin+r.rows, n)
		withOne := withOnes(z.Slice(begin, end, 0, M).(*mat.Dense))
		gradients, err := r.read(scores, v, begin, end)
		if err != nil {
			return nil, nil, err
		}
		r.ofMap.Reset()
		r.ofMap.Mul(gradients, ofMap)
		for i := range C {
			r.ofHead[i].Reset()
			r.ofHead[i].Mul(withOne, x.joint.Slice(i*(M+1), (i+1)*(M+1), 0, d1+d2))
		}
		for row := begin; row < end; row++ {
			logp := v.LogProbs.RawRowView(row)
			r.set(row-begin, withOne.RawRowView(row-begin), gradients)
			for j := range C {
				logit, variance := r.along(row-begin, j, logp)
				if x.blind() {
					if err := x.tells(row, r.gradient(row-begin, gradients)); err != nil {
						return nil, nil, err
					}
				}
				half := reach * math.Sqrt(math.Max(variance, 0))
				lower.Set(row, j, sigmoid(logit-half))
				upper.Set(row, j, sigmoid(logit+half))
			}
		}
	}
	return lower, upper, nil
}

// read is the gradients of log q of some rows of a view, by the weights.
func (r *spreads) read(scores *Scores, v *View, begin, end int) (*mat.Dense, error) {
	C, d2 := scores.ByWeight.Dims()
	for row := begin; row < end; row++ {
		if err := scores.Set(row); err != nil {
			return nil, err
		}
		at := (row - begin) * C
		r.gradients.Slice(at, at+C, 0, d2).(*mat.Dense).Copy(scores.ByWeight)
		copy(r.logq.RawRowView(row-begin), scores.LogQ)
		for j := range C {
			copy(r.byInput.RawRowView(at+j), unfloored(scores.ByInput.RawRowView(j), v.LogProbs.RawRowView(row)))
		}
	}
	return r.gradients.Slice(0, (end-begin)*C, 0, d2).(*mat.Dense), nil
}

// gradient is that of the logit of the last call of along, of the row at a place, by the map's weights.
func (r *spreads) gradient(at int, gradients *mat.Dense) []float64 {
	clear(r.whole)
	for l, part := range r.parts {
		floats.AddScaled(r.whole, part, gradients.RawRowView(at*len(r.parts)+l))
	}
	return r.whole
}

// set takes the row at a place of those at hand, of quantized features z with a 1, and gradients of its log q.
func (r *spreads) set(at int, z []float64, gradients *mat.Dense) {
	C, wide := len(r.ofHead), len(z)
	for i := range C {
		product := r.ofHead[i].RawRowView(at)
		for l := range C {
			own := gradients.RawRowView(at*C + l)
			r.head.Set(i, l, floats.Dot(product[l*wide:(l+1)*wide], z))
			r.cross.Set(i, l, floats.Dot(product[wide*C:], own))
			r.own.Set(i, l, floats.Dot(r.ofMap.RawRowView(at*C+i), own))
		}
	}
}

// along is logit q_j of the row at a place, with log p̂, and its variance.
func (r *spreads) along(at, j int, logp []float64) (logit, variance float64) {
	logit = logitParts(r.parts, r.logq.RawRowView(at), j)
	clear(r.inputs)
	for l, part := range r.parts {
		floats.AddScaled(r.inputs, part, r.byInput.RawRowView(at*len(r.parts)+l))
	}
	throughHead(r.through, r.inputs, logp)
	t, w := mat.NewVecDense(len(r.through), r.through), mat.NewVecDense(len(r.parts), r.parts)
	return logit, mat.Inner(t, r.head, t) + 2*mat.Inner(t, r.cross, w) + mat.Inner(w, r.own, w)
}

// spreads computes variances of logits of a few rows at a time. The C gradients of a row
// lie in the span of e_i ⊗ z, i < C, for the head and of the C gradients of log q for the
// map: with t and w their coordinates,
//
//	Var logit q_j = tᵀ head t + 2 tᵀ cross w + wᵀ own w.
type spreads struct {
	rows             int
	gradients        *mat.Dense   // rows·C × d₂
	byInput          *mat.Dense   // rows·C × C, of log q by log p̂
	logq             *mat.Dense   // rows × C
	ofMap            mat.Dense    // the gradients times the map's covariance
	ofHead           []*mat.Dense // of each class i: (e_i ⊗ z) times the covariance, rows × (d₁+d₂)
	head, cross, own *mat.Dense   // C×C of the current row
	parts, through   []float64    // w and t
	inputs           []float64
	whole            []float64 // d₂
}

func newSpreads(C, d2 int) *spreads {
	r := &spreads{rows: max(1, sandwichRows/C), head: mat.NewDense(C, C, nil), cross: mat.NewDense(C, C, nil), own: mat.NewDense(C, C, nil)}
	r.gradients, r.byInput, r.logq = mat.NewDense(r.rows*C, d2, nil), mat.NewDense(r.rows*C, C, nil), mat.NewDense(r.rows, C, nil)
	for range C {
		r.ofHead = append(r.ofHead, new(mat.Dense))
	}
	r.parts, r.through = make([]float64, C), make([]float64, C)
	r.inputs, r.whole = make([]float64, C), make([]float64, d2)
	return r
}

// TwoStage is the covariance of the fitted map and the head of its divided base,
// from the calibration rows that both were fitted to, or others as in [Trained.Sandwich]. A map that was fitted to
// other rows than its base is an error. For the ridges see [NewTwoStage]; [Trained.Ridge] and [Headed] give the ridges of the fit.
func (t *Trained) TwoStage(ctx context.Context, cal *data.Set, ridge, headRidge float64) (*TwoStage, error) {
	base, headed := t.Base.(Headed)
	switch {
	case !headed:
		return nil, fmt.Errorf("layers: intervals of two stages count the error of a head, and %s has none that it tells of", NameOf(t.Base))
	case t.weights == nil:
		return nil, ErrUnfitted
	case t.fitted() != base.Sizes().Rows():
		return nil, fmt.Errorf("layers: intervals of two stages are of a head and a map that were fitted to the same rows; this head was fitted to %d and its map to %d: take the head as given by Sandwich, or fit both again", base.Sizes().Rows(), t.fitted())
	}
	view, err := t.viewOf(cal)
	if err != nil {
		return nil, err
	}
	z := data.Dense(base.Quantized(view))
	return NewTwoStage(ctx, t.Map, t.weights, Observe(view, cal, t.fitted()), z, base.Sizes(), Ridges{Map: ridge, Head: headRidge})
}

// TwoStageIntervals returns the interval of each posterior of x (N×C each) at a level, with
// the error of both stages.
func (t *Trained) TwoStageIntervals(ctx context.Context, s *TwoStage, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	view, err := t.viewOf(x)
	if err != nil {
		return nil, nil, err
	}
	return s.Intervals(ctx, view, data.Dense(t.Base.(Headed).Quantized(view)), level)
}
