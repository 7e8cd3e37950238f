package layers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/simd"
	"calibra/optim"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Sandwich is the sampling covariance of a fitted [Bilinear] map (White 1982): how
// far its factors, and the posteriors made of them, would move on other calibration
// rows. With s_j = ∂log q_j/∂θ at a row, θ = (receivers, senders, prior logits),
//
//	F = Σ_rows Σ_j q_j s_j s_jᵀ + Λ,  Λ = ridge·N·I,
//	J = Σ_rows s_y s_yᵀ/(1 − h)² + Λ,  h = s_yᵀ F⁻¹ s_y,
//	Cov(θ̂) = F⁻¹ J F⁻¹ off the gauge.
//
// The leverage h makes up for the rows' pull on the fit that judges them, as in
// MacKinnon & White's HC3 (1985), the jackknife to first order.
// F is the Gauss–Newton Hessian: unlike the Hessian it is positive semidefinite
// wherever training stopped, and equals it in expectation where the map is right. The
// ridge of training counts as data that was seen, so that a codeword with few rows
// has the prior's spread. It leaves out the bias that a ridge makes.
//
// The gauge (a_k, b_k) → (t a_k, b_k/t) and the shift of the prior's logits change
// no posterior; Cov is zero along them, the errors those of balanced factors.
type Sandwich struct {
	sizes      Sizes
	theta      []float64 // K·C receivers, K·C senders, balanced, C prior logits
	learned    int       // how many of theta are learned: the prior may be fixed
	covariance *mat.SymDense
	bread      *mat.Dense // F⁻¹, with a curvature along the gauge
	// Occurrences is N_k, how often each codeword occurs in the calibration rows, or the sum of
	// its shares (K).
	Occurrences []float64
}

// Observed are labelled rows as a [Map] sees them.
type Observed struct {
	View   *View
	Labels []int     // N
	Counts []float64 // N, how often each row was seen; nil: once
	// Weights multiply the rows' losses (N, nil: 1 each). A row that is seen n times adds n times the square of its
	// gradient to the information, one of weight n the square of n times its gradient.
	Weights []float64
}

// Count is by what a row's loss is multiplied: how often it was seen, times its weight.
func (o Observed) Count(row int) float64 {
	count := 1.0
	if o.Counts != nil {
		count = o.Counts[row]
	}
	return count * o.weight(row)
}

func (o Observed) weight(row int) float64 {
	if o.Weights == nil {
		return 1
	}
	return o.Weights[row]
}

// total is how many rows were seen.
func (o Observed) total() (total float64) {
	for row := range o.Labels {
		total += o.Count(row)
	}
	return total
}

// LargestLeverage keeps the correction of a row that a factor hangs on finite.
const LargestLeverage = 0.5

// sandwichRows is how many vectors go into one product: enough to leave its rate to
// the kernels of package simd, which have no symmetric ones.
const sandwichRows = 256

// outerSum adds outer products of vectors to a symmetric matrix, many at a time.
type outerSum struct {
	to    *mat.SymDense
	rows  *mat.Dense
	count int
}

func newOuterSum(to *mat.SymDense) *outerSum {
	return &outerSum{to: to, rows: mat.NewDense(sandwichRows, to.SymmetricDim(), nil)}
}

// add adds scale²·v vᵀ.
func (s *outerSum) add(scale float64, v []float64) {
	floats.ScaleTo(s.rows.RawRowView(s.count), scale, v)
	if s.count++; s.count == sandwichRows {
		s.flush()
	}
}

func (s *outerSum) flush() {
	if s.count > 0 {
		dim := s.to.SymmetricDim()
		rows, to := s.rows.Slice(0, s.count, 0, dim).(*mat.Dense).RawMatrix(), s.to.RawSymmetric()
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, rows, rows, 1, blas64.General{Rows: dim, Cols: dim, Stride: to.Stride, Data: to.Data})
	}
	s.count = 0
}

// forms computes vᵀ M v for vectors v, many at a time.
type forms struct {
	of       *mat.Dense // M
	vectors  *mat.Dense // sandwichRows×dim
	products mat.Dense  // the vectors times M
	tags     []int
	visit    func(tag int, v []float64, form float64)
}

func newForms(of *mat.Dense, visit func(tag int, v []float64, form float64)) *forms {
	_, dim := of.Dims()
	return &forms{of: of, vectors: mat.NewDense(sandwichRows, dim, nil), visit: visit}
}

