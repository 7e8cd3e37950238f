package anchored

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"
)

// Candidate is a map of a mixture.
type Candidate struct {
	Name string // "joint"
	Map  layers.Map
}

// candidateOf is the candidate of a name in a model file.
func candidateOf(all []Candidate, name string) (Candidate, error) {
	i := slices.IndexFunc(all, func(c Candidate) bool { return c.Name == name })
	if i < 0 {
		return Candidate{}, fmt.Errorf("layers: the model's map %q is none of the candidates", name)
	}
	return all[i], nil
}

// Ranked is a candidate's result by cross-validation.
type Ranked struct {
	Name       string
	NLL, Error float64 // mean held-out loss of a row, and its standard error
	// Excess is the mean over the rows of the loss minus the loss of the best candidate. ExcessError is the standard
	// error of this mean: the rows are the same, so it is far smaller than Error.
	Excess, ExcessError float64
	// Lost is the accuracy of the base minus the accuracy of the candidate. LostError is its
	// standard error, also from the rows' differences.
	Lost, LostError float64
}

// Mixer is a calibrator that mixes candidates which it judged by rows held out.
type Mixer interface {
	// Ranks are the candidates' results of the last Fit, in their order; nil before.
	Ranks() []Ranked
	// Shares are the weights of the candidates, nil before Fit.
	Shares() []float64
	// T is the temperature of the mixture.
	T() float64
	// Loss is the mean loss of the held-out rows under the mixture, and its standard error.
	Loss() (nll, standardError float64)
	// Kept reports whether the classifier is kept, since the mixture does not lower its loss of the held-out rows, at
	// which temperature T, 1 as it is, and that loss.
	Kept() (t, nll float64, kept bool)
}

// contest is cross-validation of candidates over the calibration rows.
type contest struct {
	all        *data.Set    // the calibration set
	rows       *layers.Rows // of the calibration set, in float32, labelled
	aims       *data.Set    // labels and weights of those that the folds divide
	right      []float64    // of those, 1 where the base has it right, the label's share of a soft one
	logits     *mat.Dense   // of those, the classifier's; nil where it has none
	before     []float64    // what those lose by the classifier as it is, nil without logits
	divided    []layers.Fold
	chosen     []int // the rows that the folds divide, nil: all
	cv         *crossValidation
	candidates []Candidate
	judged     []*judgement // in the candidates' order
}

// judging is by what candidates are judged.
type judging struct {
	rows    int // calibration rows that the folds divide; 0: all, or as many as have judgedLogits
	folds   int
	method  optim.Method
	spreads SpreadGrid
}

// judgedLogits is up to how many logits are judged by. Of 100 classes they are those of 41,943
// rows, of 1,000 classes of 4,194.
const judgedLogits = 1 << 22

// divided are the rows that the folds divide, stratified, or all of them: nil.
func (j judging) divided(labels []int, classes int, rng *rand.Rand) []int {
	n := j.rows
	if n == 0 {
		n = max(judgedLogits/classes, fewRows)
	}
	if n >= len(labels) {
		return nil
	}
	return layers.FewRows(labels, n, rng)
}

// walkedRows is how many held-out rows tell spreads apart: of more, not all folds are asked.
const walkedRows = 2048

// walked is how many of the folds hold out that many of the rows that they divide.
func walked(folds, rows int) int { return min(folds, 1+walkedRows*folds/rows) }

// newContest fits the base to the rows and draws folds.
func newContest(ctx context.Context, base layers.Base, by judging, cal *data.Set, rng, folds *rand.Rand) (*contest, error) {
	if cal.Labels == nil {
		return nil, fmt.Errorf("layers: the calibration rows have no labels")
	}
	if err := layers.CheckFolds(by.folds, cal.Len()); err != nil {
		return nil, err
	}
	if by.rows > 0 {
		if err := layers.CheckFolds(by.folds, by.rows); err != nil {
			return nil, err
		}
	}
	view, rows, err := fitBase(ctx, base, cal, rng)
	if err != nil {
		return nil, err
	}
	sizes := base.Sizes()
	c := &contest{all: cal, rows: rows, aims: &data.Set{Labels: cal.Labels, Weights: cal.Weights, Soft: cal.Soft}}
	part, said := c.rows, view.LogProbs
	divided, whole := by.divided(cal.Labels, sizes.Classes, folds), cal
	if c.chosen = divided; divided != nil {
		part, c.aims, said, whole = c.rows.Of(divided), c.aims.Rows(divided), data.RowsOf(said, divided), cal.Rows(divided)
	}
	c.right = rightBy(said, c.aims)
	if whole.Logits != nil {
		c.logits = data.LogProbs(whole.Logits)
		c.before = lossesBy(c.logits, c.aims)
	}
	c.divided = layers.Folds(whole, by.folds, folds)
	c.cv = newCrossValidation(sizes, part, c.aims, c.divided, by, folds)
	return c, nil
}

