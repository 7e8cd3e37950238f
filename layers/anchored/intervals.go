package anchored

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/work"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"gorgonia.org/tensor"
)

var _ layers.Bounded = (*Joint)(nil)

// Unbounded is nil of a fitted mixture that does not keep the classifier.
func (s *stacked) Unbounded() error {
	if s.parts == nil {
		return layers.ErrUnfitted
	}
	if len(s.parts) == 0 {
		return errors.New("layers: the classifier is kept, so there is nothing that other rows would move")
	}
	return nil
}

// Sizes are the sizes of the base.
func (s *stacked) Sizes() layers.Sizes { return s.Base.Sizes() }

// Bounds are by the delta method on the logit of each posterior, with the covariance of
// [layers.Sandwich] for the learned weights θ of all parts together, their priors in place of its
// ridge:
//
//	F = Σ_rows Σ_j q_j s_j s_jᵀ + Λ ,  J = Σ_rows s_y s_yᵀ/(1 − h)² + Λ ,  Cov(θ̂) = F⁻¹ J F⁻¹
//
// A joint correction has some 100,000 weights, so neither F nor Cov is ever computed. Instead
// [intervalDraws] vectors δ ~ N(0, Cov) are drawn, F δ = Σ_rows ε s_y/(1 − h) + Λ^½ ε′ with
// standard normal ε and ε′, by conjugate gradients (Papandreou and Yuille 2010; Kline and Santos
// 2012). One ε serves all parts, since they were fitted to the same rows, and one ε′ the weights of
// one name. The variance of a logit is the mean square of its moves by δ; quantiles of Student's t
// allow for the finite number of draws, which leaves a half-width an error of an eighth. The leverages h
// come from as many draws. The draws are the same each time.
//
// The error of a [Settled] map counts: its δ, from the same ε, moves the residuals that the
// correction is fitted to. Taken as given are the strengths, which were chosen on the same rows, the
// weights and the temperature of the mixture, and the base: the codes, the scale of the features and one
// temperature. The intervals also leave out the bias of the priors and of the mixture. If map, prior and
// strengths are those of the law, 90 % of true posteriors lie within intervals of 90 %; after a fit of three
// Gaussian classes that chooses them on 1,000 rows, 66 to 80 % do. If cross-validation leaves a correction
// nearly free, as on letter, Λ outweighs the information of the fitted rows, and intervals are wide: there,
// half of the likeliest classes have an interval wider than .76.
func (s *stacked) Bounds(ctx context.Context, cal, x *data.Set, level float64) (lower, upper *mat.Dense, err error) {
	if err := layers.CheckLevel(level); err != nil {
		return nil, nil, err
	}
	logits, variances, err := s.spread(ctx, cal, x, drawing{count: intervalDraws, left: solvedTo, noise: normals})
	if err != nil {
		return nil, nil, fmt.Errorf("layers: intervals: %w", err)
	}
	reach := distuv.StudentsT{Sigma: 1, Nu: intervalDraws}.Quantile(0.5 + level/2)
	lower, upper = mat.DenseCopyOf(logits), mat.DenseCopyOf(logits)
	bound := func(sign float64) func(i, j int, logit float64) float64 {
		return func(i, j int, logit float64) float64 {
			return 1 / (1 + math.Exp(-logit-sign*reach*math.Sqrt(variances.At(i, j))))
		}
	}
	lower.Apply(bound(-1), lower)
	upper.Apply(bound(1), upper)
	return lower, upper, nil
}

// intervalDraws are those of a variance, and of the leverages.
const intervalDraws = 32

// solvedTo is which share of its right-hand side a solution leaves. Of 1e-2 standard errors were up to 7 % off in
// TestIntervalLaws.
const solvedTo = 1e-3

// drawing is how a covariance is drawn from.
type drawing struct {
	count int
	left  float64 // of a right-hand side, the share of its norm
	noise func(stream, draw int) noise
}

// noise is n numbers of a name, the same when asked again.
type noise func(name string, n int) []float64

// normals are standard normal numbers of a stream and a draw.
func normals(stream, draw int) noise {
	rng, drawn := rand.New(rand.NewPCG(uint64(stream), uint64(draw))), map[string][]float64{}
	return func(name string, n int) []float64 {
		if drawn[name] == nil {
			drawn[name] = graph.Normals(n, 0, 1, rng)
		}
		return drawn[name]
	}
}

