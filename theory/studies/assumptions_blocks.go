package studies

import (
	"cmp"
	"context"
	"math"
	"slices"

	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
)

// entanglement is how codeword k of a population hangs on the others.
type entanglement struct {
	constant         float64 // c_k of the joint block off the gauge
	receiver, sender float64 // |c| of a_k and of b_k alone
	influence        float64 // M; NaN where the rest does not identify itself, and then nothing below
	leak, own        float64 // √N of the leakage, and of the codeword's own score
}

// entangled is that of codeword k.
func entangled(p theory.Limit, gauge theory.Rescaling, k int) (x entanglement) {
	h, j, directions := p.Hessian, p.Scores, p.Free
	block := gauge.Coordinates(k)
	x.constant = schurConstant(h, block, directions, directions)
	// a_k or b_k alone, as printed: the other factor among the others can undo it. The
	// other K − 1 rescalings are the gauge of the rest.
	others := slices.Delete(slices.Clone(directions), k, k+1)
	x.receiver = math.Abs(schurConstant(h, block[:gauge.Classes], nil, others))
	x.sender = math.Abs(schurConstant(h, block[gauge.Classes:], nil, others))

	rest := complement(len(p.Theta), block)
	inverse := numeric.QuotientInverse(estimate.Symmetric(dense(h, rest, rest)), restrict(directions, rest))
	if inverse == nil {
		x.influence = math.NaN()
		return x
	}
	var cross mat.Dense
	cross.Mul(dense(h, block, rest), inverse)
	x.influence = spectralNorm(&cross) / p.Occupancy[k]
	// E‖R_k‖² N = tr(B J_−k,−k Bᵀ), B = H_k,−k H⁺_−k,−k.
	x.leak = numeric.PredictedError(&cross, estimate.Symmetric(dense(j, rest, rest)), 1)
	x.own = math.Sqrt(mat.Trace(dense(j, block, block)))
	return x
}

// coupling reports A6, A7, A8 and the leakage term of Theorem 2's proof.
func (e assumptions) coupling(_ context.Context, r *theory.Report) error {
	gauge := e.Target.(theory.Products).Rescaling
	var influence, rare, frequent, receiver, sender, most float64
	smallest, least := math.Inf(1), math.Inf(1)
	var leak, own numeric.Points
	constants := theory.Curve{Label: "c_k, joint block off the gauge"}
	for _, p := range e.Limits {
		for k, part := range p.Occupancy {
			x := entangled(p, gauge, k)
			smallest = math.Min(smallest, x.constant)
			constants.X, constants.Y = append(constants.X, part), append(constants.Y, x.constant)
			if part == floats.Min(p.Occupancy) {
				rare += x.constant / float64(len(e.Limits))
			}
			if part == floats.Max(p.Occupancy) {
				frequent += x.constant / float64(len(e.Limits))
			}
			receiver, sender, influence = math.Max(receiver, x.receiver), math.Max(sender, x.sender), math.Max(influence, x.influence)
			if math.IsNaN(x.influence) {
				continue
			}
			leak.Add(part, x.leak, k)
			own.Add(part, x.own, k)
			moment := x.own * x.own / part
			least, most = math.Min(least, moment), math.Max(most, moment)
		}
	}
	r.Usual("a6", "A6: c_k of the joint block off the gauge, least", smallest, 0.2186, 0.07814, "c > 0")
	r.Record("a6-rare", "A6: c_k of the joint block off the gauge, rarest codeword", theory.Exact(rare), "1 is uncoupled")
	r.Record("a6-frequent", "A6: c_k of the joint block off the gauge, most frequent", theory.Exact(frequent), "lower: it shares rows with all")
	r.Above("a6-order", "A6: c_k of the rarest codeword over that of the most frequent", theory.Exact(rare/frequent), 1, "> 1")
	r.Rounding("a6-receiver", "A6: c_k of a_k alone, as printed, largest", receiver, 1e-8, "0: b_k undoes a rescaling of a_k")
	r.Rounding("a6-sender", "A6: c_k of b_k alone, as printed, largest", sender, 1e-8, "0: a_k undoes a rescaling of b_k")
	r.Usual("a7", "A7: M, the largest conditional influence", influence, 41.73, 26.19, "finite")
	r.Record("a8-gradient-least", "A8: E‖g_k‖² per occurrence, least", theory.Exact(least), "bounded")
	r.Usual("a8-gradient", "A8: E‖g_k‖² per occurrence, greatest", most, 3.673, 1.582, "bounded")
	r.Near("gradient-block", "gradient block ‖∇_k L_N(θ*)‖: slope on N_k/N", theory.Exact(own.Slope()), 0.5, 0.15, "1/2")
	r.Record("leakage", "leakage ‖R_k‖: slope on N_k/N, all frequencies shifted", theory.Exact(leak.Slope()), "near 1: it is at most of that order")
	r.Figures = append(r.Figures, theory.Figure{
		Name: "schur", Title: "A6: how much of a codeword's curvature coupling leaves",
		XLabel: "N_k/N, occurrences per row", YLabel: "Schur constant c_k", LogX: true,
		Curves: []theory.Curve{constants},
	})
	return nil
}

