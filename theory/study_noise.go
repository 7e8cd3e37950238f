package theory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// wrongTo is a way in which codes go wrong.
type wrongTo struct {
	key, name string
	Channel
}

var channels = []wrongTo{{"any", "any other", ToAny}, {"neighbour", "a neighbour", ToNeighbour}}

// wrongParts are ε of the samples, the probability that the code of a slot is wrong.
var wrongParts = []float64{0.01, 0.03, 0.1}

// wrongSlots is w of the study: a channel may take a row from any cell to any other.
const wrongSlots = 2

// noisy is a well-specified problem whose codes are misread. With T_ε the reading of a row's cell, W the
// weights of the law and moved those of rows of which one code is wrong, the limit θ(ε) minimizes L under
// T_ε W, and
//
//	dT_ε W/dε = w (moved − W) at ε = 0,  so  θ'(0) = −w H⁺ ∇L_moved(θ*)  as  ∇L_W(θ*) = 0.
//
// Of the rows that are read as codeword k the part
//
//	c_k = ε Σ_l p_l P(k | l) / p̃_k,  p̃_k = (1 − ε) p_k + ε Σ_l p_l P(k | l),
//
// is of other codewords: a codeword's limit is as far off as it is rare, beside those that are read as it.
type noisy struct {
	*problem
	wrongTo
	once  reading
	parts []reading // of each ε
}

func newNoisy(s *setup, by wrongTo) *noisy {
	d := s.design()
	d.Slots = wrongSlots
	truth := newTruth(d, multisets(d.Codewords, d.Slots), newRand(s.Seed, 60))
	truth.Table.alike()
	truth.Label = labelLaw(truth.Table, truth.Theta, d.Identity)
	x := &noisy{problem: s.of(truth), wrongTo: by, once: truth.Table.misreadOnce(by.Channel)}
	x.gauge.Fix(x.Theta, nil)
	for _, epsilon := range wrongParts {
		x.parts = append(x.parts, x.Table.misread(by.Channel, epsilon))
	}
	return x
}

// limit is θ(ε) under the weights that are read, the minimum that a descent from a near point finds.
func (x *noisy) limit(model Model, weights, from []float64) ([]float64, error) {
	theta := slices.Clone(from)
	err := minimize(model, x.gauge, theta, weights)
	x.gauge.Fix(theta, x.Theta)
	return theta, err
}

// response is θ'(0) under a law of the cells.
func (x *noisy) response(model Model, law []float64) ([]float64, error) {
	of, err := x.population(model, law)
	if err != nil {
		return nil, err
	}
	at := &probe{model: cheapest(model), weights: x.once.of(of.weights)}
	_, grad := at.gradient(of.theta)
	theta := product(of.naive, grad)
	floats.Scale(-float64(x.Design.Slots), theta)
	return theta, at.err
}

// shift is M_k at theta less the true M_k, C² entries.
func (x *noisy) shift(k int, theta []float64) []float64 {
	shift := make([]float64, x.Design.Classes*x.Design.Classes)
	factors{x.gauge}.add(shift, theta, k, 1)
	factors{x.gauge}.add(shift, x.Theta, k, -1)
	return shift
}

// wrongShares are c_k under the frequencies p.
func (x *noisy) wrongShares(p []float64, epsilon float64) []float64 {
	wrong := make([]float64, len(p))
	for k := range wrong {
		for l := range p {
			wrong[k] += epsilon * p[l] * x.Channel(l, k, len(p))
		}
		wrong[k] /= wrong[k] + (1-epsilon)*p[k]
	}
	return wrong
}

// smallMove is how far limits are from the truth where they are compared with their derivative at ε = 0, in
// parts of M_k: there the terms of higher order are small in flat problems too.
const smallMove = 0.01

// small is the ε at which the derivative moves no M_k by more than smallMove.
func (x *noisy) small(response []float64) float64 {
	var most float64
	for k := range x.target.Blocks() {
		most = math.Max(most, floats.Norm(product(x.target.Jacobian(k, x.Theta), response), 2)/x.target.Size(k, x.Theta))
	}
	return smallMove / most
}

// linear compares limits of few wrong codes with θ'(0): 4M(ε/2)/ε − M(ε)/ε leaves an error of ε² of the
// derivative, and far is the largest over codewords in parts of it.
func (x *noisy) linear() (far float64, err error) {
	law := x.law(0)
	response, err := x.response(x.model, law)
	if err != nil {
		return 0, err
	}
	epsilon := x.small(response)
	var limits [][]float64
	for _, part := range []float64{epsilon, epsilon / 2} {
		theta, err := x.limit(x.model, x.Table.misread(x.Channel, part).of(x.Weights(law)), x.Theta)
		if err != nil {
			return 0, err
		}
		limits = append(limits, theta)
	}
	for k := range x.target.Blocks() {
		predicted := product(x.target.Jacobian(k, x.Theta), response)
		gap := slices.Clone(predicted)
		floats.AddScaled(gap, 1/epsilon, x.shift(k, limits[0]))
		floats.AddScaled(gap, -4/epsilon, x.shift(k, limits[1]))
		far = math.Max(far, floats.Norm(gap, 2)/floats.Norm(predicted, 2))
	}
	return far, nil
}

