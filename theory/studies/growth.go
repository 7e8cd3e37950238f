package studies

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The least K and N of a growing codebook.
const (
	leastCodewords = 4
	leastGrown     = 1e6
)

// growing is a codebook of K = 4 (N/1e6)^a codewords, all used alike: K/4 copies of four codewords, in cells of one p̂,
// so that no codeword is harder where K is larger. N_k ∝ N^(1−a), and to first order
//
//	|M̂_k − M_k| ∝ (K/N)^(1/2) ∝ N^(−(1−a)/2) ,  KL = df/2N ∝ N^(−(1−a)) ,  ‖θ̂ − θ*‖ ∝ (K²/N)^(1/2) ∝ N^(a−1/2).
type growing struct {
	key, name string
	exponent  float64 // a
	*theory.Trials
	problems    []*problem // of each size
	populations []theory.Limit
	errors      [][][]float64 // of each number, size and sample
	lost        []string
}

// What is measured of a fit with a growing codebook.
const (
	grownCodeword  = iota // root mean square over codewords of |M̂_k − M_k|
	grownWhole            // ‖θ̂ − θ*‖
	grownPosterior        // root of the mean KL of the posteriors
	grownNumbers
)

func growths() []*growing {
	return []*growing{
		{key: "quarter", name: "K ∝ N^(1/4)", exponent: 1. / 4}, {key: "half", name: "K ∝ N^(1/2)", exponent: 1. / 2},
		{key: "three-quarters", name: "K ∝ N^(3/4)", exponent: 3. / 4},
	}
}

// copies is the problem of K codewords that are copies of four.
func copies(s theory.Settings, K int) *problem {
	d := theory.Design{Classes: 3, Slots: 2, Codewords: leastCodewords, Atoms: 6, Identity: 1}
	four := d.Factors(s.RNG(80))
	d.Codewords = K
	t := d.Truth(d.Multisets(), s.RNG(81))
	for k := range K {
		a, b := theory.Rescaling{Classes: d.Classes, Codewords: K}.Factors(t.Theta, k)
		ofFour, alsoOfFour := theory.Rescaling{Classes: d.Classes, Codewords: leastCodewords}.Factors(four, k%leastCodewords)
		copy(a, ofFour)
		copy(b, alsoOfFour)
	}
	t.Alike()
	p := problemOf(s, t)
	p.gauge.Fix(p.Theta, nil)
	return p
}

func (g *growing) draw(ctx context.Context, s theory.Settings) error {
	var sizes []int
	for _, K := range choose(s, []int{4, 8, 16}, []int{4, 8, 16, 32}) {
		p := copies(s, K)
		of, err := p.population(p.model.Cheapest(), p.law(0))
		if err != nil {
			return err
		}
		g.problems, g.populations = append(g.problems, p), append(g.populations, of)
		sizes = append(sizes, int(math.Round(leastGrown*math.Pow(float64(K)/leastCodewords, 1/g.exponent))))
	}
	g.Trials = s.Draws(nil, sizes, choose(s, 160, 200), 82, uint64(100*g.exponent))
	g.What = g.name
	g.Law = func(x theory.Trial) []float64 { return g.populations[x.Size].Weights }
	var err error
	g.errors, g.lost, err = g.Measure(ctx, nil, grownNumbers, func(_ theory.Model, at theory.Trial) ([]float64, error) {
		p := g.problems[at.Size]
		here := &theory.Loss{Model: p.model.Cheapest().Fork(), Weights: g.populations[at.Size].Weights}
		theta, err := p.fit(here.Model, g.Trials.Draw(at))
		if err != nil {
			return nil, err
		}
		p.gauge.Fix(theta, p.Theta)
		least, _ := here.Gradient(p.Theta)
		loss, _ := here.Gradient(theta)
		all := data.UpTo(p.Design.Codewords)
		return []float64{
			numeric.RMS(data.Each(all, func(k int) float64 { return p.target.Distance(k, theta, p.Theta) }), all),
			floats.Distance(theta, p.Theta, 2), math.Sqrt(loss - least),
		}, here.Err
	})
	return err
}

// predicted are the sandwich's numbers at a size.
func (g *growing) predicted(size int) [grownNumbers]float64 {
	of, N := &g.populations[size], float64(g.Sizes[size])
	of.Predict(g.problems[size].target)
	var risk mat.Dense
	risk.Mul(of.Hessian, of.Covariance)
	return [grownNumbers]float64{
		numeric.RMS(of.Predicted, data.UpTo(len(of.Predicted))) / math.Sqrt(N), math.Sqrt(of.Covariance.Trace() / N), math.Sqrt(mat.Trace(&risk) / 2 / N),
	}
}

