package theory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// bent is a Model of which a test bends one part; nil parts are the model's own. What is
// bent is bent in the companion too, but for a stray.
type bent struct {
	Model
	gradient func(grad, theta, weights []float64) float64 // changes grad, returns what is added to L
	hessian  func(hess *mat.SymDense, theta []float64)
	logProbs func(dst []float64)
	stray    bool // the companion is right
}

func (m *bent) around(inner Model) *bent {
	other := *m
	other.Model = inner
	return &other
}

func (m *bent) fork() Model { return m.around(m.Model.fork()) }

func (m *bent) companion() Model {
	inner := m.Model.companion()
	if inner == nil || m.stray {
		return inner
	}
	return m.around(inner)
}

func (m *bent) LogProbs(dst, theta []float64) error {
	err := m.Model.LogProbs(dst, theta)
	if m.logProbs != nil {
		m.logProbs(dst)
	}
	return err
}

func (m *bent) Gradient(grad, theta, weights []float64) (float64, error) {
	loss, err := m.Model.Gradient(grad, theta, weights)
	if m.gradient != nil {
		loss += m.gradient(grad, theta, weights)
	}
	return loss, err
}

func (m *bent) Hessian(hess *mat.SymDense, theta, weights []float64) error {
	err := m.Model.Hessian(hess, theta, weights)
	if m.hessian != nil {
		m.hessian(hess, theta)
	}
	return err
}

func (m *bent) curved(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error) {
	loss, err := m.Model.curved(grad, hess, theta, weights)
	if m.gradient != nil {
		loss += m.gradient(grad, theta, weights)
	}
	if m.hessian != nil {
		m.hessian(hess, theta)
	}
	return loss, err
}

func (m *bent) Score(grad, theta []float64, entry int) error {
	err := m.Model.Score(grad, theta, entry)
	if m.gradient != nil {
		m.gradient(grad, theta, nil)
	}
	return err
}

// loss puts another loss in place of each that is fitted or differentiated.
func loss(of func(Model) Model) func(*setup) {
	return func(s *setup) {
		own := *s
		s.trained = func(t *Table, identity float64) Model { return of(own.trained(t, identity)) }
		s.layer = func(l layers.Map, t *Table) Model { return of(own.layer(l, t)) }
		s.free = func(t *Table, identity float64) Model { return of(own.free(t, identity)) }
	}
}

// bend bends the losses.
func bend(m bent) func(*setup) { return loss(func(inner Model) Model { return m.around(inner) }) }

// scale multiplies them.
func scale(by float64) func(*setup) { return loss(func(m Model) Model { return &scaled{m, by} }) }

// rows draws another number of rows.
func rows(of func(n int) int) func(*setup) {
	return func(s *setup) {
		s.sample = func(law []float64, n int, rng *rand.Rand) []float64 { return Sample(law, of(n), rng) }
	}
}

// law draws rows by another law.
func law(of func(law []float64) []float64) func(*setup) {
	return func(s *setup) {
		s.sample = func(law []float64, n int, rng *rand.Rand) []float64 { return Sample(of(law), n, rng) }
	}
}

// represented leaves the law as the layer can represent it.
func represented(s *setup) { s.disturb = func(*Truth, *rand.Rand) {} }

// scaled multiplies a loss.
type scaled struct {
	Model
	by float64
}

func (m *scaled) fork() Model { return &scaled{m.Model.fork(), m.by} }

func (m *scaled) companion() Model {
	if inner := m.Model.companion(); inner != nil {
		return &scaled{inner, m.by}
	}
	return nil
}

func (m *scaled) Gradient(grad, theta, weights []float64) (float64, error) {
	loss, err := m.Model.Gradient(grad, theta, weights)
	floats.Scale(m.by, grad)
	return m.by * loss, err
}

func (m *scaled) Hessian(hess *mat.SymDense, theta, weights []float64) error {
	err := m.Model.Hessian(hess, theta, weights)
	hess.ScaleSym(m.by, hess)
	return err
}

func (m *scaled) curved(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error) {
	loss, err := m.Model.curved(grad, hess, theta, weights)
	floats.Scale(m.by, grad)
	hess.ScaleSym(m.by, hess)
	return m.by * loss, err
}

