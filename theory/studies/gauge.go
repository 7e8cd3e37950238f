package studies

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/layers"
	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// gaugeDesigns are 32 designs with independent slots: w = 1 … 4, C = 2 … 5, δ = 0, 1,
// R = 1 … 8, K > C² among them. Each has enough cells and atoms to identify
// K(2C − 1) parameters: (C − 1)·R·cells ≥ K(2C − 1), and in a single slot
// (C − 1)·R ≥ 2C − 1.
func gaugeDesigns() []theory.Design {
	atoms := [4][2]int{{8, 6}, {2, 4}, {1, 3}, {1, 2}}                                 // by w and δ
	codewords := [4][4]int{{5, 10, 17, 6}, {5, 10, 8, 6}, {5, 10, 5, 5}, {5, 6, 4, 4}} // by w and C
	var designs []theory.Design
	for w := 1; w <= 4; w++ {
		for C := 2; C <= 5; C++ {
			for identity := range 2 {
				designs = append(designs, theory.Design{
					Classes: C, Slots: w, Codewords: codewords[w-1][C-2], Atoms: atoms[w-1][identity],
					Decades: 0.5, Identity: float64(identity),
				})
			}
		}
	}
	return designs
}

// nullityRows counts the free directions of the factors.
func nullityRows(ctx context.Context, s theory.Settings, r *theory.Report) error {
	designs := gaugeDesigns()
	type freeDirections struct {
		nullity int
		off     float64 // ‖H v‖/‖H‖ along the gauge
	}
	findings, err := theory.Each(ctx, len(designs), nil, func(_ theory.Model, i int) (freeDirections, error) {
		d := designs[i]
		p := problemOf(s, d.Truth(d.Multisets(), s.RNG(2, uint64(i))))
		at := &theory.Loss{Model: p.model, Weights: p.Weights(p.law(0))}
		f, hess := freeDirections{nullity: nullity(at, p.Theta)}, at.Hessian(p.Theta)
		for _, v := range p.gauge.Directions(p.Theta) {
			f.off = math.Max(f.off, floats.Norm(numeric.Product(hess, v), 2)/numeric.OperatorNorm(hess))
		}
		return f, at.Err
	})
	if err != nil {
		return err
	}
	exactly := 0
	var off float64
	for i, f := range findings {
		off = math.Max(off, f.off)
		if f.nullity == designs[i].Codewords {
			exactly++
		}
	}
	r.Equal("nullity", "designs of 32 with nullity exactly K", float64(exactly), 32, "32: one rescaling per codeword")
	r.Rounding("null-directions", "‖H v_k‖/‖H‖, v_k = (a_k, −b_k), largest", off, 1e-10, "0: they span the null space")
	return nil
}

// learnedNullity counts the null directions that a learned prior and learned slot
// scales add. Slots then differ, so a cell is a sequence.
func learnedNullity(_ context.Context, s theory.Settings, r *theory.Report) error {
	d := theory.Design{Classes: 3, Slots: 3, Codewords: 4, Atoms: 6}
	table := d.Table(d.Sequences(), s.RNG(39))
	for _, of := range []struct {
		key, quantity, theory string
		layer                 layers.Bilinear
	}{
		{key: "nullity-prior", quantity: "null directions added by a learned prior",
			theory: "1, the shift of its logits, which no π sees", layer: layers.Bilinear{Prior: layers.LearnedPrior{}}},
		{key: "nullity-scale", quantity: "null directions added by learned slot scales",
			theory: "1: σ² → cσ², a_k → a_k/c", layer: layers.Bilinear{Prior: layers.UniformPrior{}, Scale: layers.LearnedScale{}}},
	} {
		m, err := theory.NewModel(of.layer, table)
		if err != nil {
			return err
		}
		rng := s.RNG(40)
		theta := d.Factors(rng)
		for len(theta) < m.Dim() { // what is learned beside them
			theta = append(theta, distuv.Uniform{Min: 0.5, Max: 1.5, Src: rng}.Rand())
		}
		at := &theory.Loss{Model: m}
		at.Weights = at.Posteriors(table, theta)
		floats.Scale(1/float64(table.Rows()), at.Weights)
		r.Equal(of.key, of.quantity, float64(nullity(at, theta)-d.Codewords), 1, of.theory)
		if at.Err != nil {
			return at.Err
		}
	}
	return nil
}

