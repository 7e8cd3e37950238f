package studies

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"gorgonia.org/tensor"
)

// intervalLevel is the nominal coverage.
const intervalLevel = 0.9

// occurrenceEdges are the classes of N_k in which coverage is counted.
var occurrenceEdges = [...]float64{30, 100, 300, 1000, 3000, 1e4, math.Inf(1)}

// coverage counts how often an interval held the truth, by class of N_k.
type coverage struct {
	held, all [len(occurrenceEdges) - 1]float64
}

func (c *coverage) count(occurrences float64, holds bool) {
	for class, low := range occurrenceEdges[:len(c.all)] {
		if occurrences >= low && occurrences < occurrenceEdges[class+1] {
			c.all[class]++
			if holds {
				c.held[class]++
			}
		}
	}
}

// coverageLeft is what the delta method and the leverage correction leave open of a
// coverage where N_k ≥ 300.
const coverageLeft = 0.015

// smallSamplesLost is how many of the samples may have no maximum of the likelihood: the
// smallest N leaves the rarest codeword a few dozen rows.
const smallSamplesLost = 0.1

// intervalSamples are what the samples of the study gave.
type intervalSamples struct {
	predictions, factors []coverage
	variances            []float64 // at the largest N, see varianceRatio
	largest              int       // N
	lost                 []string  // those without a fit
}

// drawIntervals fits samples of growing N and computes their intervals.
func drawIntervals(ctx context.Context, s theory.Settings) (*intervalSamples, error) {
	p := newProblem(s, theory.Fast(), s.RNG(41))
	of, err := p.population(p.model, p.law(0))
	if err != nil {
		return nil, err
	}
	t := s.Draws(of.Weights, choose(s, []int{1e4, 3e4, 1e5, 1e6}, []int{3e3, 1e4, 3e4, 1e5, 1e6}), choose(s, 40, 200))
	index := func(x theory.Trial) int { return x.Size*t.Count + x.Replicate }
	t.Rand = func(x theory.Trial) *rand.Rand { return s.RNG(42, uint64(index(x))) }
	n := t.Total()
	x := &intervalSamples{predictions: make([]coverage, n), factors: make([]coverage, n), largest: t.Sizes[len(t.Sizes)-1]}
	variances, losses, err := t.Measure(ctx, p.model, 1, func(model theory.Model, at theory.Trial) ([]float64, error) {
		sample := t.Draw(at)
		theta, err := p.fit(model, sample)
		if err != nil {
			return nil, err // with a codeword seen a few dozen times the likelihood may have no maximum
		}
		p.gauge.Fix(theta, p.Theta)
		posteriors, sandwich, err := intervalsAt(ctx, p.Table, theta, sample, at.N)
		if err != nil {
			return nil, err
		}
		x.predictions[index(at)].countPosteriors(posteriors, p.Truth, rarest(p.Table, sandwich.Occurrences))
		countFactors(&x.factors[index(at)], sandwich, p.Truth, theta)
		return []float64{varianceRatio(sandwich, of, at.N)}, nil
	})
	x.lost = losses
	x.variances = slices.DeleteFunc(variances[0][len(t.Sizes)-1], math.IsNaN)
	return x, err
}

// intervalsAt are the intervals of factors that were fitted to a sample of N rows, beside their covariance; a trial is
// lost where it has none.
func intervalsAt(ctx context.Context, t *theory.Table, theta, sample []float64, N int) (of posteriorIntervals, s *layers.Sandwich, err error) {
	rows := t.Observed()
	rows.Counts = make([]float64, len(sample))
	floats.AddScaled(rows.Counts, float64(N), sample)
	weights, err := bilinearWeights(theta, t.Sizes())
	if err != nil {
		return of, nil, err
	}
	if s, err = layers.NewSandwich(ctx, paper, weights, rows, t.Sizes(), 0); err == nil {
		of.lower, of.upper, err = s.Intervals(ctx, t.View(1), intervalLevel)
	}
	if err != nil && ctx.Err() == nil {
		err = theory.Lost{Err: err}
	}
	return of, s, err
}

// posteriorIntervals are those of each row and class.
type posteriorIntervals struct{ lower, upper *mat.Dense }

func (x posteriorIntervals) hold(row, j int, q float64) bool {
	return x.lower.At(row, j) <= q && q <= x.upper.At(row, j)
}

// countPosteriors counts the posteriors whose interval holds the true one; rarest is N_k of the
// rarest codeword of each cell.
func (c *coverage) countPosteriors(of posteriorIntervals, truth *theory.Truth, rarest []float64) {
	for at, q := range truth.Label {
		row := at / truth.Table.Classes
		c.count(rarest[row/truth.Table.Atoms], of.hold(row, at%truth.Table.Classes, q))
	}
}