// fewCodewords is what a codebook of 4 leaves open of a slope in K: its codewords meet each other more often.
const fewCodewords = 0.04

// beyondFirst is what first-order theory leaves open of a ratio of errors, at samples so large.
const beyondFirst = 0.01

func (g *growing) report(r *theory.Report, figure *theory.Figure) {
	slopes := g.Slopes(g.RNG(83), g.errors...)
	last := len(g.Sizes) - 1
	predicted := g.predicted(last)
	for n, of := range []struct {
		key, quantity, theory string
		exponent              float64
	}{
		{"codeword", "slope in N of the error of M_k", "−(1−a)/2: that of N_k^(−1/2)", (g.exponent - 1) / 2},
		{"whole", "slope in N of ‖θ̂ − θ*‖", "a − 1/2", g.exponent - 0.5},
		{"posterior", "slope in N of √KL of the posteriors", "−(1−a)/2", (g.exponent - 1) / 2},
	} {
		r.Near(of.key+"-"+g.key, of.quantity+", "+g.name, slopes[n], of.exponent, fewCodewords, of.theory)
		if n == grownWhole {
			continue
		}
		ratio := theory.RMS(g.errors[n][last]).Over(predicted[n])
		r.Ratio(of.key+"-ratio-"+g.key, fmt.Sprintf("… observed/sandwich at K = %d", g.problems[last].Design.Codewords), ratio, 1, beyondFirst, "1")
	}
	figure.Against(g.name, "sandwich at each N", len(g.Sizes), func(size int) (float64, theory.Estimate, float64) {
		return float64(g.Sizes[size]), theory.RMS(g.errors[grownCodeword][size]), g.predicted(size)[grownCodeword]
	})
}

// oneSided is a problem where the head is sure of one class in all cells of codeword 0: p̂ is (1 − m) e_class + m p̂
// there. Labels follow the calibrator, and those of the codeword are then of almost one class.
type oneSided struct {
	*problem
	theory.Limit
	share  float64 // m
	others float64 // the part of the codeword's labels that are not of their most frequent class
}

const sidedCodeword = 0

func newOneSided(s theory.Settings, share float64, class int) (*oneSided, error) {
	d := theory.Design{Classes: 3, Slots: 2, Codewords: leastCodewords, Atoms: 6, Identity: 1}
	t := d.Truth(d.Multisets(), s.RNG(85))
	holds := func(cell theory.Cell) bool { return slices.Contains(cell.Codes, sidedCodeword) }
	for v, cell := range t.Table.Cells {
		if !holds(cell) {
			continue
		}
		logP := t.Table.Of(t.Table.LogP, v)
		for i := range logP {
			p := share * math.Exp(logP[i])
			if i%d.Classes == class {
				p += 1 - share
			}
			logP[i] = math.Log(p)
		}
	}
	t.Label = t.Table.LabelLaw(t.Theta, d.Identity)
	x := &oneSided{problem: problemOf(s, t), share: share}
	x.gauge.Fix(x.Truth.Theta, nil)
	var err error
	if x.Limit, err = x.problem.population(x.model.Cheapest(), x.law(0)); err != nil {
		return nil, err
	}
	x.Predict(x.target)
	labels := make([]float64, d.Classes)
	for v, cell := range t.Table.Cells {
		if holds(cell) {
			for i, weight := range t.Table.Of(x.Weights, v) {
				labels[i%d.Classes] += weight
			}
		}
	}
	x.others = 1 - floats.Max(labels)/floats.Sum(labels)
	return x, nil
}

// sides are m of the problems, from labels of all classes to labels of almost one.
var sides = []float64{1, 0.01}

// sided are the problems, whose head is sure of the class that makes the labels most one-sided.
func newSided(s theory.Settings) (best []*oneSided, err error) {
	for class := range 3 {
		all := make([]*oneSided, len(sides))
		for i, share := range sides {
			if all[i], err = newOneSided(s, share, class); err != nil {
				return nil, err
			}
		}
		if best == nil || all[len(all)-1].others < best[len(all)-1].others {
			best = all
		}
	}
	return best, nil
}

// block is codeword 0's of a matrix, off its gauge.
func (x *oneSided) block(m mat.Matrix) *mat.SymDense {
	own := x.gauge.Coordinates(sidedCodeword)
	return estimate.Congruence(dense(m, own, own), orthogonalComplement(len(own), restrict(x.Free, own)))
}