// togetherNullity lets codewords 0 and 1 occur only together: A sees M_0 + M_1, a
// matrix of rank two, whose factors are free up to GL(2) instead of two rescalings.
func togetherNullity(_ context.Context, s theory.Settings, r *theory.Report) error {
	d := theory.Design{Classes: 3, Slots: 4, Codewords: 6, Atoms: 6, Identity: 1}
	var cells []theory.Cell
	for _, cell := range d.Multisets() {
		counts := (&theory.Table{Codewords: d.Codewords, Cells: []theory.Cell{cell}}).Occupancy([]float64{1})
		if counts[0] == counts[1] {
			cells = append(cells, cell)
		}
	}
	truth := d.Truth(cells, s.RNG(3))
	uniform := slices.Repeat([]float64{1 / float64(len(cells))}, len(cells))
	at := &theory.Loss{Model: truth.Table.Paper(d.Identity), Weights: truth.Weights(uniform)}
	free := nullity(at, truth.Theta)
	r.Equal("nullity-together", "null directions added by two codewords that always co-occur", float64(free-d.Codewords), 2, "2: GL(2) instead of two rescalings")
	return at.Err
}

// freeRanks counts what one cell can identify of a C×C map of its own.
func freeRanks(_ context.Context, s theory.Settings, r *theory.Report) error {
	const C = 3
	for _, of := range []struct {
		key, quantity, theory string
		atoms                 int
		rank                  float64
	}{
		{key: "rank-cell", quantity: "rank of a free C×C map in one cell, C = 3", theory: "C² − 1", atoms: 8, rank: C*C - 1},
		{key: "rank-one-atom", quantity: "rank of a free C×C map with one atom, C = 3", theory: "C − 1", atoms: 1, rank: C - 1},
	} {
		d := theory.Design{Classes: C, Slots: 1, Codewords: 2, Atoms: of.atoms, Identity: 1}
		truth := d.Truth([]theory.Cell{theory.NewCell([]int{0})}, s.RNG(4, uint64(of.atoms)))
		at := &theory.Loss{Model: truth.Table.CellByHand(0, d.Identity), Weights: truth.Weights([]float64{1})}
		r.Equal(of.key, of.quantity, float64(C*C-nullity(at, truth.Table.Link(0, truth.Theta))), of.rank, of.theory)
		if at.Err != nil {
			return at.Err
		}
	}
	return nil
}

// unbalanced never brings θ back to a representative.
type unbalanced struct{ theory.Rescaling }

func (unbalanced) Fix(_, _ []float64) {}

// orbitSpread is the standard deviation of log t of a random start on the orbit.
const orbitSpread = 0.3

// balanced compares the error of θ̂ with and without balancing, from starts
// spread over the orbit of θ*.
func balanced(ctx context.Context, s theory.Settings, r *theory.Report) error {
	p := newProblem(s, theory.Fast(), s.RNG(5))
	t := s.Draws(p.Weights(p.law(0)), []int{3e5, 1e7, 3e8}, choose(s, 60, 160), 5, 1)
	tables, losses, err := t.Measure(ctx, p.model, 2, func(model theory.Model, x theory.Trial) ([]float64, error) {
		at, theta := &theory.Loss{Model: model}, slices.Clone(p.Theta)
		for k := range p.gauge.Codewords {
			a, b := p.gauge.Factors(theta, k)
			t := math.Exp(orbitSpread * x.Rand.NormFloat64())
			floats.Scale(t, a)
			floats.Scale(1/t, b)
		}
		at.Weights = t.Draw(x)
		at.Fit(unbalanced{p.gauge}, theta)
		raw := floats.Distance(theta, p.Theta, 2)
		p.gauge.Fix(theta, p.Theta)
		return []float64{raw, floats.Distance(theta, p.Theta, 2)}, at.Err
	})
	if err != nil {
		return err
	}
	e := t.Slopes(s.RNG(5, 2), tables...)
	r.Unsettled(losses, t.Total(), theory.LostPart)
	r.Record("slope-unbalanced", "slope of ‖θ̂ − θ*‖ in N, as Newton left it", e[0], "0: a free scale never converges")
	r.Near("slope-balanced", "slope of ‖θ̂ − θ*‖ in N, balanced", e[1], -0.5, 0.01, "−1/2")
	return nil
}