func (m *scaled) Scores(outer *mat.SymDense, theta, weights []float64) error {
	err := m.Model.Scores(outer, theta, weights)
	outer.ScaleSym(m.by*m.by, outer)
	return err
}

// linearized is the loss's second-order expansion at a point.
type linearized struct {
	Model
	at []float64
}

func (m *linearized) companion() Model { return nil }

func (m *linearized) Gradient(grad, theta, weights []float64) (float64, error) {
	return m.curved(grad, mat.NewSymDense(len(theta), nil), theta, weights)
}

func (m *linearized) curved(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error) {
	if _, err := m.Model.curved(grad, hess, m.at, weights); err != nil {
		return 0, err
	}
	n := len(theta)
	step := make([]float64, n)
	floats.SubTo(step, theta, m.at)
	loss := floats.Dot(grad, step)
	var bent mat.VecDense
	bent.MulVec(hess, mat.NewVecDense(n, step))
	floats.Add(grad, bent.RawVector().Data)
	return loss + floats.Dot(bent.RawVector().Data, step)/2, nil
}

// penalty adds λ/2‖θ‖² to the losses.
func penalty(lambda float64) func(*setup) {
	return loss(func(m Model) Model { return &quadratic{Model: m, lambda: lambda} })
}

// slowly lets samples grow as √N only.
func slowly(n int) int { return int(math.Sqrt(float64(n) * 1e6)) }

// scarce leaves every eighth sample 30 rows.
func scarce() func(n int) int {
	var count atomic.Int64
	return func(n int) int {
		if count.Add(1)%8 == 0 {
			return 30
		}
		return n
	}
}

// always draws as many rows whatever N says.
func always(int) int { return 1e5 }

// evenly draws every (cell, atom) alike and keeps the labels' law.
func evenly(population []float64) []float64 {
	const C = 3
	law := slices.Clone(population)
	for row := 0; row < len(law); row += C {
		if total := floats.Sum(law[row : row+C]); total > 0 {
			floats.Scale(1/total, law[row:row+C])
		}
	}
	floats.Scale(1/floats.Sum(law), law)
	return law
}

// elsewhere draws a fifth of the labels at random.
func elsewhere(population []float64) []float64 {
	const C = 3
	law := slices.Clone(population)
	for row := 0; row < len(law); row += C {
		total := floats.Sum(law[row : row+C])
		for j := range C {
			law[row+j] = 0.8*law[row+j] + 0.2*total/C
		}
	}
	return law
}

// readRight lets each cell of a joint law, of the right design, be read as it is.
func readRight(joint []float64) []float64 {
	const cells = 10 // of two slots of 4 codewords
	size := len(joint) / cells
	law := make([]float64, len(joint))
	for u := range cells {
		of := joint[u*size:][:size]
		copy(law[u*size+u*size/cells:], seen(of, size/cells))
	}
	return law
}

// effectively gives a cell rows by the counts of its codewords too.
func effectively(population []float64) []float64 {
	truth, err := NewTruth(Fast(), newRand(1, 16))
	if err != nil {
		panic(err)
	}
	law := slices.Clone(population)
	for v, effective := range effectiveCount(truth.Table, truth.Table.Occupancy(truth.Table.Multinomial(truth.Design.Frequencies(0)))) {
		size := len(law) / len(truth.Table.Cells)
		floats.Scale(effective, law[v*size:(v+1)*size])
	}
	floats.Scale(1/floats.Sum(law), law)
	return law
}

// quick is the experiment of study assumptions at its quick effort, its loss by hand.
func quick(s *setup, shifts int) (*problem, *experiment, error) {
	byHand := *s
	byHand.small = Fast()
	byHand.trained = func(t *Table, identity float64) Model { return newBilinear(t, identity) }
	p := byHand.problem(byHand.small, newRand(s.Seed, 25))
	e, err := p.experiment(context.Background(), p.shifted(shifts)...)
	return p, e, err
}

// coupled judges A6 to A8 of populations that are changed first.
func coupled(change func(e *experiment, p *problem) error) func(s *setup, r *Report) error {
	return func(s *setup, r *Report) error {
		p, e, err := quick(s, 2)
		if err != nil {
			return err
		}
		if err := change(e, p); err != nil {
			return err
		}
		return e.coupling(context.Background(), r)
	}
}