// next returns the space of a vector to be set, whose form is visited with its tag.
func (f *forms) next(tag int) []float64 {
	if len(f.tags) == sandwichRows {
		f.flush()
	}
	f.tags = append(f.tags, tag)
	return f.vectors.RawRowView(len(f.tags) - 1)
}

func (f *forms) flush() {
	if len(f.tags) == 0 {
		return
	}
	_, dim := f.of.Dims()
	vectors := f.vectors.Slice(0, len(f.tags), 0, dim)
	f.products.Reset()
	f.products.Mul(vectors, f.of)
	for i, tag := range f.tags {
		v := f.vectors.RawRowView(i)
		f.visit(tag, v, floats.Dot(f.products.RawRowView(i), v))
	}
	f.tags = f.tags[:0]
}

// largestSandwich bounds 2KC + C: its matrices then take 300 MB each.
const largestSandwich = 6000

// NewSandwich computes the covariance of weights w of a [Bilinear] fitted to the rows, with the ridge
// λ of λ/2·‖θ‖² that training added to the mean loss. Learned slot scales, a view
// that is not divided, and more than 6000 parameters are errors. If ctx is cancelled, the
// error wraps ctx.Err().
func NewSandwich(ctx context.Context, w *graph.Weights, rows Observed, s Sizes, ridge float64) (*Sandwich, error) {
	if err := sandwiched(w, rows, s); err != nil {
		return nil, err
	}
	x := newBalanced(w, s)
	gradient := newGradients(x)
	each := func(visit func(row int)) error { return gradient.each(ctx, "the map's information", rows, visit) }
	gauge := x.gauge()
	if err := x.invert(rows, gradient, each, gauge, ridge); err != nil {
		return nil, err
	}
	J := mat.NewSymDense(x.learned, nil)
	for i := range x.learned {
		J.SetSym(i, i, ridge*rows.total())
	}
	squares := newOuterSum(J)
	own := newForms(x.bread, func(row int, v []float64, leverage float64) {
		w := rows.weight(row)
		squares.add(math.Sqrt(rows.Count(row)*w)/(1-math.Min(w*leverage, LargestLeverage)), v)
	})
	err := each(func(row int) {
		copy(own.next(row), gradient.rows.RawRowView(rows.Labels[row]))
	})
	if err != nil {
		return nil, err
	}
	own.flush()
	squares.flush()
	x.covariance = sandwichOf(x.bread, J)
	x.projectOff(gauge)
	return x, nil
}

// sandwichOf is F⁻¹ J F⁻¹.
func sandwichOf(bread *mat.Dense, J *mat.SymDense) *mat.SymDense {
	var half, full mat.Dense
	half.Mul(bread, mat.DenseCopyOf(J))
	full.Mul(&half, bread)
	out := mat.NewSymDense(J.SymmetricDim(), nil)
	for i := range J.SymmetricDim() {
		for j := i; j < J.SymmetricDim(); j++ {
			out.SetSym(i, j, (full.At(i, j)+full.At(j, i))/2)
		}
	}
	return out
}

// newBalanced is the factors of w, balanced, and what is learned beside them.
func newBalanced(w *graph.Weights, s Sizes) *Sandwich {
	x := &Sandwich{sizes: s, Occurrences: make([]float64, s.Codewords)}
	x.theta = slices.Concat(w.Float64s("bilinear/receiver"), w.Float64s("bilinear/sender"), w.Float64s("bilinear/prior"))
	x.learned = 2 * s.Codewords * s.Classes
	if slices.Contains(w.Learned(), "bilinear/prior") {
		x.learned += s.Classes
	}
	x.balance()
	return x
}

// each visits the rows that were seen, with s set to s_j. what names the work.
func (s *gradients) each(ctx context.Context, what string, rows Observed, visit func(row int)) error {
	for row := range rows.Labels {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("layers: intervals, interrupted at calibration row %d: %w", row, err)
		}
		optim.ReportProgress(ctx, what, float64(row)/float64(len(rows.Labels)))
		if rows.Count(row) == 0 {
			continue
		}
		s.set(rows.View, row, rows.View.LogProbs.RawRowView(row))
		s.center()
		visit(row)
	}
	return nil
}