// manySlots repeats A6 with w = 8, where a frequent codeword fills most cells.
func (e assumptions) manySlots(_ context.Context, r *theory.Report) error {
	d := theory.Fast()
	d.Slots = 8
	p := newProblem(e.Settings, d, e.RNG(31))
	p.model = p.Table.ByHand(p.Design.Identity) // the graph, which the loss by hand equals, takes long over 6435 cells
	of, err := p.population(p.model, p.law(0))
	if err != nil {
		return err
	}
	c := schurConstant(of.Hessian, p.gauge.Coordinates(0), of.Free, of.Free)
	r.Record("a6-many-slots", "A6: c_k of the most frequent codeword at w = 8", theory.Exact(c), "lower still")
	return nil
}

// lipschitz estimates L_H of A9 from random pairs of points in Θ_local, of a sample and
// of the population.
func (e assumptions) lipschitz(ctx context.Context, r *theory.Report) error {
	rng := e.RNG(32)
	model := e.Model.Cheapest()
	var ofSamples, ofPopulations, sharpest float64
	for _, p := range e.Limits {
		if err := ctx.Err(); err != nil {
			return err
		}
		sample, population := &theory.Loss{Model: model, Weights: theory.Sample(p.Weights, 1e6, rng)}, &theory.Loss{Model: model, Weights: p.Weights}
		for range 10 {
			x, y := nearby(p.Theta, rng), nearby(p.Theta, rng)
			ofSamples, ofPopulations = math.Max(ofSamples, steepness(sample, x, y)), math.Max(ofPopulations, steepness(population, x, y))
		}
		// Random pairs understate a supremum: along the top curvature's own third
		// derivative it is larger.
		sharpest = math.Max(sharpest, sharpness(population, p))
		if err := cmp.Or(sample.Err, population.Err); err != nil {
			return err
		}
	}
	r.Record("a9-population", "A9: L_H on Θ_local, of the population, along its steepest direction", theory.Exact(math.Max(ofPopulations, sharpest)), "finite")
	r.Near("a9", "A9: L_H of samples of 1e6 over the population's, pairs of points of Θ_local", theory.Exact(ofSamples/ofPopulations), 1, 0.15, "1 with probability → 1")
	return nil
}

// steepness is how much the Hessian changes from x to y, in parts of their distance.
func steepness(p *theory.Loss, x, y []float64) float64 {
	change := p.Newton(y)
	numeric.Subtract(change, p.Newton(x))
	return numeric.OperatorNorm(change) / floats.Distance(x, y, 2)
}

