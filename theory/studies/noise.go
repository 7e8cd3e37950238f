package studies

import (
	"fmt"
	"math"
	"slices"

	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
)

// noisy is a way in which codes go wrong, in a well-specified problem. With T_ε the reading of a row's cell, W the
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
	key, name string
	by        theory.Channel
	design    theory.Design
	factors   theory.Products
}

// wrongParts are ε of the samples, the probability that the code of a slot is wrong.
var wrongParts = []float64{0.01, 0.03, 0.1}

// wrongSlots is w of the study: a channel may take a row from any cell to any other.
const wrongSlots = 2

// noise are the questions: one for each way in which codes go wrong.
func noise(s theory.Settings) (questions []theory.Question) {
	d := designOf(s)
	d.Slots = wrongSlots
	factors := theory.Products{Rescaling: d.Gauge()}
	for i, x := range []noisy{{"any", "any other", theory.ToAny, d, factors}, {"neighbour", "a neighbour", theory.ToNeighbour, d, factors}} {
		questions = append(questions, theory.Question{
			Name: x.key, Stream: 61<<32 + uint64(i),
			Population: theory.Population{Design: d, Truth: x.truth},
			Channel:    x.by, Wrong: wrongParts,
			Estimator: theory.Estimator{Map: paper, Gauge: factors.Rescaling, Target: factors},
			Rows:      []string{"population-gradient", "unsettled", "ratio", "wald", "beta-n", "beta-p", "beta-p-excess", "naive"},
			Statistics: append([]theory.Statistic{
				{Key: "linear", Quantity: "derivative of the limits in ε, gap to the formula's in parts of it, largest", Of: x.linear, Within: 0.01, Theory: "0: θ'(0) = −w H⁺∇L_moved"},
				{Key: "alone", Quantity: "slope of the bias of M_k on N_k/N, one frequency moved alone", Of: x.alone, Target: -1, Within: 0.05, Theory: "−1: the bias is that of the part of N_k that is wrong"},
				{Key: "bias", Quantity: "bias measured/that of the mixture of regions", Of: x.bias, Expect: x.ofBias, Theory: "1"},
				{Key: "about-truth", Quantity: "slope in N of the error about the true M_k", Of: x.aboutTruth, Expect: x.ofAboutTruth, Theory: "that of √(bias² + variance/N)"},
			}, x.examples()...),
			Figures: func(o *theory.Outcome) []theory.Figure { return []theory.Figure{x.figure(o)} },
			Shifts:  choose(s, 2, 4), Replicates: choose(s, 32, 64),
		})
	}
	return questions
}

// truth is the same for all ways.
func (x noisy) truth(seed uint64) (*theory.Truth, error) {
	t, err := theory.NewTruth(x.design, theory.Settings{Seed: seed}.RNG(60))
	if err == nil {
		t.Alike()
		x.factors.Fix(t.Theta, nil)
	}
	return t, err
}

// law is that of (cell, atom, label) where codewords have these frequencies.
func (x noisy) law(o *theory.Outcome, frequencies []float64) []float64 {
	return o.Truth.Weights(o.Truth.Table.Multinomial(frequencies))
}

// response is θ'(0) under a law.
func (x noisy) response(o *theory.Outcome, law []float64) []float64 {
	truth := o.Limit(o.Truth.Theta, law)
	if truth.Inverse == nil {
		return make([]float64, len(o.Truth.Theta)) // the error is the question's
	}
	theta := numeric.Product(truth.Inverse, o.Gradient(o.Truth.Theta, o.Truth.Table.MisreadOnce(x.by).Of(law)))
	floats.Scale(-float64(x.design.Slots), theta)
	return theta
}

// shift is M_k at theta less the true M_k, C² entries.
func (x noisy) shift(o *theory.Outcome, k int, theta []float64) []float64 {
	shift := x.factors.Of(k, theta)
	floats.Sub(shift, x.factors.Of(k, o.Truth.Theta))
	return shift
}