// wrongAlone are the frequencies that one codeword takes alone.
var wrongAlone = []float64{0.001, 0.0001}

// alone is the slope of |M_k(ε) − M_k|/ε on the codeword's frequency, moved alone.
func (x *noisy) alone(ctx context.Context) (float64, error) {
	sizes, err := each(ctx, x.Design.Codewords*len(wrongAlone), x.model, func(model Model, i int) (float64, error) {
		k := i / len(wrongAlone)
		law := x.Table.Multinomial(x.Design.withShare(k, wrongAlone[i%len(wrongAlone)]))
		response, err := x.response(model, law)
		if err != nil {
			return 0, err
		}
		epsilon := x.small(response)
		theta, err := x.limit(model, x.Table.misread(x.Channel, epsilon).of(x.Weights(law)), x.Theta)
		return floats.Norm(x.shift(k, theta), 2) / epsilon, err
	})
	var of points
	for i, size := range sizes {
		of.add(wrongAlone[i%len(wrongAlone)], size, i/len(wrongAlone))
	}
	return of.slope(), err
}

// misread is the population under a law of the cells that is read with wrong codes, with its limit near from.
// Its samples are drawn with the true cells, which are then forgotten.
func (x *noisy) misread(model Model, read reading, law, from []float64) (p population, err error) {
	joint := read.joint(x.Weights(law))
	weights := seen(joint, len(x.Label))
	theta, err := x.limit(model, weights, from)
	if err == nil {
		p, err = populationOf(weights, x.Table.Occupancy(x.Table.ofCells(weights)), theta, model, x.gauge)
	}
	p.joint = joint
	return p, err
}

// experiment is the estimation of the limits under shifts of the law, at each ε: their populations stand in
// that order.
func (x *noisy) experiment(ctx context.Context, salt uint64) (*experiment, error) {
	s := x.setup
	e := &experiment{
		trials: trials{setup: s, count: s.replicates(32, 64)}, table: x.Table,
		model: x.model, gauge: x.gauge, target: x.target, salt: salt, disturbed: true,
	}
	laws := x.shifted(choose(s, 2, 4))
	found, err := each(ctx, len(laws), x.model, func(model Model, i int) ([]population, error) {
		of, from := make([]population, len(x.parts)), x.Theta
		for n, read := range x.parts { // each from the limit of the ε before it
			var err error
			if of[n], err = x.misread(model, read, laws[i], from); err != nil {
				return nil, err
			}
			from = of[n].theta
		}
		return of, nil
	})
	if err != nil {
		return nil, err
	}
	e.populations = slices.Concat(found...)
	e.sizes, err = certainSizes(e.reach())
	return e, err
}

// approach is how far fits are from where they go, and from the truth without wrong codes.
type approach struct {
	moved          Estimate // mean of ⟨M̂_k − M_k, Δ_k⟩ over that of |Δ_k|², Δ_k = M_k(ε) − M_k
	left           float64  // what second order leaves open of it
	slope          Estimate // of the error about M_k in N
	predictedSlope float64  // √(|Δ_k|² + pred_k²/N)'s
}

func (x *noisy) approach(o *outcome) (a approach) {
	last := len(o.sizes) - 1
	along, errors := make([]float64, o.count), unmeasured(len(o.sizes), o.count)
	var whole, second float64
	var logN, predicted []float64
	for size, N := range o.sizes {
		squares, mean := make([]float64, o.count), 0.0
		for s, k := range o.usable(last) {
			p := &o.populations[s]
			limit, variance := x.shift(k, p.theta), square(p.predicted[k])/float64(N)
			mean += floats.Dot(limit, limit) + variance
			if size == last {
				whole += floats.Dot(limit, limit)
				second += variance / x.target.Size(k, p.theta) * floats.Norm(limit, 2)
			}
			for r, one := range o.at(s, size) {
				if one.theta == nil {
					squares[r] = math.NaN() // with a fit that left, the sums of its replicate count for nothing
					if size == last {
						along[r] = math.NaN()
					}
					continue
				}
				shift := x.shift(k, one.theta)
				squares[r] += floats.Dot(shift, shift)
				if size == last {
					along[r] += floats.Dot(shift, limit)
				}
			}
		}
		for r, sum := range squares {
			errors[size][r] = math.Sqrt(sum)
		}
		logN, predicted = append(logN, math.Log(float64(N))), append(predicted, math.Log(mean)/2)
	}
	along = slices.DeleteFunc(along, math.IsNaN)
	a.moved, a.left = meanEstimate(along).over(whole), 0.01+second/whole
	a.slope, a.predictedSlope = o.slopes(newRand(o.Seed, o.salt, 2<<32), errors)[0], line(logN, predicted)
	return a
}