// spread is the logit of each posterior of x and its variance (N×C each).
func (s *stacked) spread(ctx context.Context, cal, x *data.Set, by drawing) (logits, variances *mat.Dense, err error) {
	sizes := s.Base.Sizes()
	if cal.Soft != nil {
		return nil, nil, errors.New("the calibration rows have probabilities of the classes; hand over one class of each row")
	}
	seen, err := s.Base.View(cal)
	if err != nil {
		return nil, nil, err
	}
	view, err := s.Base.View(x)
	if err != nil {
		return nil, nil, err
	}
	observed, rows, tests := layers.Observe(seen, cal, cmp.Or(s.fitted, sizes.Rows())), seen.Rows(tensor.Float64, sizes), view.Rows(tensor.Float64, sizes)
	if i := data.InvalidLabel(observed.Labels, sizes.Classes); observed.Labels == nil || i >= 0 {
		return nil, nil, fmt.Errorf("each calibration row needs a label of the %d classes", sizes.Classes)
	}
	const weighed = 0.5 // of the time
	moving, err := s.estimates(work.Span(ctx, "", 0, weighed), sizes, observed, rows, by)
	if err != nil {
		return nil, nil, err
	}
	t := &tested{stacked: s, of: moving}
	for m, p := range s.parts {
		t.said = append(t.said, tests.Function(moving[m].weights, layers.LogProbsOf(p.Map)))
	}
	n, c := view.LogProbs.Dims()
	logits, variances = mat.NewDense(n, c, nil), mat.NewDense(n, c, nil)
	if err := t.logits(logits); err != nil {
		return nil, nil, err
	}
	return logits, variances, t.addVariances(work.Span(ctx, "", weighed, 1), variances, by)
}

// tested is a mixture on test rows, with the estimates of its parts.
type tested struct {
	*stacked
	of   []*estimated
	said []*graph.Function // by each part
}

// addVariances adds those of the logits, the mean over draws.
func (t *tested) addVariances(ctx context.Context, variances *mat.Dense, by drawing) error {
	n, c := variances.Dims()
	ahead, behind := mat.NewDense(n, c, nil), mat.NewDense(n, c, nil)
	for k := range by.count {
		work.Report(ctx, float64(k)/float64(by.count), "intervals of rows")
		ways, err := together(ctx, t.of, by, k)
		if err != nil {
			return err
		}
		step := stepOf(ways...)
		if err := t.moved(ahead, ways, step); err != nil {
			return err
		}
		if err := t.moved(behind, ways, -step); err != nil {
			return err
		}
		ahead.Sub(ahead, behind)
		ahead.MulElem(ahead, ahead)
		ahead.Scale(1/(4*step*step*float64(by.count)), ahead)
		variances.Add(variances, ahead)
	}
	return nil
}

// estimates are those of the parts, with their scales and leverages.
func (s *stacked) estimates(ctx context.Context, sizes layers.Sizes, observed layers.Observed, rows *layers.Rows, by drawing) (all []*estimated, err error) {
	all = make([]*estimated, len(s.parts))
	efforts := data.Each(s.parts, func(p part) float64 { return effort(p.Map, sizes) })
	for m, p := range s.parts {
		if all[m], err = newEstimate(p.Map, sizes, p.weights, observed, rows); err != nil {
			return nil, err
		}
		if err := all[m].weigh(work.Piece(ctx, p.Name, m, efforts...), by, 1+m); err != nil {
			return nil, fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return all, nil
}

// together draws a way for each of several estimates by the same noise.
func together(ctx context.Context, of []*estimated, by drawing, draw int) ([]way, error) {
	from, ways := by.noise(0, draw), make([]way, len(of))
	for m, e := range of {
		var err error
		if ways[m], err = e.draw(ctx, by, from); err != nil {
			return nil, err
		}
	}
	return ways, nil
}

// moved writes the logits where the weights have gone a step of their ways, and takes the weights back.
func (t *tested) moved(dst *mat.Dense, ways []way, step float64) error {
	for m, e := range t.of {
		e.move(ways[m], step)
		defer e.move(ways[m], 0)
	}
	return t.logits(dst)
}

// logits writes those of the mixture's posteriors, from the outputs of its parts.
func (t *tested) logits(dst *mat.Dense) error {
	n, c := dst.Dims()
	var parts [][]float64
	var shares []float64
	for m, f := range t.said {
		out, err := f.Tables(n, layers.EvaluationBatch)
		if err != nil {
			return err
		}
		layers.Remask(out[0].Float64s())
		parts, shares = append(parts, out[0].Float64s()), append(shares, t.parts[m].share)
	}
	dst.Apply(func(_, _ int, l float64) float64 {
		return max(l-math.Log(-math.Expm1(l)), -math.MaxFloat64) // of a class that cannot be: a difference is 0
	}, t.posterior(mix(parts, shares, c)))
	return nil
}