// collapsedBelow is the size at which a block counts as M_k = 0; the blocks' true
// size is factorScale² ≈ 2.
const collapsedBelow = 1e-6

// ridge is a penalty λ/2 ‖θ‖².
type ridge struct {
	key              string
	lambda           float64 // also the least of ‖∂L/∂M_k‖ that should keep M_k from 0
	radius, radiusSD float64 // of positive definiteness, of other seeds; see Report.usual. 0: as far as the search goes
	rates            bool    // whether its rates are studied
}

// At the paper's weight decay, 1e-3, blocks are missing: rates are studied below.
var ridges = []ridge{
	{key: "strong", lambda: 1e-2},
	{key: "paper", lambda: 1e-3, radius: 4.203, radiusSD: 2.251},
	{key: "weak", lambda: 1e-4, radius: 3.584, radiusSD: 1.383, rates: true},
}

// ridgeFinding is what a ridge makes of one shift of the frequencies.
type ridgeFinding struct {
	collapsed, unpredicted int     // blocks at M_k = 0, and those that the ridge should not have collapsed
	worst, random          float64 // radius of positive definiteness, in the worst direction and in a random one
	population             theory.Limit
}

// under fits the population of a shift of the frequencies under a ridge.
func (p *problem) under(ridge ridge, model theory.Model, shift int) (f ridgeFinding, err error) {
	law := p.law(shift)
	weights := p.Weights(law)
	theta := slices.Clone(p.Theta)
	if err := theory.Fit(model, theory.NullSpace{}, theta, weights); err != nil {
		return f, err
	}
	for k := range p.Design.Codewords {
		if p.target.Size(k, theta) < collapsedBelow {
			f.collapsed++
			if pull(p.Truth, k, theta, weights) > ridge.lambda*(1+1e-6) {
				f.unpredicted++
			}
		}
	}
	f.worst, f.random, err = definiteRadius(model.Cheapest(), theta, weights, p.Design.Codewords, p.RNG(6, uint64(shift)))
	if err != nil || !ridge.rates {
		return f, err
	}
	f.population, err = p.Limit(model, theory.NullSpace{}, theta, law)
	return f, err
}

// ridged shows what ridges do instead of fixing the gauge.
func ridged(ctx context.Context, s theory.Settings, r *theory.Report) error {
	p := newProblem(s, designOf(s), s.RNG(6))
	shifts := p.Design.Shifts(choose(s, 4, 6))
	for _, ridge := range ridges {
		model := &quadratic{Model: p.model, lambda: ridge.lambda}
		findings, err := theory.Each(ctx, len(shifts), model, func(model theory.Model, i int) (ridgeFinding, error) {
			return p.under(ridge, model, shifts[i])
		})
		if err != nil {
			return err
		}
		ridge.report(r, findings, p.Design.Codewords)
		if !ridge.rates {
			continue
		}
		e := &theory.Experiment{
			Trials: theory.Trials{Settings: s, Sizes: []int{3e5, 1e6, 3e6}, Count: replicates(s, 14, 40)},
			Model:  model, Gauge: theory.NullSpace{}, Target: p.target, Stream: 6 << 32,
			Limits: data.Each(findings, func(f ridgeFinding) theory.Limit { return f.population }),
		}
		o, err := e.Run(ctx)
		if err != nil {
			return err
		}
		all := o.Rates(0)
		r.Record("ridge-beta-p", ridge.name()+"β_p", all.BetaP, "flatter: rare codewords shrink")
		r.Near("ridge-beta-n", ridge.name()+"β_N", all.BetaN, -0.5, all.LeftOutOfSlope(), "−1/2 to the shrunken θ*")
	}
	return nil
}

func (x ridge) name() string { return fmt.Sprintf("ridge λ = %g: ", x.lambda) }

