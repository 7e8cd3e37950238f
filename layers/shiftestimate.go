package layers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"calibra/data"
	"calibra/optim"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ShiftEstimate is a label shift that was estimated from new rows.
type ShiftEstimate struct {
	LabelShift             // New is Old where the rows do not tell them apart
	Lower, Upper []float64 // 95 % interval of each new prior (C)
	PValue       float64   // of rows without a shift
	Shifted      bool      // whether PValue is below its level
}

const (
	shiftLevel     = .01 // of the test against no shift
	shiftRedraws   = 199
	shiftExceeding = 10   // redraws that are as far apart, after which no more are needed (Besag & Clifford 1991)
	shiftPrior     = 4.   // rows that the prior is worth for each class
	shiftQuantile  = 1.96 // of a 95 % interval
)

// Estimate finds the new priors π′ of new rows from their predictions (M×C, weighed; nil: 1 each). With the old priors
// π of N calibration rows, it maximizes
//
//	ℓ(π′) = N/(N + M) Σ_i w_i log Σ_y p(y | x_i) π′_y/π_y + κ Σ_y π_y log π′_y
//
// The EM iteration of Saerens et al. (2002, eq. 2.9) maximizes the first term; it is concave (Alexandari, Kundaje &
// Shrikumar 2020), so Newton's method finds the same priors ([optim.Mixture]). The factor N/(N + M) is there since π is
// as uncertain as N rows leave it: the difference of two means has the variance of NM/(N + M) rows. The last term is a
// Dirichlet prior around no shift, worth κ rows. Weights count as their effective number of rows.
//
// The old priors stay unless 2 (ℓ(π′) − ℓ(π)) is larger than among rows that are drawn from both samples together, N
// and M of them, in all but 1 % of the draws.
func (p *Predicted) Estimate(
	ctx context.Context, logProbs *mat.Dense, weights []float64, rng *rand.Rand,
) (*ShiftEstimate, error) {
	if classes := logProbs.RawMatrix().Cols; classes != len(p.Mean) {
		return nil, fmt.Errorf("layers: label shift: predictions of %d classes, not of %d", classes, len(p.Mean))
	}
	old := p.Priors()
	s := &ShiftEstimate{LabelShift: LabelShift{Old: old, New: old}}
	x := newUnlabelled(logProbs, weights)
	found, err := x.likeliest(ctx, old, p.Rows/(p.Rows+x.rows), shiftPrior*float64(len(old)))
	if err != nil {
		return nil, err
	}
	if s.PValue, err = p.chance(ctx, x, found.ratio, rng); err != nil {
		return nil, err
	}
	if s.Shifted = s.PValue <= shiftLevel; s.Shifted {
		s.New = found.priors
	}
	free, err := x.likeliest(ctx, old, 1, 1)
	if err != nil {
		return nil, err
	}
	s.Lower, s.Upper = p.intervals(free)
	for y, v := range s.New {
		s.Lower[y], s.Upper[y] = min(s.Lower[y], v), max(s.Upper[y], v)
	}
	return s, nil
}

// String is "new priors, with 95 % intervals: class a .500 → .100 (.080 to .120), …", after a line where the old ones
// stay.
func (s *ShiftEstimate) String(name func(class int) string) string {
	text := "new priors"
	if !s.Shifted {
		text = fmt.Sprintf("the shares of the classes do not differ by more than chance (p = %s): the priors stay\n"+
			"shares of the classes", thousandths(s.PValue))
	}
	return text + ", with 95 % intervals: " + s.each(name, func(y int) string {
		return fmt.Sprintf(" (%s to %s)", thousandths(s.Lower[y]), thousandths(s.Upper[y]))
	})
}

// unlabelled are the predictions of new rows (M×C) with as many rows as each counts for.
type unlabelled struct {
	probs  *mat.Dense
	counts []float64
	rows   float64 // their sum
}

func newUnlabelled(logProbs *mat.Dense, weights []float64) *unlabelled {
	n, _ := logProbs.Dims()
	x := &unlabelled{probs: new(mat.Dense), counts: slices.Repeat([]float64{1}, n), rows: data.Effective(weights, n)}
	x.probs.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, logProbs)
	if weights != nil {
		copy(x.counts, weights)
	}
	floats.Scale(x.rows/floats.Sum(x.counts), x.counts)
	return x
}

// likely are new priors of the largest ℓ.
type likely struct {
	priors    []float64
	densities []float64 // r_iy = p(y | x_i)/π_y, and a row for each class, the prior's
	counts    []float64 // n_i
	ratio     float64   // 2 (ℓ(π′) − ℓ(π))
}

// likeliest maximizes ℓ with the factor that is given. The prior is that of κπ_y more rows whose class y is known.
func (x *unlabelled) likeliest(ctx context.Context, old []float64, factor, kappa float64) (*likely, error) {
	classes := len(old)
	l := &likely{priors: slices.Clone(old)}
	scale := data.Each(old, func(p float64) float64 { return 1 / p })
	for i, n := range x.counts {
		if n > 0 {
			at := len(l.densities)
			l.densities = append(l.densities, x.probs.RawRowView(i)...)
			floats.Mul(l.densities[at:], scale)
			l.counts = append(l.counts, factor*n)
		}
	}
	for y, p := range old {
		at := len(l.densities)
		l.densities = append(l.densities, make([]float64, classes)...)
		l.densities[at+y] = 1
		l.counts = append(l.counts, kappa*p)
	}
	mixture := optim.Mixture{Densities: l.densities, Counts: l.counts, Start: old}
	if err := mixture.Minimize(ctx, l.priors); err != nil {
		return nil, err
	}
	for i, n := range l.counts {
		row := l.densities[i*classes : (i+1)*classes]
		l.ratio += 2 * n * math.Log(floats.Dot(row, l.priors)/floats.Dot(row, old))
	}
	return l, nil
}