// ofDraws changes the draws of study ensemble.
func ofDraws(change func(x *ensemble)) func(s *setup, r *Report) error {
	return func(s *setup, r *Report) error {
		x := newEnsemble(s)
		change(x)
		return x.rows(context.Background(), r)
	}
}

// seldom draws a tenth of the rows that any draw gives its rarest codeword.
func seldom(population []float64) []float64 {
	law := slices.Clone(population)
	x := newEnsemble(newSetup(Settings{Seed: 1}))
	for row := range x.Table.Cells {
		for _, own := range x.own {
			if own[row] == len(ownAtoms)-1 {
				floats.ScaleTo(x.Table.of(law, row), 0.1, x.Table.of(population, row))
			}
		}
	}
	floats.Scale(1/floats.Sum(law), law)
	return law
}

// arithmetic is the mean of the probabilities.
func arithmetic(dst []float64, logs [][]float64, weights []float64) {
	clear(dst)
	for i, l := range logs {
		for j := range dst {
			dst[j] += weights[i] * math.Exp(l[j])
		}
	}
	for j, p := range dst {
		dst[j] = math.Log(p)
	}
}

// The parts of study gauge, each by itself.

func withNullity(s *setup, r *Report) error {
	return Study{parts: []part{nullityRows, learnedNullity, togetherNullity, freeRanks}}.run(context.Background(), s, r)
}

func withBalance(s *setup, r *Report) error { return balanced(context.Background(), s, r) }

// withEarlyStop judges stops before the optimum alone.
func withEarlyStop(s *setup, r *Report) error {
	p := s.problem(s.small, newRand(s.Seed, 10))
	e, err := p.experiment(context.Background(), p.shifted(s.small.Codewords)...)
	if err != nil {
		return err
	}
	return e.earlyStop(context.Background(), r)
}

// withSlopes judges how the errors of study unshared go with rows, and not its cells of few rows.
func withSlopes(s *setup, r *Report) error {
	return newComparison(s).compareSlopes(context.Background(), r)
}

// withRidges judges the ridges of these keys.
func withRidges(keys ...string) func(s *setup, r *Report) error {
	some := slices.DeleteFunc(slices.Clone(ridges), func(x ridge) bool { return !slices.Contains(keys, x.key) })
	return func(s *setup, r *Report) error { return ridgeRows(context.Background(), s, r, some) }
}

// A mutation is something wrong, with the rows that must notice it.
type mutation struct {
	name    string
	study   string
	part    func(*setup)                    // puts a wrong part in place of a right one
	run     func(s *setup, r *Report) error // in place of the whole study
	notices []string
}