// rarest is the least count of a codeword that each cell has.
func rarest(t *theory.Table, counts []float64) []float64 {
	return data.Each(t.Cells, func(cell theory.Cell) float64 {
		return slices.Min(data.Each(cell.Codes, func(k int) float64 { return counts[k] }))
	})
}

// bilinearWeights are factors as the layer keeps them.
func bilinearWeights(theta []float64, sizes layers.Sizes) (*graph.Weights, error) {
	w, err := paper.Init(sizes, theory.Settings{}.RNG())
	if err != nil {
		return nil, err
	}
	w = w.As(tensor.Float64)
	w.SetVector(theta)
	return w, nil
}

func runIntervals(ctx context.Context, s theory.Settings, r *theory.Report) error {
	x, err := drawIntervals(ctx, s)
	if err != nil {
		return err
	}
	x.report(s, r)
	return nil
}

// report adds the rows of the samples.
func (x *intervalSamples) report(s theory.Settings, r *theory.Report) {
	n := len(x.predictions)
	r.Rare("unsettled", fmt.Sprintf("samples of %d without a maximum of the likelihood", n), x.lost, n, smallSamplesLost, "some, at N_k of a few dozen")
	variance := theory.MeanOf(x.variances)
	r.Near("variance", fmt.Sprintf("variance of the factors that a sample estimates over that of the population, N = %d", x.largest), variance, 1, varianceLeft, "1")
	ofPosteriors := theory.Curve{Label: "posteriors", Style: theory.Joined}
	ofFactors := theory.Curve{Label: "factors", Style: theory.Joined}
	for class := range len(occurrenceEdges) - 1 {
		low, high := occurrenceEdges[class], occurrenceEdges[class+1]
		name := fmt.Sprintf("%g ≤ N_k < %g", low, high)
		if math.IsInf(high, 1) {
			name = fmt.Sprintf("N_k ≥ %g", low)
		}
		part := func(all []coverage) theory.Estimate { // of all samples
			return theory.Bootstrap(1, len(all), s.RNG(43, uint64(class)), func(pick [][]int) []float64 {
				var held, total float64
				for _, i := range pick[0] {
					held, total = held+all[i].held[class], total+all[i].all[class]
				}
				return []float64{held / total}
			})[0]
		}
		posterior, factor := part(x.predictions), part(x.factors)
		if math.IsNaN(posterior.Value) { // no codeword was that rare
			continue
		}
		expected := math.NaN() // the delta method needs rows
		if low >= 300 {
			expected = intervalLevel
		}
		r.Near(fmt.Sprintf("posteriors-%g", low), "coverage of posteriors, rarest codeword "+name,
			posterior, expected, coverageLeft, numeric.Short(intervalLevel))
		r.Record(fmt.Sprintf("factors-%g", low), "coverage of factors, "+name, factor, numeric.Short(intervalLevel))
		ofPosteriors.Add(low, posterior)
		ofFactors.Add(low, factor)
	}
	r.Figures = append(r.Figures, theory.Figure{
		Name: "coverage", Title: "Coverage of 90 % intervals",
		XLabel: "N_k of the (rarest) codeword, at least", YLabel: "part that holds the truth", LogX: true,
		Curves: []theory.Curve{ofPosteriors, ofFactors, ofPosteriors.PowerLaw("nominal", intervalLevel, 0)},
	})
}

// varianceLeft is what the leverage correction and terms of order 1/N_k leave open of an estimated
// variance at N = 1e6.
const varianceLeft = 0.015

// varianceRatio is the variance that a sample of N rows estimates for a factor over that of the
// population's sandwich, the mean over all. Unlike a coverage it hardly varies between samples.
func varianceRatio(s *layers.Sandwich, at theory.Limit, N int) float64 {
	errors := factorErrors(s)
	var sum float64
	for i, v := range errors {
		sum += v * v / (at.Covariance.At(i, i) / float64(N))
	}
	return sum / float64(len(errors))
}

// factorErrors are the standard errors of the balanced factors, receivers first.
func factorErrors(s *layers.Sandwich) []float64 {
	w := s.Errors()
	return slices.Concat(w.Float64s("bilinear/receiver"), w.Float64s("bilinear/sender"))
}

// countFactors counts the same for every entry of a_k and b_k.
func countFactors(c *coverage, s *layers.Sandwich, truth *theory.Truth, theta []float64) {
	z := distuv.UnitNormal.Quantile(0.5 + intervalLevel/2)
	K, C := truth.Design.Codewords, truth.Design.Classes
	for at, deviation := range factorErrors(s) {
		c.count(s.Occurrences[at/C%K], math.Abs(theta[at]-truth.Theta[at]) <= z*deviation)
	}
}