// sharpness climbs |∇²L(θ*+hu) − ∇²L(θ*)|/h over unit u by alternating between the
// eigenvector v of the largest change and the direction ∇(vᵀ∇²L v) it changes in.
func sharpness(p *theory.Loss, of theory.Limit) (norm float64) {
	const h = bendingStep
	theta, n := of.Theta, len(of.Theta)
	_, vectors := estimate.Spectrum(of.Hessian)
	v := mat.Col(nil, n-1, vectors)
	point := make([]float64, n)
	for range 10 {
		u, _ := bending(p, theta, v)
		floats.Scale(1/floats.Norm(u, 2), u)
		floats.AddScaledTo(point, theta, h, u)
		hess := p.Newton(point)
		numeric.Subtract(hess, of.Hessian)
		hess.ScaleSym(1/h, hess)
		values, vectors := estimate.Spectrum(hess)
		top := 0
		if math.Abs(values[n-1]) > math.Abs(values[0]) {
			top = n - 1
		}
		norm = math.Abs(values[top])
		v = mat.Col(nil, top, vectors)
	}
	return norm
}

// moments checks A8 where the calibrator cannot represent the law: the gradients of a
// codeword's occurrences have mean zero over all its cells, not within one; the Hessian
// contributions have moments; and averages over the occurrences in a sample settle as
// N_k^(−1/2).
func (e assumptions) moments(ctx context.Context, r *theory.Report) error {
	m, problems := new(theory.Experiment), new(misspecifiedProblems)
	for n := 100; len(m.Limits) == 0; n++ {
		var err error
		if m, err = problems.draw(ctx, e.Settings, n); err != nil {
			return err
		}
	}
	block, cell, _, wrongErr := (assumptions{m}).meanGradients()
	_, right, hessian, err := e.meanGradients()
	if err := cmp.Or(wrongErr, err); err != nil {
		return err
	}
	r.Rounding("a8-mean-zero", "A8: mean gradient of a codeword's occurrences, misspecified, largest", block, 1e-8, "0: θ* is stationary")
	r.Usual("a8-cell", "A8: mean gradient of a codeword within one cell, misspecified, largest", cell, 0.8705, 0.4823, "not 0: rows of one cell are no mean-zero draws")
	r.Rounding("a8-cell-right", "A8: the same where the calibrator is right", right, 1e-10, "0: then they are")
	r.Usual("a8-hessian", "A8: E‖H_k‖ per occurrence, greatest", hessian, 2.028, 0.9486, "bounded")

	return e.conditionalLaw(ctx, r)
}

// conditionalLaw checks the conditional law of large numbers of A8, for the codeword of middle frequency.
func (e assumptions) conditionalLaw(ctx context.Context, r *theory.Report) error {
	p, gauge := e.Limits[0], e.Target.(theory.Products).Rescaling
	k := gauge.Codewords / 2
	block := gauge.Coordinates(k)
	model := e.Model.Cheapest()
	population := &theory.Loss{Model: model, Weights: p.Weights}
	expected := population.Newton(p.Theta)
	t := e.of(p, 46)
	gap, _, err := t.Measure(ctx, model, 1, func(model theory.Model, x theory.Trial) ([]float64, error) {
		at := &theory.Loss{Model: model, Weights: t.Draw(x)}
		hess := at.Newton(p.Theta)
		numeric.Subtract(hess, expected)
		return []float64{mat.Norm(dense(hess, block, block), 2) / p.Occupancy[k]}, at.Err
	})
	if err != nil {
		return err
	}
	b := t.Slopes(e.RNG(47), gap...)
	r.Near("a8-lln", "A8: slope in N_k of the occurrences' mean Hessian against its expectation", b[0], -0.5, 0.01, "−1/2: the conditional law of large numbers")
	return population.Err
}

// meanGradients returns, over the populations, the largest mean of ∇_k ℓ over a codeword's
// occurrences, over those within one cell, and the largest E‖∇²_kk ℓ‖ per occurrence.
func (e assumptions) meanGradients() (block, cell, hessian float64, err error) {
	gauge, p := e.Target.(theory.Products).Rescaling, e.Limits[0]
	at, total := &theory.Loss{Model: e.Model.Cheapest()}, make([]float64, e.Model.Dim())
	norms := make([]float64, gauge.Codewords)
	for v, c := range e.Truth.Table.Cells {
		at.Weights = make([]float64, len(p.Weights))
		mass := floats.Sum(e.Truth.Table.Of(p.Weights, v))
		floats.AddScaled(e.Truth.Table.Of(at.Weights, v), 1/mass, e.Truth.Table.Of(p.Weights, v))
		_, grad := at.Gradient(p.Theta)
		hess := at.Newton(p.Theta)
		floats.AddScaled(total, mass, grad)
		for _, o := range c.Occurrences {
			own := gauge.Coordinates(o.Codeword)
			// ∇_k of a row is the sum over the slots that hold k, all alike.
			cell = math.Max(cell, theory.Rows{own}.Size(0, grad)/o.Count)
			norms[o.Codeword] += mass * spectralNorm(dense(hess, own, own))
		}
	}
	for k, norm := range norms {
		block = math.Max(block, theory.Rows{gauge.Coordinates(k)}.Size(0, total)/p.Occupancy[k])
		hessian = math.Max(hessian, norm/p.Occupancy[k])
	}
	return block, cell, hessian, at.Err
}