// chance is the p-value of a ratio among rows without a shift.
func (p *Predicted) chance(ctx context.Context, x *unlabelled, ratio float64, rng *rand.Rand) (float64, error) {
	pool := newPool(p, x)
	draw := &unlabelled{probs: pool.probs, rows: x.rows}
	exceeding := 0
	for k := 1; k <= shiftRedraws; k++ {
		old := (&Predicted{Mean: pool.mean(pool.draw(p.Rows, rng)), Rows: p.Rows}).Priors()
		draw.counts = pool.draw(x.rows, rng)
		l, err := draw.likeliest(ctx, old, p.Rows/(p.Rows+x.rows), shiftPrior*float64(len(old)))
		if err != nil {
			return 0, err
		}
		if l.ratio >= ratio {
			if exceeding++; exceeding == shiftExceeding {
				return float64(exceeding) / float64(k), nil
			}
		}
	}
	return float64(exceeding+1) / (shiftRedraws + 1), nil
}

// pool are the rows of two samples, of the first those that a model keeps for all of them.
type pool struct {
	probs      *mat.Dense
	cumulative []float64 // of how many rows each counts for
}

func newPool(p *Predicted, x *unlabelled) *pool {
	n, _ := p.Some.Dims()
	m := &pool{probs: new(mat.Dense)}
	m.probs.Stack(p.Some, x.probs)
	counts := slices.Concat(slices.Repeat([]float64{p.Rows / float64(n)}, n), x.counts)
	m.cumulative = floats.CumSum(make([]float64, len(counts)), counts)
	return m
}

// draw is how often each row is drawn among so many.
func (m *pool) draw(rows float64, rng *rand.Rand) []float64 {
	counts := make([]float64, len(m.cumulative))
	n := max(1, int(math.Round(rows)))
	for range n {
		at := sort.SearchFloat64s(m.cumulative, rng.Float64()*m.cumulative[len(counts)-1])
		counts[at] += rows / float64(n)
	}
	return counts
}

// mean is that of the predictions.
func (m *pool) mean(counts []float64) []float64 {
	mean := make([]float64, m.probs.RawMatrix().Cols)
	for i, n := range counts {
		if n > 0 {
			floats.AddScaled(mean, n, m.probs.RawRowView(i))
		}
	}
	floats.Scale(1/floats.Sum(mean), mean)
	return mean
}

// intervals are of the new priors q without a prior to speak of, by the delta method and Wilson's interval for the
// number of rows that would leave a share as uncertain. With r_i the densities, s_i = r_iᵀq and n = Σ n_i, q has the
// covariance
//
//	A⁻¹ − qqᵀ/n + S (G⁺ − diag(1/π)) Sᵀ/N ,  A = Σ_i n_i r_i r_iᵀ/s_i² ,  S = n A⁻¹ − diag(q) ,  G = E(diag(p) − ppᵀ)
//
// The second part is that of the calibration rows, from which π and the offsets of the classes were estimated: G⁺/N is
// the covariance of such offsets (Anderson 1972; Qin & Zhang 1997). S of offsets that are alike is 0.
func (p *Predicted) intervals(l *likely) (lower, upper []float64) {
	classes, q := len(l.priors), l.priors
	a := mat.NewSymDense(classes, nil)
	for i, n := range l.counts {
		row := l.densities[i*classes : (i+1)*classes]
		s := floats.Dot(row, q)
		a.SymRankOne(a, n/(s*s), mat.NewVecDense(classes, row))
	}
	rows, total := p.Some.RawMatrix().Rows, floats.Sum(l.counts)
	g := mat.NewSymDense(classes, slices.Repeat([]float64{1}, classes*classes)) // of which S is 0
	for i := range rows {
		g.SymRankOne(g, -1/float64(rows), p.Some.RowView(i))
		for y, v := range p.Some.RawRowView(i) {
			g.SetSym(y, y, g.At(y, y)+v/float64(rows))
		}
	}
	for y := range q {
		g.SetSym(y, y, g.At(y, y)+1/p.Rows) // classes that are hardly confused have no offset to speak of
	}
	inverse, offsets := inverseOf(a), inverseOf(g)
	s := mat.NewDense(classes, classes, nil)
	s.Scale(total, inverse)
	for y, old := range p.Priors() {
		s.Set(y, y, s.At(y, y)-q[y])
		offsets.SetSym(y, y, offsets.At(y, y)-1/old)
	}
	for y, share := range q {
		variance := inverse.At(y, y) - share*share/total + max(0, mat.Inner(s.RowView(y), offsets, s.RowView(y)))/p.Rows
		rowsInverse := max(variance/max(share*(1-share), 1e-300), 1/total)
		z := shiftQuantile * shiftQuantile * rowsInverse
		half := math.Sqrt(z*share*(1-share) + z*z/4)
		lower = append(lower, max(0, (share+z/2-half)/(1+z)))
		upper = append(upper, min(1, (share+z/2+half)/(1+z)))
	}
	return lower, upper
}

// inverseOf is that of a positive definite matrix, 0 of one that is none to rounding.
func inverseOf(a *mat.SymDense) *mat.SymDense {
	return cmp.Or(estimate.InverseOff(a, nil, math.Inf(1)), mat.NewSymDense(a.SymmetricDim(), nil))
}