// report adds the rows of what the ridge makes of all shifts, of so many codewords each.
func (x ridge) report(r *theory.Report, findings []ridgeFinding, codewords int) {
	collapsed, unpredicted := 0, 0
	radius := math.Inf(1)
	var typical []float64
	for _, f := range findings {
		collapsed += f.collapsed
		unpredicted += f.unpredicted
		radius, typical = math.Min(radius, f.worst/x.lambda), append(typical, f.random/x.lambda)
	}
	quantity := fmt.Sprintf("%sblocks of %d collapsed to M_k = 0", x.name(), len(findings)*codewords)
	if x.key == "strong" {
		r.Above("collapsed-"+x.key, quantity, theory.Exact(float64(collapsed)), 1, "some: a ridge is no normalization")
	} else {
		r.Record("collapsed-"+x.key, quantity, theory.Exact(float64(collapsed)), "where ‖∂L/∂M_k‖ ≤ λ")
	}
	if collapsed > 0 {
		r.Equal("unpredicted-"+x.key, x.name()+"… of which ‖∂L/∂M_k‖ > λ", float64(unpredicted), 0, "none: it acts as λ|a_k||b_k|")
	}
	key, name := "radius-worst-"+x.key, x.name()+"radius of positive definiteness / λ, worst direction"
	if x.radius == 0 { // the search ends there
		r.Record(key, name, theory.Exact(radius), "small: it convexifies only nearby")
	} else {
		r.Usual(key, name, radius, x.radius, x.radiusSD, "small: it convexifies only nearby")
	}
	r.Record("radius-random-"+x.key, x.name()+"radius of positive definiteness / λ, random direction", theory.Exact(median(typical)), "finite: it convexifies only nearby")
}

// definiteRadius returns how far from theta the Hessian stays positive definite:
// in the direction in which one of its smallest curvatures v falls fastest,
// −∇(vᵀ∇²L v), the least over the K smallest; and the median over random directions.
func definiteRadius(model theory.Model, theta, weights []float64, codewords int, rng *rand.Rand) (worst, typical float64, err error) {
	at := &theory.Loss{Model: model, Weights: weights}
	_, vectors := estimate.Spectrum(at.Newton(theta))
	worst = farthest
	for i := range codewords { // the gauge has one soft direction per codeword
		_, falling := bending(at, theta, mat.Col(nil, i, vectors))
		worst = math.Min(worst, definiteAlong(model, theta, falling, weights))
	}
	random := data.Each(make([]int, 9), func(int) float64 {
		return definiteAlong(model, theta, numeric.Normals(len(theta), rng), weights)
	})
	return worst, median(random), at.Err
}

// farthest is where the search for an indefinite Hessian ends.
const farthest = 1.0

// definiteAlong bisects for the distance from theta along direction, up to
// farthest, at which the Hessian stops being positive definite.
func definiteAlong(model theory.Model, theta, direction, weights []float64) float64 {
	length := floats.Norm(direction, 2)
	if length == 0 {
		return farthest
	}
	point := make([]float64, len(theta))
	low, high := 0.0, farthest
	for range 16 {
		middle := (low + high) / 2
		floats.AddScaledTo(point, theta, middle/length, direction)
		var cholesky mat.Cholesky
		at := &theory.Loss{Model: model, Weights: weights}
		if hess := at.Newton(point); at.Err == nil && cholesky.Factorize(hess) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// nullity is how many directions move no posterior of a model that is the law of the labels. There
// ∇²L = Σ W ∇ℓ ∇ℓᵀ (Fisher).
func nullity(p *theory.Loss, theta []float64) int {
	free, _ := estimate.NullSpace(p.Scores(theta))
	return len(free)
}

// pull returns ‖∂L/∂M_k‖₂, the spectral norm of Σ_V n_k(V) ∂L/∂A(V). A ridge acts on M_k as λ|a_k||b_k|, so
// M_k = 0 is a local minimum where pull ≤ λ.
func pull(t *theory.Truth, k int, theta, weights []float64) float64 {
	C := t.Table.Classes
	sum := make([]float64, C*C)
	for v, cell := range t.Table.Cells {
		for _, o := range cell.Occurrences {
			if o.Codeword == k {
				at := &theory.Loss{Model: t.Table.CellByHand(v, t.Design.Identity), Weights: t.Table.Of(weights, v)}
				_, grad := at.Gradient(t.Table.Link(v, theta))
				floats.AddScaled(sum, o.Count, grad)
			}
		}
	}
	return spectralNorm(mat.NewDense(C, C, sum))
}