// sandwiched refuses weights and rows of which no covariance is known.
func sandwiched(w *graph.Weights, rows Observed, s Sizes) error {
	dim := 2*s.Codewords*s.Classes + s.Classes
	switch {
	case w == nil || rows.View == nil:
		return errors.New("layers: there are no weights, or no calibration rows")
	case w.Has("bilinear/scale"):
		return fmt.Errorf("layers: intervals are known for slot scales fixed at 1 only; fit the map with UnitScale")
	case priorOfItsOwn(w):
		return fmt.Errorf("layers: intervals are known for one prior of all regions only; fit the map with LearnedPrior")
	case rows.View.Codes == nil || rows.Labels == nil:
		return fmt.Errorf("layers: intervals need the codes and labels of the calibration rows")
	case data.InvalidLabel(rows.Labels, s.Classes) >= 0:
		i := data.InvalidLabel(rows.Labels, s.Classes)
		return fmt.Errorf("layers: calibration row %d is of class %d, the map has %d classes", i, rows.Labels[i], s.Classes)
	case dim > largestSandwich:
		return fmt.Errorf("layers: intervals of %d parameters need matrices of their square; %d is the most, use fewer codewords", dim, largestSandwich)
	}
	return nil
}

// invert sets the bread F⁻¹ from the rows that each visits, and counts the codewords.
func (x *Sandwich) invert(rows Observed, gradient *gradients, each func(visit func(row int)) error, gauge [][]float64, ridge float64) error {
	F := mat.NewSymDense(x.learned, nil)
	total := rows.total()
	squares := newOuterSum(F)
	err := each(func(row int) {
		count := rows.Count(row)
		rows.View.eachCode(row, x.sizes, func(k int32, share float64) { x.Occurrences[k] += count * share })
		for j, logq := range gradient.logq {
			squares.add(math.Sqrt(count*math.Exp(logq)), gradient.rows.RawRowView(j))
		}
	})
	if err != nil {
		return err
	}
	squares.flush()
	if total == 0 {
		return fmt.Errorf("layers: intervals need at least one calibration row")
	}
	for i := range x.learned {
		F.SetSym(i, i, F.At(i, i)+ridge*total)
	}
	// Off the gauge: a curvature of total along it, taken out again after inversion.
	for _, v := range gauge {
		F.SymRankOne(F, total, mat.NewVecDense(len(v), v))
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(F) {
		least := floats.MinIdx(x.Occurrences)
		return fmt.Errorf("layers: the calibration rows do not identify every factor (codeword %d occurs %g times); fit with weight decay or bring more rows", least, x.Occurrences[least])
	}
	var inverse mat.SymDense
	if err := cholesky.InverseTo(&inverse); err != nil {
		return fmt.Errorf("layers: intervals: %w", err)
	}
	x.bread = mat.DenseCopyOf(&inverse)
	return nil
}

// balance rescales every pair of factors to |a_k| = |b_k|.
func (x *Sandwich) balance() {
	C := x.sizes.Classes
	for k := range x.sizes.Codewords {
		a, b := x.factors(k)
		normA, normB := blas64.Nrm2(blas64.Vector{N: C, Inc: 1, Data: a}), blas64.Nrm2(blas64.Vector{N: C, Inc: 1, Data: b})
		if normA == 0 || normB == 0 {
			continue
		}
		t := math.Sqrt(normB / normA)
		floats.Scale(t, a)
		floats.Scale(1/t, b)
	}
}

func (x *Sandwich) factors(k int) (receiver, sender []float64) {
	C, K := x.sizes.Classes, x.sizes.Codewords
	return x.theta[k*C:][:C], x.theta[(K+k)*C:][:C]
}

// gauge returns orthonormal directions that change no posterior: (a_k, −b_k) for
// each codeword, and the shift of learned prior logits.
func (x *Sandwich) gauge() [][]float64 {
	C, K := x.sizes.Classes, x.sizes.Codewords
	var directions [][]float64
	for k := range K {
		a, b := x.factors(k)
		v := make([]float64, x.learned)
		copy(v[k*C:], a)
		floats.AddScaled(v[(K+k)*C:][:C], -1, b)
		if norm := floats.Norm(v, 2); norm > 0 {
			floats.Scale(1/norm, v)
			directions = append(directions, v)
		}
	}
	if x.learned == len(x.theta) {
		v := make([]float64, x.learned)
		for j := range C {
			v[2*K*C+j] = 1 / math.Sqrt(float64(C))
		}
		directions = append(directions, v)
	}
	return directions
}

// projectOff takes the covariance to zero along orthonormal directions.
func (x *Sandwich) projectOff(directions [][]float64) {
	var cv mat.VecDense
	for _, direction := range directions {
		v := mat.NewVecDense(x.learned, direction)
		cv.MulVec(x.covariance, v)
		along := mat.Dot(v, &cv)
		// (I − vvᵀ) Cov (I − vvᵀ) = Cov − v(Cov v)ᵀ − (Cov v)vᵀ + (vᵀCov v) vvᵀ.
		x.covariance.RankTwo(x.covariance, -1, v, &cv)
		x.covariance.SymRankOne(x.covariance, along, v)
	}
}

// FactorErrors returns the standard errors of the balanced receivers and senders,
// K×C each.
func (x *Sandwich) FactorErrors() (receiver, sender *mat.Dense) {
	C, K := x.sizes.Classes, x.sizes.Codewords
	receiver, sender = mat.NewDense(K, C, nil), mat.NewDense(K, C, nil)
	for i := range K * C {
		receiver.Set(i/C, i%C, math.Sqrt(x.covariance.At(i, i)))
		sender.Set(i/C, i%C, math.Sqrt(x.covariance.At(K*C+i, K*C+i)))
	}
	return receiver, sender
}

// CheckLevel refuses a level that no interval has.
func CheckLevel(level float64) error {
	if !(level > 0 && level < 1) {
		return &SettingError{fmt.Sprintf("the level of an interval lies between 0 and 1, not %g", level)}
	}
	return nil
}

// Intervals returns, for each row of a view and each class, the two-sided interval
// of the given level for the posterior q_j (N×C each), by the delta method on the
// logit: logit q_j ± z·√(gᵀ Cov g), g = ∂logit q_j/∂θ = s_j/(1 − q_j). It ends early with
// ctx's error.
func (x *Sandwich) Intervals(ctx context.Context, v *View, level float64) (lower, upper *mat.Dense, err error) {
	if err := CheckLevel(level); err != nil {
		return nil, nil, err
	}
	if v.Codes == nil {
		return nil, nil, fmt.Errorf("layers: intervals need rows whose latent space is divided")
	}
	z := distuv.UnitNormal.Quantile(0.5 + level/2)
	n, C := v.LogProbs.Dims()
	lower, upper = mat.NewDense(n, C, nil), mat.NewDense(n, C, nil)
	gradient := newGradients(x)
	logit := make([]float64, n*C)
	spread := newForms(mat.DenseCopyOf(x.covariance), func(at int, _ []float64, variance float64) {
		reach := z * math.Sqrt(math.Max(variance, 0))
		lower.Set(at/C, at%C, simd.Sigmoid64(logit[at]-reach))
		upper.Set(at/C, at%C, simd.Sigmoid64(logit[at]+reach))
	})
	for row := range n {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		optim.ReportProgress(ctx, "intervals of rows", float64(row)/float64(n))
		gradient.set(v, row, v.LogProbs.RawRowView(row))
		for j := range C {
			at := row*C + j
			logit[at] = gradient.logit(spread.next(at), j)
		}
	}
	spread.flush()
	return lower, upper, nil
}

// Sandwich is the covariance of a fitted bilinear map on a divided base, from the
// calibration rows it was fitted to, or from others of their law: these count together as
// many as were fitted. For the ridge see [NewSandwich]; [Trained.Ridge] is that of the fit.
func (t *Trained) Sandwich(ctx context.Context, cal *data.Set, ridge float64) (*Sandwich, error) {
	if err := t.Unbounded(); err != nil {
		return nil, err
	}
	view, err := t.Base.View(cal)
	if err != nil {
		return nil, err
	}
	return NewSandwich(ctx, t.weights, Observe(view, cal, t.Base.Sizes()), t.Base.Sizes(), ridge)
}

// Observe are rows as a base of these sizes sees them, which count together as many as were fitted,
// each by its weight.
func Observe(view *View, cal *data.Set, s Sizes) Observed {
	if cal == nil {
		return Observed{View: view}
	}
	rows, fitted, n := Observed{View: view, Labels: cal.Labels}, s.Rows(), cal.Len()
	if cal.Weights != nil {
		mean := cal.Total() / float64(n)
		rows.Weights = data.Each(cal.Weights, func(w float64) float64 { return w / mean })
	}
	if fitted != n && fitted != 0 {
		rows.Counts = slices.Repeat([]float64{float64(fitted) / float64(n)}, n)
	}
	return rows
}

// Intervals returns the interval of each posterior of x (N×C each) at a level.
func (t *Trained) Intervals(ctx context.Context, s *Sandwich, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	view, err := t.Base.View(x)
	if err != nil {
		return nil, nil, err
	}
	return s.Intervals(ctx, view, level)
}