// imbalanced are the fits of a problem whose labels are one-sided.
type imbalanced struct {
	*oneSided
	*theory.Trials
	errors [][]float64 // of M_0, of each size and sample
	lost   []string
}

func (x *oneSided) fits(ctx context.Context) (*imbalanced, error) {
	b := &imbalanced{oneSided: x, Trials: x.Draws(x.Weights, []int{1e7, 1e8, 1e9}, choose(x.Settings, 96, 200), 86)}
	b.What = fmt.Sprintf("m = %g", x.share)
	tables, losses, err := b.Measure(ctx, x.model.Cheapest(), 1, func(model theory.Model, at theory.Trial) ([]float64, error) {
		theta, err := x.problem.fit(model, b.Trials.Draw(at))
		return []float64{x.target.Distance(sidedCodeword, theta, x.Theta)}, err
	})
	b.errors, b.lost = tables[0], losses
	return b, err
}

// report compares the errors with the sandwich, and H, J and the errors with those of balanced labels.
func (b *imbalanced) report(r *theory.Report, balanced *oneSided) {
	own, name := fmt.Sprintf("-%g", b.share), fmt.Sprintf("m = %g", b.share)
	last := len(b.Sizes) - 1
	expected := func(size int) float64 { return b.Predicted[sidedCodeword] / math.Sqrt(float64(b.Sizes[size])) }
	second := func(size int) float64 { return numeric.Square(expected(size) / b.target.Size(sidedCodeword, b.Theta)) }
	r.Record("others"+own, "part of a codeword's labels that are not of its main class, "+name, theory.Exact(b.others), "")
	r.Near("sided-slope"+own, "slope in N of the error of its M_k, "+name,
		b.Slopes(b.RNG(87), b.errors)[0], -0.5, 0.005+second(0)/math.Log(100), "−1/2")
	r.Ratio("sided-ratio"+own, fmt.Sprintf("observed/sandwich RMSE at N = %g, ", float64(b.Sizes[last]))+name,
		theory.RMS(b.errors[last]).Over(expected(last)), 1, 0.01+second(last), "1")
	gap := mat.NewSymDense(len(b.Theta), nil)
	gap.CopySym(b.Hessian)
	numeric.Subtract(gap, b.Scores)
	r.Rounding("sided-information"+own, "‖H − J‖, "+name, numeric.OperatorNorm(gap), 1e-9, "0: the law is the calibrator's")
	h, before := b.block(b.Hessian), balanced.block(balanced.Hessian)
	least := func(m *mat.SymDense) float64 { values, _ := estimate.Spectrum(m); return values[0] }
	of := ", in parts of that at m = 1, " + name
	r.Record("sided-trace"+own, "tr H_kk of the codeword"+of, theory.Exact(h.Trace()/before.Trace()), "")
	r.Record("sided-least"+own, "least curvature of H_kk off the gauge"+of, theory.Exact(least(h)/least(before)), "")
	r.Record("sided-error"+own, "predicted error of its M_k"+of, theory.Exact(b.Predicted[sidedCodeword]/balanced.Predicted[sidedCodeword]),
		fmt.Sprintf("%.3g if it were that of the rows of other labels", math.Sqrt(balanced.others/b.others)))
	r.Record("sided-rest"+own, "predicted error of the other M_k together"+of,
		theory.Exact(floats.Norm(b.Predicted[1:], 2)/floats.Norm(balanced.Predicted[1:], 2)), "1 if imbalance stays with its codeword")
}

func runGrowth(ctx context.Context, s theory.Settings, r *theory.Report) error {
	figure := theory.LogLog("codebook", "A codebook that grows with the rows", "N", "RMSE of M_k")
	var lost []string
	fits := 0
	for _, g := range growths() {
		if err := g.draw(ctx, s); err != nil {
			return err
		}
		g.report(r, &figure)
		lost, fits = append(lost, g.lost...), fits+g.Total()
	}
	sided, err := newSided(s)
	if err != nil {
		return err
	}
	for _, problem := range sided {
		b, err := problem.fits(ctx)
		if err != nil {
			return err
		}
		b.report(r, sided[0])
		lost, fits = append(lost, b.lost...), fits+b.Total()
	}
	r.Unsettled(lost, fits, theory.LostPart)
	r.Figures = append(r.Figures, figure)
	return nil
}
