package layers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/work"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"gorgonia.org/tensor"
)

// Sandwich is the sampling covariance of a fitted [Map] (White 1982): how far its learned weights θ, and the posteriors
// made of them, would move on other calibration rows. With s_j = ∂log q_j/∂θ at a row ([Scores]),
//
//	F = Σ_rows Σ_j q_j s_j s_jᵀ + Λ,  Λ = ridge·N·I,
//	J = Σ_rows s_y s_yᵀ/(1 − h)² + Λ,  h = s_yᵀ F⁻¹ s_y,
//	Cov(θ̂) = F⁻¹ J F⁻¹.
//
// The leverage h makes up for the rows' pull on the fit that judges them, as in MacKinnon & White's HC3 (1985), the
// jackknife to first order. F is the Gauss–Newton Hessian. Unlike the Hessian it is positive semidefinite wherever
// training stopped. The two are equal where the map's scores are linear in θ, and in expectation where the map is
// right. Elsewhere the errors are approximate: for a bilinear map, with a tenth of the labels at random, they were .7
// to 1.7 times those of a bootstrap. The ridge of training counts as data that was seen, so that a codeword with few
// rows has the prior's spread. The covariance leaves out the bias that a ridge makes.
//
// A [Costed] map is fitted to another loss than the likelihood: s_y is then the gradient of that loss at the row, its
// penalty included, and F the Hessian of its sum, by fourth-order central differences.
//
// Directions in which no posterior of these rows changes, such as (a_k, b_k) → (t a_k, b_k/t) of [Bilinear] and a shift
// of the logits of a prior, are Free. Without a ridge nothing is known along them and Cov is zero there; a posterior of
// other rows that changes along them has no interval.
//
// Of more than 6,000 weights F is kept by blocks of codewords that never meet in a row, and J by its rows, which takes
// a ridge and a map without a loss of its own. Free is then nil.
type Sandwich struct {
	// Free are orthonormal directions of θ (P each) that the calibration rows do not identify.
	Free [][]float64
	// Occurrences is N_k, how often each codeword occurs in the calibration rows, or the sum of
	// its shares (K); nil where the space is not divided.
	Occurrences []float64

	m          Map
	weights    *graph.Weights // in float64
	sizes      Sizes
	ridge      float64
	covariance *mat.SymDense
	bread      *mat.Dense // F⁻¹, without a ridge an inverse off Free
	unknown    error      // a direction that the rows do not identify though their posteriors change along it
	blocks     *blocks    // in place of covariance and bread, of many weights
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
func (o Observed) Count(row int) float64 { return o.seen(row) * o.weight(row) }

func (o Observed) seen(row int) float64 {
	if o.Counts == nil {
		return 1
	}
	return o.Counts[row]
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

// largestSandwich is up to how many weights there are matrices of their square: they then take 300 MB each.
const largestSandwich = 6000

// NewSandwich computes the covariance of the learned weights of m, fitted to the rows, with the ridge
// λ of λ/2·‖θ‖² that training added to the mean loss. If ctx is cancelled, the error wraps ctx.Err().
func NewSandwich(ctx context.Context, m Map, w *graph.Weights, rows Observed, s Sizes, ridge float64) (*Sandwich, error) {
	if err := sandwiched(ctx, m, w, rows, s); err != nil {
		return nil, err
	}
	x := &Sandwich{m: m, weights: w.As(tensor.Float64), sizes: s, ridge: ridge}
	scores, err := newScored(x, rows)
	if err != nil {
		return nil, err
	}
	if x.occur(rows); x.dim() > largestSandwich {
		if ridge == 0 || scores.loss != nil {
			return nil, fmt.Errorf("layers: intervals of %d parameters, which are more than %d, need a fit with weight decay, "+
				"and a map without a loss of its own; use fewer codewords", x.dim(), largestSandwich)
		}
		return x, x.fillBlocks(ctx, scores, rows)
	}
	return x, x.fill(ctx, scores, rows)
}

// fill computes what x consists of.
func (x *Sandwich) fill(ctx context.Context, scores *scored, rows Observed) error {
	F, err := x.information(work.Span(ctx, "", 0, 0.5), scores)
	if err != nil {
		return err
	}
	if err := x.invert(F, rows.total()); err != nil {
		return err
	}
	meat := estimate.NewMeat(estimate.Stage{Bread: x.bread, Ridge: x.ridge * rows.total()})
	logits := estimate.NewForms(x.identify, &estimate.Full{Dense: x.bread})
	err = scores.each(work.Span(ctx, "", 0.5, 1), "the map's leverages", func(row int) {
		copy(meat.Add(rows.seen(row), rows.weight(row)), scores.own)
		if x.ridge == 0 {
			scores.logit(logits.Next(row), nil, rows.Labels[row])
		}
	})
	if err != nil {
		return err
	}
	meat.Flush()
	if logits.Flush(); x.unknown != nil {
		return x.unknown
	}
	x.covariance = estimate.Congruence(mat.DenseCopyOf(meat.J), x.bread)
	if x.ridge == 0 {
		estimate.TakeOff(x.covariance, x.Free)
	}
	return nil
}

// dim is P.
func (x *Sandwich) dim() int { return x.weights.Size() }

// sandwiched refuses maps and rows of which no covariance is known.
func sandwiched(ctx context.Context, m Map, w *graph.Weights, rows Observed, s Sizes) error {
	switch {
	case ctx == nil || m == nil || w == nil || rows.View == nil || rows.View.LogProbs == nil:
		return errors.New("layers: intervals are of a map, its weights and calibration rows, with a context; give all four")
	case rows.Labels == nil:
		return errors.New("layers: intervals need the labels of the calibration rows")
	case data.InvalidLabel(rows.Labels, s.Classes) >= 0:
		i := data.InvalidLabel(rows.Labels, s.Classes)
		return fmt.Errorf("layers: calibration row %d is of class %d, the map has %d classes", i, rows.Labels[i], s.Classes)
	case rows.total() == 0:
		return errors.New("layers: intervals need at least one calibration row")
	}
	return nil
}

// invert sets Free and the bread F⁻¹ of F, which comes without its ridge, of so many rows.
func (x *Sandwich) invert(F *mat.SymDense, total float64) error {
	var off [][]float64
	x.Free, off = estimate.NullSpace(F)
	if x.ridge > 0 {
		off = nil
		for i := range x.dim() {
			F.SetSym(i, i, F.At(i, i)+x.ridge*total)
		}
	}
	scaled, scale := estimate.UnitDiagonal(F)
	inverse := estimate.InverseOff(scaled, off, math.Inf(1))
	if inverse == nil {
		return fmt.Errorf("layers: the loss of %s does not rise along %s, "+
			"so that no covariance is known: the calibration rows do not identify it, which a penalty mends, or the fit stopped short of the "+
			"minimum, which optim.rule=lbfgs mends", NameOf(x.m), x.flattest(scaled, scale))
	}
	x.bread = mat.NewDense(x.dim(), x.dim(), nil)
	x.bread.Apply(func(i, j int, v float64) float64 { return scale[i] * v * scale[j] }, inverse)
	return nil
}

// Covariance is Cov(θ̂) off the free directions (P×P).
func (x *Sandwich) Covariance() *mat.SymDense {
	if x.blocks != nil {
		unit := mat.NewDiagDense(x.dim(), slices.Repeat([]float64{1}, x.dim()))
		return estimate.Symmetric(x.blocks.Times(unit))
	}
	c := mat.NewSymDense(x.dim(), nil)
	c.CopySym(x.covariance)
	if x.ridge > 0 {
		estimate.TakeOff(c, x.Free)
	}
	return c
}

// Errors are the standard errors of the learned weights, by their names and shapes: of what moves off the free
// directions.
func (x *Sandwich) Errors() *graph.Weights {
	covariance, out, p := x.Covariance(), graph.NewWeights(tensor.Float64), 0
	for _, name := range x.weights.Learned() {
		shape := x.weights.Tensor(name).Shape()
		errs := make([]float64, shape.TotalSize())
		for i := range errs {
			errs[i] = math.Sqrt(math.Max(covariance.At(p, p), 0))
			p++
		}
		out.Add(name, errs, shape...)
	}
	return out
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
// logit: logit q_j ± z·√(gᵀ Cov g), g = ∂logit q_j/∂θ = (∂log q_j/∂θ)/(1 − q_j). A row whose posterior changes along a
// free direction is an error, where there was no ridge. It ends early with ctx's error.
func (x *Sandwich) Intervals(ctx context.Context, v *View, level float64) (lower, upper *mat.Dense, err error) {
	gradient := func(g []float64, scores *Scores, _, j int) (logit, more float64) { return scores.logit(g, nil, j), 0 }
	if x.blocks != nil {
		return x.intervals(ctx, v, level, x.blocks, gradient)
	}
	return x.intervals(ctx, v, level, &estimate.Full{Dense: mat.DenseCopyOf(x.covariance)}, gradient)
}

// intervals are those by a covariance of the weights: gradient fills ∂logit q_j/∂θ and returns the logit, and what else
// adds to its variance.
func (x *Sandwich) intervals(
	ctx context.Context, v *View, level float64, covariance estimate.Multiplier,
	gradient func(g []float64, scores *Scores, row, j int) (logit, more float64),
) (lower, upper *mat.Dense, err error) {
	if err := CheckLevel(level); err != nil {
		return nil, nil, err
	}
	scores, err := NewScores(x.m, x.weights, v, x.sizes)
	if err != nil {
		return nil, nil, err
	}
	z := distuv.UnitNormal.Quantile(0.5 + level/2)
	n, C := v.LogProbs.Dims()
	lower, upper = mat.NewDense(n, C, nil), mat.NewDense(n, C, nil)
	logit, more := make([]float64, n*C), make([]float64, n*C)
	spread := estimate.NewForms(func(at int, g, variance []float64) {
		reach := z * math.Sqrt(math.Max(variance[0]+more[at], 0))
		lower.Set(at/C, at%C, sigmoid(logit[at]-reach))
		upper.Set(at/C, at%C, sigmoid(logit[at]+reach))
		if err == nil {
			err = x.tells(at/C, g)
		}
	}, covariance)
	for row := range n {
		if err := cmp.Or(ctx.Err(), scores.Set(row)); err != nil {
			return nil, nil, err
		}
		work.Report(ctx, float64(row)/float64(n), "intervals of rows")
		for j := range C {
			at := row*C + j
			logit[at], more[at] = gradient(spread.Next(at), scores, row, j)
		}
	}
	spread.Flush()
	return lower, upper, err
}

// Sandwich is the covariance of the fitted map, from the calibration rows it was fitted to, or from others of their
// law: these count together as many as the map was fitted to. For the ridge see [NewSandwich]; [Trained.Ridge] is the
// ridge of the fit. A fit that ended where the loss has no minimum has no covariance, which is an error:
// [optim.Settings] has a weight decay, [optim.LBFGS] none.
func (t *Trained) Sandwich(ctx context.Context, cal *data.Set, ridge float64) (*Sandwich, error) {
	if err := t.Unbounded(); err != nil {
		return nil, err
	}
	view, err := t.viewOf(cal)
	if err != nil {
		return nil, err
	}
	return NewSandwich(ctx, t.Map, t.weights, Observe(view, cal, t.fitted()), t.Base.Sizes(), ridge)
}

// fitted is how many rows the map was fitted to; its base may have been fitted to others.
func (t *Trained) fitted() int { return cmp.Or(t.rows, t.Base.Sizes().Rows()) }

// viewOf is what the base sees of a set, with the set itself for maps with inputs of their own.
func (t *Trained) viewOf(x *data.Set) (*View, error) {
	view, err := t.Base.View(x)
	if err == nil {
		view.Set = x
	}
	return view, err
}

// Observe are rows as a base sees them, which count together as many as were fitted, 0 as many as there are, each
// by its weight.
func Observe(view *View, cal *data.Set, fitted int) Observed {
	if cal == nil {
		return Observed{View: view}
	}
	rows, n := Observed{View: view, Labels: cal.Labels}, cal.Len()
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
	view, err := t.viewOf(x)
	if err != nil {
		return nil, nil, err
	}
	return s.Intervals(ctx, view, level)
}

// sigmoid is 1/(1+e^−x).
func sigmoid(x float64) float64 {
	t := math.Exp(-math.Abs(x))
	if x >= 0 {
		return 1 / (1 + t)
	}
	return t / (1 + t)
}