// moved is M_k of a change of the true factors, to first order.
func (x noisy) moved(o *theory.Outcome, k int, change []float64) []float64 {
	return numeric.Product(x.factors.Jacobian(k, o.Truth.Theta), change)
}

// smallMove is how far limits are from the truth where they are compared with their derivative at ε = 0, in
// parts of M_k: there the terms of higher order are small in flat problems too.
const smallMove = 0.01

// small is the ε at which the derivative moves no M_k by more than smallMove.
func (x noisy) small(o *theory.Outcome, response []float64) float64 {
	var most float64
	for k := range x.factors.Blocks() {
		most = math.Max(most, floats.Norm(x.moved(o, k, response), 2)/x.factors.Size(k, o.Truth.Theta))
	}
	return smallMove / most
}

// linear compares limits of few wrong codes with θ'(0): 4M(ε/2)/ε − M(ε)/ε leaves an error of ε² of the
// derivative. It is the largest over codewords in parts of it.
func (x noisy) linear(o *theory.Outcome) theory.Estimate {
	law := x.law(o, x.design.Frequencies(0))
	response := x.response(o, law)
	epsilon := x.small(o, response)
	whole := o.Limit(o.Truth.Theta, o.Truth.Table.Misread(x.by, epsilon).Of(law)).Theta
	half := o.Limit(o.Truth.Theta, o.Truth.Table.Misread(x.by, epsilon/2).Of(law)).Theta
	far := 0.0
	for k := range x.factors.Blocks() {
		predicted := x.moved(o, k, response)
		gap := slices.Clone(predicted)
		floats.AddScaled(gap, 1/epsilon, x.shift(o, k, whole))
		floats.AddScaled(gap, -4/epsilon, x.shift(o, k, half))
		far = math.Max(far, floats.Norm(gap, 2)/floats.Norm(predicted, 2))
	}
	return theory.Exact(far)
}

// wrongAlone are the frequencies that one codeword takes alone.
var wrongAlone = []float64{0.001, 0.0001}

// alone is the slope of |M_k(ε) − M_k|/ε on the codeword's frequency, moved alone.
func (x noisy) alone(o *theory.Outcome) theory.Estimate {
	var of numeric.Points
	for k := range x.factors.Blocks() {
		for _, share := range wrongAlone {
			law := x.law(o, x.design.WithShare(k, share))
			epsilon := x.small(o, x.response(o, law))
			theta := o.Limit(o.Truth.Theta, o.Truth.Table.Misread(x.by, epsilon).Of(law)).Theta
			of.Add(share, floats.Norm(x.shift(o, k, theta), 2)/epsilon, k)
		}
	}
	return theory.Exact(of.Slope())
}

// bias is the mean of Σ ⟨M̂_k − M_k, Δ_k⟩ over Σ |Δ_k|², Δ_k = M_k(ε) − M_k.
func (x noisy) bias(o *theory.Outcome) theory.Estimate {
	whole := 0.0
	for limit, k := range o.Usable() {
		whole += numeric.Square(floats.Norm(x.shift(o, k, o.Limits[limit].Theta), 2))
	}
	return o.Mean(func(limit int, theta []float64) (along float64) {
		for at, k := range o.Usable() {
			if at == limit {
				along += floats.Dot(x.shift(o, k, theta), x.shift(o, k, o.Limits[limit].Theta))
			}
		}
		return along
	}).Over(whole / float64(len(o.Limits)))
}

// ofBias is 1, and what second order leaves open of it.
func (x noisy) ofBias(o *theory.Outcome) (target, within float64) {
	var whole, second float64
	for limit, k := range o.Usable() {
		size := floats.Norm(x.shift(o, k, o.Limits[limit].Theta), 2)
		whole += numeric.Square(size)
		second += numeric.Square(o.Limits[limit].Predicted[k]) / float64(o.Sizes[len(o.Sizes)-1]) / x.factors.Size(k, o.Limits[limit].Theta) * size
	}
	return 1, 0.01 + second/whole
}