var mutations = []mutation{
	{name: "scores that are not the loss's", study: "gauge", part: bend(bent{gradient: func(grad, _, _ []float64) float64 {
		grad[0] += 1e-3
		return 0
	}}), run: withNullity, notices: []string{"nullity"}},
	{name: "a ridge of 1e-3 in the loss", study: "gauge", part: penalty(1e-3), run: withNullity, notices: []string{"null-directions", "nullity-prior", "nullity-scale", "nullity-together", "rank-cell", "rank-one-atom"}},
	{name: "a ridge of 1 in the loss", study: "gauge", part: penalty(1), run: withRidges("paper", "weak"), notices: []string{"radius-worst-paper", "radius-worst-weak"}},
	{name: "a loss a thousand times too steep", study: "gauge", part: scale(1000), run: withRidges("strong"), notices: []string{"collapsed-strong"}},
	{name: "collapses compared with half the ridge", study: "gauge", run: func(s *setup, r *Report) error {
		halved := slices.Clone(ridges)
		for i := range halved {
			halved[i].pull /= 2
		}
		return ridgeRows(context.Background(), s, r, halved)
	}, notices: []string{"unpredicted-strong"}},
	{name: "samples that grow as √N", study: "gauge", part: rows(slowly), run: func(s *setup, r *Report) error {
		return errors.Join(withBalance(s, r), withRidges("weak")(s, r))
	}, notices: []string{"slope-balanced", "ridge-beta-n"}},
	{name: "estimates not brought to a representative", study: "gauge", run: func(s *setup, r *Report) error {
		return balanceSlopes(context.Background(), s, r, func(Rescaling, []float64, []float64) {})
	}, notices: []string{"slope-balanced"}},
	{name: "every eighth sample of 30 rows", study: "gauge", part: rows(scarce()), run: withBalance, notices: []string{"unsettled"}},

	{name: "a quantizer that takes the farthest codeword", study: "propositions", run: func(_ *setup, r *Report) error {
		slotwise(r, floats.MaxIdx)
		return nil
	}, notices: []string{"proposition-1"}},
	{name: "posteriors at temperature 1.2", study: "propositions", part: bend(bent{logProbs: func(l []float64) { floats.Scale(1/1.2, l) }}), notices: []string{"proposition-2", "chi2-printed"}},
	{name: "the identity left out", study: "propositions", part: func(s *setup) {
		s.trained = func(t *Table, _ float64) Model { return trained(t, 0) }
	}, notices: []string{"chi2-identity"}},
	{name: "all rows in one cell", study: "propositions", run: func(s *setup, r *Report) error {
		view, err := trainedPipeline(context.Background(), s)
		clear(view.Codes)
		reportRanges(view, r)
		return err
	}, notices: []string{"degenerate"}},
	{name: "posteriors that know the order of the slots", study: "propositions", part: bend(bent{logProbs: func(l []float64) {
		for i := range l {
			l[i] += 1e-6 * float64(i)
		}
	}}), notices: []string{"posteriors-equal"}},
	{name: "posteriors that know no region", study: "propositions", part: bend(bent{logProbs: func(l []float64) {
		for i := range l {
			l[i] = -1
		}
	}}), notices: []string{"posteriors-generic"}},

	{name: "samples of a quarter of the rows", study: "rate", part: rows(func(n int) int { return n / 4 }), notices: []string{"ratio", "ratio-greatest", "wald", "pair-ratio"}},
	{name: "samples of nine times the rows", study: "rate", part: rows(func(n int) int { return 9 * n }), notices: []string{"ratio-least"}},
	{name: "samples that grow as √N", study: "rate", part: rows(slowly), notices: []string{"beta-n", "theorem-1", "a3", "pair-beta-n"}},
	{name: "samples of even frequencies", study: "rate", part: law(evenly), notices: []string{"beta-p-excess"}},
	{name: "every eighth sample of 30 rows", study: "rate", part: rows(scarce()), notices: []string{"unsettled"}},
	{name: "a ridge of 1e-3 in the loss", study: "rate", part: penalty(1e-3), notices: []string{"hessian-by-hand", "scores-by-hand", "population-gradient", "gauge-curvature"}},

	{name: "samples of a quarter of the rows", study: "misspecified", part: rows(func(n int) int { return n / 4 }), notices: []string{"ratio", "ratio-farthest", "wald", "outliers"}},
	{name: "samples that grow as √N", study: "misspecified", part: rows(func(n int) int { return int(10 * math.Sqrt(float64(n)*1e5)) }), notices: []string{"beta-n"}},
	{name: "a loss that falls without end", study: "misspecified", part: bend(bent{gradient: func(grad, theta, _ []float64) float64 {
		grad[0] -= 100
		return -100 * theta[0]
	}}), notices: []string{"unbounded"}},
	{name: "a law that the calibrator can represent", study: "misspecified", part: represented, notices: []string{"naive-greatest"}},
	{name: "a graph whose gradient strays from the formula's", study: "misspecified", part: bend(bent{stray: true, gradient: func(grad, theta, _ []float64) float64 {
		grad[0] += 1e-6
		return 1e-6 * theta[0]
	}}), notices: []string{"population-gradient"}},

	{name: "samples of even frequencies", study: "optimization-error", part: law(evenly), notices: []string{"gain-alone", "gain-shifted"}},
	{name: "samples that grow as √N", study: "optimization-error", part: rows(func(n int) int { return int(3 * math.Sqrt(float64(n))) }), notices: []string{"schedule-constant", "schedule-root"}},
	{name: "samples that do not grow", study: "optimization-error", part: rows(always), notices: []string{"schedule-root", "schedule-slow"}},
	{name: "a loss a thousand times too flat", study: "optimization-error", part: scale(1e-3), run: withEarlyStop, notices: []string{"late-stop"}},
	{name: "every eighth sample of 30 rows", study: "optimization-error", part: rows(scarce()), notices: []string{"unsettled"}},

	{name: "samples of a quarter of the rows", study: "unshared", part: rows(func(n int) int { return n / 4 }), run: withSlopes, notices: []string{"kl-per-row"}},
	{name: "samples of even frequencies", study: "unshared", part: law(evenly), run: withSlopes, notices: []string{"slope-rows"}},
	{name: "cells with rows by their codewords' counts", study: "unshared", part: law(effectively), run: withSlopes, notices: []string{"slope-effective"}},
	{name: "a fifth of the labels at random", study: "unshared", part: law(elsewhere), notices: []string{"gain-decades", "unsettled"}},

	{name: "samples of a quarter of the rows", study: "co-occurrence", part: rows(func(n int) int { return n / 16 }), notices: []string{"error-0", "error-0.5", "error-0.9", "error-0.99", "error-0.999"}},
	{name: "a ridge of 0.01 in the loss", study: "co-occurrence", part: penalty(1e-2), notices: []string{"schur-falls"}},
	{name: "every eighth sample of 30 rows", study: "co-occurrence", part: rows(scarce()), notices: []string{"unsettled"}},

	{name: "samples of a quarter of the rows", study: "triangular", part: rows(func(n int) int { return n / 4 }), notices: []string{"ratio-100000", "ratio-1e+09"}},
	{name: "samples that grow as √N", study: "triangular", part: rows(slowly), notices: []string{"slope-nk", "slope-n", "ratio-1e+07"}},
	{name: "every eighth sample of 30 rows", study: "triangular", part: rows(scarce()), notices: []string{"unsettled"}},

	{name: "samples of a quarter of the rows", study: "noise", part: rows(func(n int) int { return n / 4 }), notices: []string{"any-ratio", "any-wald", "neighbour-ratio", "neighbour-wald"}},
	{name: "samples that grow as √N", study: "noise", part: rows(slowly), notices: []string{"any-beta-n", "neighbour-beta-n"}},
	{name: "samples of even frequencies", study: "noise", part: law(evenly), notices: []string{"any-beta-p-excess", "neighbour-beta-p-excess"}},
	{name: "codes that are read as they are", study: "noise", part: law(readRight), notices: []string{"any-bias", "any-about-truth", "neighbour-bias", "neighbour-about-truth"}},
	{name: "a Hessian a tenth too large", study: "noise", part: bend(bent{hessian: func(h *mat.SymDense, _ []float64) { h.ScaleSym(1.1, h) }}), notices: []string{"any-linear", "neighbour-linear"}},
	{name: "a ridge of 1e-3 in the loss", study: "noise", part: penalty(1e-3), notices: []string{"any-alone", "neighbour-alone"}},
	{name: "a graph whose gradient strays from the formula's", study: "noise", part: bend(bent{stray: true, gradient: func(grad, theta, _ []float64) float64 {
		grad[0] += 1e-6
		return 1e-6 * theta[0]
	}}), notices: []string{"any-population-gradient", "neighbour-population-gradient"}},
	{name: "every eighth sample of 30 rows", study: "noise", part: rows(scarce()), notices: []string{"any-unsettled", "neighbour-unsettled"}},

	{name: "samples of a quarter of the rows", study: "ensemble", part: rows(func(n int) int { return n / 4 }), notices: []string{"one", "stays", "falls", "common-stays", "common-falls", "own-one", "own-stays"}},
	{name: "samples that grow as √N", study: "ensemble", part: rows(slowly), notices: []string{"stays-n", "falls-n"}},
	{name: "samples of even frequencies", study: "ensemble", part: law(evenly), notices: []string{"common-excess"}},
	{name: "a tenth of the rows where an own codeword is rarest", study: "ensemble", part: law(seldom), notices: []string{"own-one-excess", "own-stays-excess"}},
	{name: "fits whose arithmetic mean is taken", study: "ensemble", run: ofDraws(func(x *ensemble) { x.mean = arithmetic }), notices: []string{"identity"}},
	{name: "members that never draw the same", study: "ensemble", run: ofDraws(func(x *ensemble) {
		for i, ways := range x.ways {
			for way, parts := range ways.parts {
				if floats.Max(parts)*float64(members[i]) > 1.5 {
					ways.probabilities[way] = 0
				}
			}
			floats.Scale(1/floats.Sum(ways.probabilities), ways.probabilities)
		}
	}), notices: []string{"members-2", "members-4"}},
	{name: "a ridge of 1e-3 in the loss", study: "ensemble", part: penalty(1e-3), notices: []string{"represents", "alone-stays", "alone-falls"}},
	{name: "every eighth sample of 30 rows", study: "ensemble", part: rows(scarce()), notices: []string{"unsettled"}},

	{name: "a gradient that is not the loss's", study: "assumptions", part: bend(bent{gradient: func(grad, _, _ []float64) float64 {
		grad[0] += 1e-3
		return 0
	}}), notices: []string{"a1-gradient", "a4-unique", "a8-cell-right"}},
	{name: "a Hessian a tenth too large", study: "assumptions", part: bend(bent{hessian: func(h *mat.SymDense, _ []float64) { h.ScaleSym(1.1, h) }}), notices: []string{"a1-hessian", "taylor-integral"}},
	{name: "a gradient that is no sum over rows", study: "assumptions", part: bend(bent{gradient: func(grad, _, weights []float64) float64 {
		floats.Scale(1+floats.Dot(weights, weights), grad)
		return 0
	}}), notices: []string{"a1-exchange", "a8-mean-zero"}},
	{name: "a neighbourhood a hundred thousand times too wide", study: "assumptions", run: func(s *setup, r *Report) error {
		e, err := newAssumptions(context.Background(), s, s.design(), 4)
		if err != nil {
			return err
		}
		return e.localCurvature(r, 1e5*widest)
	}, notices: []string{"a4-uniform"}},
	{name: "a ridge of 1e-3 in the loss", study: "assumptions", part: penalty(1e-3), notices: []string{"a4-exponent", "a6-receiver", "a6-sender"}},
	{name: "a loss a thousand times too steep", study: "assumptions", part: scale(1000), notices: []string{"a8-gradient", "a8-hessian"}},
	{name: "samples that do not grow", study: "assumptions", part: rows(always), notices: []string{"a2-loss", "a2-gradient", "a2-hessian", "a3", "a8-lln"}},
	{name: "samples of 30 rows", study: "assumptions", part: rows(func(int) int { return 30 }), notices: []string{"a5-outside", "a9"}},
	{name: "a law that the calibrator can represent", study: "assumptions", part: represented, notices: []string{"a8-cell"}},
	{name: "two codewords that almost always meet", study: "assumptions", run: coupled(func(e *experiment, p *problem) (err error) {
		e.populations[0], err = p.population(e.model, overlapping(p.Table, 0.99999))
		return err
	}), notices: []string{"a6"}},
	{name: "codewords counted a thousand times too rare", study: "assumptions", run: coupled(func(e *experiment, _ *problem) error {
		for _, p := range e.populations {
			floats.Scale(1e-3, p.occupancy)
		}
		return nil
	}), notices: []string{"a7"}},
	{name: "codewords counted in reverse", study: "assumptions", run: coupled(func(e *experiment, _ *problem) error {
		for _, p := range e.populations {
			for k, occupancy := range p.occupancy {
				p.occupancy[k] = 1 / occupancy
			}
		}
		return nil
	}), notices: []string{"a6-order", "gradient-block"}},
	{name: "a loss that is quadratic", study: "assumptions", run: func(s *setup, r *Report) error {
		p, e, err := quick(s, 1)
		if err != nil {
			return err
		}
		e.model = &linearized{e.model, slices.Clone(p.Theta)}
		return e.taylor(context.Background(), r)
	}, notices: []string{"taylor-point"}},

	{name: "a gradient that is not the loss's", study: "initialisation", part: bend(bent{gradient: func(grad, _, _ []float64) float64 {
		grad[0] += 1e-3
		return 0
	}}), notices: []string{"origin-gradient"}},
	{name: "a ridge of 1 in the loss", study: "initialisation", part: penalty(1), notices: []string{"origin-curvature"}},

	{name: "samples of a quarter of the rows", study: "intervals", part: rows(func(n int) int { return n / 4 }), notices: []string{"posteriors-300", "posteriors-1000", "posteriors-3000", "posteriors-10000"}},
	{name: "variances a tenth too large", study: "intervals", run: func(s *setup, r *Report) error {
		x, err := drawIntervals(context.Background(), s)
		floats.Scale(1.1, x.variances)
		x.report(s, r)
		return err
	}, notices: []string{"variance"}},
	{name: "samples of 20 rows", study: "intervals", part: rows(func(int) int { return 20 }), notices: []string{"unsettled"}},

	{name: "samples of one row in thirty", study: "two-stage", part: rows(func(n int) int { return n / 30 }), notices: []string{"before-0-10000", "before-0-100000", "after-1-10000", "after-1-100000"}},
	{name: "samples of 20 rows", study: "two-stage", part: rows(func(int) int { return 20 }), notices: []string{
		"unsettled-0-1000", "unsettled-0-10000", "unsettled-0-100000", "unsettled-1-1000", "unsettled-1-10000", "unsettled-1-100000", "unsettled-2-1000", "unsettled-2-10000", "unsettled-2-100000",
	}},
}