// taylor tests the first step of the printed proofs, which expands the gradient with
// one point θ̃ between θ̂ and θ*:
//
//	∇L_N(θ̂) = ∇L_N(θ*) + ∇²L_N(θ̃) Δ.
//
// The mean value theorem gives such a point for each coordinate, not one for all. What
// holds is the integral form, with ∫₀¹ ∇²L_N(θ* + tΔ) dt in its place; A2, A4 and A9 bound
// that mean as they bound the single Hessian, so both theorems stand.
func (e assumptions) taylor(_ context.Context, r *theory.Report) error {
	p := e.Limits[0]
	model := e.Model.Cheapest()
	n := model.Dim()
	sample := theory.Sample(p.Weights, 1e5, e.RNG(48))
	fit := slices.Clone(p.Theta)
	lost := theory.Fit(model, e.Target.(theory.Products).Rescaling, fit, sample) != nil
	of := &theory.Loss{Model: model, Weights: sample}
	_, here := of.Gradient(p.Theta)
	_, there := of.Gradient(fit)
	step, change := make([]float64, n), make([]float64, n)
	floats.SubTo(step, fit, p.Theta)
	floats.SubTo(change, there, here)
	point := make([]float64, n)
	along := func(t float64) []float64 {
		floats.AddScaledTo(point, p.Theta, t, step)
		return numeric.Product(of.Newton(point), step)
	}
	// With a spacing of 1/200 in t the least residual is good to a hundredth of itself.
	least := math.Inf(1)
	for i := range 201 {
		least = math.Min(least, floats.Distance(along(float64(i)/200), change, 2))
	}
	const nodes = 12
	at, weight := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(at, weight, 0, 1)
	integral := make([]float64, n)
	for i := range at {
		floats.AddScaled(integral, weight[i], along(at[i]))
	}
	size := floats.Norm(change, 2)
	quantity := "Taylor step: ‖∇L_N(θ̂) − ∇L_N(θ*) − ∇²L_N(θ̃)Δ‖ / ‖∇L_N(θ̂) − ∇L_N(θ*)‖, least over θ̃ between them, N = 1e5"
	if lost {
		quantity += " (no minimum near θ*: where the descent stopped)"
	}
	r.Above("taylor-point", quantity, theory.Exact(least/size), 1e-4, "not 0: no one point serves all coordinates")
	r.Rounding("taylor-integral", "Taylor step with ∫ ∇²L_N(θ* + tΔ) dt in its place, the same ratio", floats.Distance(integral, change, 2)/size, 1e-8, "0: the integral form is exact")
	return of.Err
}

// bendingStep is h of the second differences of a gradient, which is good to 1e-16: an error of 1e-10.
const bendingStep = 1e-3

// bending is the direction ∇(vᵀ∇²L v), times h², in which the curvature along v rises fastest, and that in
// which it falls.
func bending(p *theory.Loss, theta, v []float64) (rises, falls []float64) {
	point := make([]float64, len(theta))
	gradient := func(step float64) []float64 {
		floats.AddScaledTo(point, theta, step, v)
		_, grad := p.Gradient(point)
		return grad
	}
	here, ahead, behind := gradient(0), gradient(bendingStep), gradient(-bendingStep)
	floats.AddScaled(ahead, -2, here)
	floats.Add(ahead, behind)
	return ahead, floats.ScaleTo(make([]float64, len(theta)), -1, ahead)
}