// report adds the rows of one way in which codes go wrong.
func (x *noisy) report(r *Report, far, alone float64, o *outcome) {
	all, near := o.statistics(0), x.approach(o)
	key := func(of string) string { return x.key + "-" + of }
	of := "codes read as " + x.name + ": "
	r.rounding(key("linear"), of+"derivative of the limits in ε, gap to the formula's in parts of it, largest", far, 0.01, "0: θ'(0) = −w H⁺∇L_moved")
	r.near(key("alone"), of+"slope of the bias of M_k on N_k/N, one frequency moved alone", exact(alone), -1, 0.05, "−1: the bias is that of the part of N_k that is wrong")
	r.ratio(key("bias"), of+"bias measured/that of the mixture of regions", near.moved, 1, near.left, "1")
	r.near(key("about-truth"), of+"slope in N of the error about the true M_k", near.slope, near.predictedSlope, 0.01, "that of √(bias² + variance/N)")
	r.ratio(key("ratio"), of+"observed/sandwich RMSE about the limit, mean of blocks", all.Ratio, 1, all.leftOut(), "1")
	r.ratio(key("wald"), of+"Wald/df about the limit", all.Wald, 1, all.leftOutOfWald(), "1")
	r.near(key("beta-n"), of+"β_N about the limit, mean of blocks", all.BetaN, -0.5, all.leftOutOfSlope(), "−1/2")
	r.record(key("beta-p"), of+"β_p about the limit", all.BetaP, "−1/2 if constants were equal")
	r.near(key("beta-p-excess"), of+"β_p − sandwich β_p about the limit", all.BetaPExcess, 0, all.leftOut(), "0: the rate is that of the rows read as k")
	r.record(key("naive"), of+"naive H⁻¹ prediction / sandwich", exact(all.NaiveRatio), "1 if the calibrator could represent the mixture")
	wrong := x.wrongShares(x.Design.Frequencies(0), wrongParts[0])
	for _, at := range x.ends() {
		k, limit := at.codeword, o.populations[0].theta
		r.record(key("wrong-"+at.key), fmt.Sprintf("%spart of the rows of the %s codeword that are others', ε = %g", of, at.name, wrongParts[0]), exact(wrong[k]), "c_k")
		r.record(key("bias-"+at.key), fmt.Sprintf("%s|M_k(ε) − M_k|/|M_k| of the %s codeword, ε = %g", of, at.name, wrongParts[0]), exact(floats.Norm(x.shift(k, limit), 2)/x.target.Size(k, x.Theta)), "0 without wrong codes")
	}
}

// end is a codeword of the law's end.
type end struct {
	key, name string
	codeword  int
}

// ends are the codewords of most rows and of fewest under the law that is not shifted.
func (x *noisy) ends() []end {
	return []end{{"frequent", "most frequent", 0}, {"rare", "rarest", x.Design.Codewords - 1}}
}

// draw draws how far the fits to most rows and the limits are from the truth under the law that is not shifted.
func (x *noisy) draw(f *Figure, o *outcome) {
	for _, at := range x.ends() {
		size := x.target.Size(at.codeword, x.Theta)
		fits := Curve{Label: at.name + ", read as " + x.name, Style: Joined}
		limits := Curve{Style: Prediction}
		if len(f.Curves) == 0 {
			limits.Label = "limit by the mixture of regions"
		}
		for n, epsilon := range wrongParts {
			far := o.values(n, len(o.sizes)-1, func(one replicate) float64 {
				if one.theta == nil {
					return math.NaN()
				}
				return floats.Norm(x.shift(at.codeword, one.theta), 2)
			})
			fits.add(epsilon, rmsEstimate(far).over(size))
			limits.X, limits.Y = append(limits.X, epsilon), append(limits.Y, floats.Norm(x.shift(at.codeword, o.populations[n].theta), 2)/size)
		}
		f.Curves = append(f.Curves, fits, limits)
	}
}

func runNoise(ctx context.Context, s *setup, r *Report) error {
	f := Figure{
		Name: "limit", Title: "Where a codeword's factors go when codes are wrong",
		XLabel: "ε, probability that a slot's code is wrong", YLabel: "|M_k(ε) − M_k| / |M_k|", LogX: true, LogY: true,
	}
	var lost []string
	var gradient float64
	total := 0
	for i, to := range channels {
		x := newNoisy(s, to)
		far, err := x.linear()
		if err != nil {
			return err
		}
		alone, err := x.alone(ctx)
		if err != nil {
			return err
		}
		e, err := x.experiment(ctx, 61<<32+uint64(i))
		if err != nil {
			return err
		}
		g, err := e.populationGradient()
		if err != nil {
			return err
		}
		o, err := e.run(ctx)
		if err != nil {
			return err
		}
		gradient, total, lost = math.Max(gradient, g), total+o.total(), append(lost, o.keepNeighbourhood()...)
		x.report(r, far, alone, o)
		x.draw(&f, o)
	}
	r.rounding("population-gradient", "‖∇L(θ(ε))‖ of the populations, by the graph", gradient, 1e-10, "0: θ(ε) is stationary")
	r.rare("unsettled", fmt.Sprintf("fits of %d that left the neighbourhood of the limit: Wald/df > %g, or no minimum", total, waldOutlier),
		lost, total, outlierPart, fmt.Sprintf("at most %g of them", outlierPart))
	r.Figures = append(r.Figures, f)
	return nil
}