// fitBase fits the base to labelled rows, and gives its view of them, also as graphs read it, in float32. An [Anchor]
// finds their codes once.
func fitBase(ctx context.Context, base layers.Base, cal *data.Set, rng *rand.Rand) (*layers.View, *layers.Rows, error) {
	ctx = work.Span(ctx, "divide", 0, 0)
	a, ok := base.(*Anchor)
	if !ok {
		if err := base.Fit(ctx, cal, nil, rng); err != nil {
			return nil, nil, err
		}
		return seenBy(base, base.Sizes(), cal, tensor.Float32)
	}
	codes, shares, err := a.fit(ctx, cal, rng)
	if err != nil {
		return nil, nil, err
	}
	view := a.view(cal, codes, shares)
	rows, err := view.Rows(tensor.Float32, a.sizes).LabelledBy(cal)
	return view, rows, err
}

// seenBy is the view of labelled rows by a fitted base of these sizes, also as graphs read it.
func seenBy(base layers.Base, s layers.Sizes, cal *data.Set, dt tensor.Dtype) (*layers.View, *layers.Rows, error) {
	view, err := base.View(cal)
	if err != nil {
		return nil, nil, err
	}
	rows, err := view.Rows(dt, s).LabelledBy(cal)
	return view, rows, err
}

// efforts are what it should take to judge each candidate: a map under a prior is fitted to each of several spreads.
func (c *contest) efforts(candidates []Candidate) []float64 {
	const spreads = 4
	var efforts []float64
	for _, candidate := range candidates {
		e := effort(candidate.Map, c.cv.sizes)
		if _, ok := candidate.Map.(Hierarchical); ok {
			e *= spreads
		}
		efforts = append(efforts, e)
	}
	return efforts
}

// judge adds candidates with the folds' results for them; efforts are what that should take, of those before them and
// after too.
func (c *contest) judge(ctx context.Context, candidates []Candidate, efforts []float64) error {
	for _, candidate := range candidates {
		j, err := c.cv.judge(work.Piece(ctx, candidate.Name, len(c.judged), efforts...), candidate.Map)
		if err != nil {
			return fmt.Errorf("cross-validate %s: %w", candidate.Name, err)
		}
		c.candidates, c.judged = append(c.candidates, candidate), append(c.judged, j)
	}
	return nil
}

// rank compares candidates by rows of these weights (nil: 1 each); base is 1 for each row that the base has right.
func rank(candidates []Candidate, judged []*judgement, base, weights []float64) []Ranked {
	ranking, best := make([]Ranked, len(judged)), 0
	for i, j := range judged {
		r := &ranking[i]
		r.Name = candidates[i].Name
		r.NLL, r.Error = meanError(j.losses, weights)
		r.Lost, r.LostError = meanError(rowwise(len(base), func(row int) float64 { return base[row] - j.right[row] }), weights)
		if r.NLL < ranking[best].NLL {
			best = i
		}
	}
	for i, j := range judged {
		excess := rowwise(len(base), func(row int) float64 { return j.losses[row] - judged[best].losses[row] })
		ranking[i].Excess, ranking[i].ExcessError = meanError(excess, weights)
	}
	return ranking
}

func rowwise(n int, of func(row int) float64) []float64 {
	x := make([]float64, n)
	for row := range x {
		x[row] = of(row)
	}
	return x
}

// lossesBy is the cross-entropy of each row by log-probabilities (N×C).
func lossesBy(logProbs *mat.Dense, rows *data.Set) []float64 {
	return rowwise(rows.Len(), func(row int) float64 { return rows.CrossEntropy(row, logProbs.RawRowView(row)) })
}

// rightBy is for each row 1 where log-probabilities (N×C) have it right, the label's share of a soft one.
func rightBy(logProbs *mat.Dense, rows *data.Set) []float64 {
	return rowwise(rows.Len(), func(row int) float64 { return rows.Share(row, floats.MaxIdx(logProbs.RawRowView(row))) })
}

// meanError is the mean of x by weight (nil: 1 each) and its standard error, by the effective number of rows. What
// counts as no more than one row has no spread: its error is +Inf.
func meanError(x, weights []float64) (mean, standardError float64) {
	if weights == nil {
		mean, variance := stat.MeanVariance(x, nil)
		return mean, math.Sqrt(variance / float64(len(x)))
	}
	mean, variance := stat.PopMeanVariance(x, weights)
	more := data.Effective(weights, len(x)) - 1
	if more < 1e-9 { // but for rounding
		return mean, math.Inf(1)
	}
	return mean, math.Sqrt(variance / more)
}