// A study is worth what it catches: every judged row is broken by some mutation, and none
// falls outside its band without one. Every sixth mutation is made, and each with
// CALIBRA_CHECK=all; the others count as they are listed. It takes more than 5 s, as each mutation is a study.
func TestEveryJudgedRowCanFail(t *testing.T) {
	right := func() *setup {
		s := newSetup(Settings{Seed: 1, Effort: Quick})
		s.small = Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 6, Decades: 1, Identity: 1}
		s.most.replicates, s.most.problems = 20, 1
		return s
	}
	var lock sync.Mutex
	open := map[string]bool{} // judged rows that no mutation broke yet
	t.Run("right", func(t *testing.T) {
		for _, study := range Studies() {
			t.Run(study.Name, func(t *testing.T) {
				t.Parallel()
				r := &Report{Study: study.Name, Seed: 1}
				if err := study.run(t.Context(), right(), r); err != nil {
					t.Fatal(err)
				}
				lock.Lock()
				defer lock.Unlock()
				for _, row := range r.Rows {
					if row.Verdict() == "FAIL" {
						t.Errorf("%s is %g, outside %v", row.Key, row.Value, row.Band)
					}
					if row.Band != nil {
						open[study.Name+"."+row.Key] = true
					}
				}
			})
		}
	})
	var lines []string
	t.Run("wrong", func(t *testing.T) {
		for at, m := range mutations {
			if at%6 != 0 && os.Getenv("CALIBRA_CHECK") != "all" {
				for _, key := range m.notices {
					delete(open, m.study+"."+key)
				}
				continue
			}
			t.Run(m.study+"/"+m.name, func(t *testing.T) {
				t.Parallel()
				s := right()
				if m.part != nil {
					m.part(s)
				}
				r := &Report{Study: m.study, Seed: s.Seed}
				run := m.run
				if run == nil {
					study, err := Find(m.study)
					if err != nil {
						t.Fatal(err)
					}
					run = func(s *setup, r *Report) error { return study[0].run(t.Context(), s, r) }
				}
				// What is wrong may end a study; the rows before that are judged.
				err := run(s, r)
				var broken []string
				for _, row := range r.Rows {
					if row.Verdict() == "FAIL" {
						broken = append(broken, row.Key)
					}
				}
				lock.Lock()
				defer lock.Unlock()
				for _, key := range m.notices {
					if !slices.Contains(broken, key) {
						t.Errorf("%s stays within its band (the study ended with %v)", key, err)
					}
					delete(open, m.study+"."+key)
				}
				lines = append(lines, fmt.Sprintf("%s | %s | %s", m.study, m.name, strings.Join(broken, ", ")))
			})
		}
	})
	for key := range open {
		t.Errorf("no mutation breaks %s", key)
	}
	slices.Sort(lines)
	t.Logf("study | what is wrong | rows that notice\n%s", strings.Join(lines, "\n"))
}