// aboutTruth is the slope in N of the error about M_k.
func (x noisy) aboutTruth(o *theory.Outcome) theory.Estimate {
	return o.Slope(func(limit int, theta []float64) float64 {
		squares := 0.0
		for at, k := range o.Usable() {
			if at == limit {
				squares += numeric.Square(floats.Norm(x.shift(o, k, theta), 2))
			}
		}
		return math.Sqrt(squares)
	})
}

// ofAboutTruth is the slope of √(Σ |Δ_k|² + pred_k²/N).
func (x noisy) ofAboutTruth(o *theory.Outcome) (target, within float64) {
	var p numeric.Points
	for _, N := range o.Sizes {
		mean := 0.0
		for limit, k := range o.Usable() {
			mean += numeric.Square(floats.Norm(x.shift(o, k, o.Limits[limit].Theta), 2)) + numeric.Square(o.Limits[limit].Predicted[k])/float64(N)
		}
		p.Add(float64(N), math.Sqrt(mean), 0)
	}
	return p.Slope(), 0.01
}

// end is a codeword of the law's end.
type end struct {
	key, name string
	codeword  int
}

// ends are the codewords of most rows and of fewest under the law that is not shifted.
func (x noisy) ends() []end {
	return []end{{"frequent", "most frequent", 0}, {"rare", "rarest", x.design.Codewords - 1}}
}

// examples are c_k and how far M_k goes, of the ends, at the least ε.
func (x noisy) examples() (all []theory.Statistic) {
	for _, end := range x.ends() {
		k := end.codeword
		all = append(all, theory.Statistic{
			Key: "wrong-" + end.key, Quantity: fmt.Sprintf("part of the rows of the %s codeword that are others', ε = %g", end.name, wrongParts[0]),
			Of: func(*theory.Outcome) theory.Estimate { return theory.Exact(x.wrongShare(k, wrongParts[0])) }, Target: math.NaN(), Theory: "c_k",
		}, theory.Statistic{
			Key: "bias-" + end.key, Quantity: fmt.Sprintf("|M_k(ε) − M_k|/|M_k| of the %s codeword, ε = %g", end.name, wrongParts[0]),
			Of: func(o *theory.Outcome) theory.Estimate { return theory.Exact(x.far(o, k, o.Limits[0].Theta)) }, Target: math.NaN(), Theory: "0 without wrong codes",
		})
	}
	return all
}

// wrongShare is c_k under the law that is not shifted.
func (x noisy) wrongShare(k int, epsilon float64) float64 {
	p, wrong := x.design.Frequencies(0), 0.0
	for l := range p {
		wrong += epsilon * p[l] * x.by(l, k, len(p))
	}
	return wrong / (wrong + (1-epsilon)*p[k])
}

// far is |M_k at theta − M_k|/|M_k|.
func (x noisy) far(o *theory.Outcome, k int, theta []float64) float64 {
	return floats.Norm(x.shift(o, k, theta), 2) / x.factors.Size(k, o.Truth.Theta)
}

// figure draws how far the fits to most rows and the limits are from the truth under the law that is not shifted.
func (x noisy) figure(o *theory.Outcome) theory.Figure {
	f := theory.LogLog("limit", "Where a codeword's factors go when codes are wrong",
		"ε, probability that a slot's code is wrong", "|M_k(ε) − M_k| / |M_k|")
	for _, end := range x.ends() {
		k := end.codeword
		f.Against(end.name+", read as "+x.name, "limit of the mixture, read as "+x.name, len(wrongParts), func(n int) (float64, theory.Estimate, float64) {
			far := func(theta []float64) float64 { return x.far(o, k, theta) }
			return wrongParts[n], o.RMS(n, far), far(o.Limits[n].Theta)
		})
	}
	return f
}
