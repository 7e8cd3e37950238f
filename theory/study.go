package theory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"calibra/data"
)

// Effort chooses between the quick design of a study and the complete one.
type Effort int

const (
	Complete Effort = iota // the design of Full and the replicates of the specification
	Quick                  // the design of Fast
)

// Settings of a run of studies. The zero value is the complete run with seed 0.
type Settings struct {
	Seed   uint64
	Effort Effort
}

// Study is one question put to the theory.
type Study struct {
	Name  string // as on the command line
	Claim string // what it checks
	parts []part
}

// part adds rows to the report of a study.
type part func(ctx context.Context, s Settings, r *Report) error

// run carries the parts out, up to the first that fails.
func (s Study) run(ctx context.Context, with Settings, r *Report) error {
	if len(s.parts) == 0 {
		return errors.New("it asks nothing; make it by NewStudy with a Question")
	}
	for _, part := range s.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := part(ctx, with, r); err != nil {
			return err
		}
	}
	return nil
}

func (s Study) Run(ctx context.Context, settings Settings) (*Report, error) {
	report := &Report{Study: s.Name, Claim: s.Claim, Seed: settings.Seed}
	if err := s.run(ctx, settings, report); err != nil {
		return nil, fmt.Errorf("theory: study %s: %w", s.Name, err)
	}
	return report, nil
}

// Find returns the named studies in the order of Studies, or an error that lists
// the names there are.
func Find(names ...string) ([]Study, error) { return Among(Studies(), names...) }

// Among is Find among these studies.
func Among(studies []Study, names ...string) (found []Study, err error) {
	for _, name := range names {
		if _, err := data.Find("study", name, studies, func(s Study) string { return s.Name }, "fast", "all"); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(studies), func(s Study) bool { return !slices.Contains(names, s.Name) }), nil
}

// Studies lists every study in the order of the specification.
func Studies() []Study {
	return []Study{
		{"gauge", "what of the factors can be identified: everything but one rescaling per codeword", []part{nullityRows, learnedNullity, togetherNullity, freeRanks, balanced, ridged}},
		{"propositions", "Propositions 1 and 2, by brute force and against an independent density", []part{quantization, posteriorGap, calibration, degenerate, distinctMaps}},
		{"rate", "Theorems 1 and 2: errors fall as N^(−1/2) with the sandwich's constants (well specified)", []part{runRate}},
		{"misspecified", "the pseudo-true parameter: the sandwich holds where the calibrator cannot represent the law", []part{runMisspecified}},
		{"optimization-error", "O_p(ε_N): what an imposed gradient residual does to frequent and rare codewords", []part{runOptimizationError}},
		{"unshared", "one free map per cell learns from the cell's own rows only; shared factors from all", []part{runUnshared}},
		{"co-occurrence", "A6: two codewords seen only together cannot be told apart, whatever their counts", []part{runCooccurrence}},
		{"triangular", "Theorem 2 where N_k is not Θ(N): the rate is the codeword's own count", []part{runTriangular}},
		{"noise", "wrong codes: what the factors go to where the code of a slot is wrong with probability ε, and at what rate", []part{ask(noise)}},
		{"ensemble", "the mean of several fits: what of the excess risk falls with 1/S, and what does not", []part{runEnsemble}},
		{"assumptions", "A1 to A9 at θ* and in a neighbourhood of it", []part{runAssumptions}},
		{"initialisation", "which starts reach the best optimum of the population", []part{runInitialisation}},
		{"intervals", "from theory to practice: how often a fitted calibrator's intervals hold the truth", []part{runIntervals}},
		{"recipe", "Theorem 1 after the paper's own training: what its steps, decay and early stopping leave of the error", []part{runRecipe}},
		{"growth", "what the paper leaves open: a codebook that grows as N^a, and codewords whose labels are almost all of one class", []part{runGrowth}},
		{"two-stage", "the same when the head, and the codebook, are fitted to the same rows", []part{runTwoStage}},
	}
}

func designOf(s Settings) Design { return choose(s, Fast(), Full()) }

// choose returns quick or complete by the effort, such as how many samples to draw.
func choose[T any](s Settings, quick, complete T) T {
	if s.Effort == Complete {
		return complete
	}
	return quick
}

// problem is a truth, balanced, with the trained layer that is to find it.
type problem struct {
	Settings
	*Truth
	model  Model
	gauge  Rescaling
	target Products
}

// newProblem draws a problem of the design.
func newProblem(s Settings, d Design, rng *rand.Rand) *problem {
	p := problemOf(s, newTruth(d, multisets(d.Codewords, d.Slots), rng))
	p.gauge.Fix(p.Theta, nil)
	return p
}

// problemOf is the problem of a truth, as it is.
func problemOf(s Settings, truth *Truth) *problem {
	gauge := Rescaling{truth.Design.Classes, truth.Design.Codewords}
	return &problem{Settings: s, Truth: truth, model: trained(truth.Table, truth.Design.Identity), gauge: gauge, target: Products{gauge}}
}

// law is that of the cells under a shift of the design's frequencies.
func (t *Truth) law(shift int) []float64 { return t.Table.Multinomial(t.Design.Frequencies(shift)) }

// population is the truth under the given probabilities of the cells.
func (p *problem) population(model Model, law []float64) (Limit, error) {
	return p.limit(model, p.gauge, p.Theta, law)
}

// experiment is the estimation of the truth under laws of the cells. In every population θ* is the
// truth's own.
func (p *problem) experiment(ctx context.Context, laws ...[]float64) (e *Experiment, err error) {
	e = &Experiment{Trials: Trials{Settings: p.Settings}, Truth: p.Truth, Model: p.model, Gauge: p.gauge, Target: p.target}
	e.Limits, err = each(ctx, len(laws), p.model, func(model Model, i int) (Limit, error) {
		return p.population(model, laws[i])
	})
	return e, err
}

// shifted are the laws of the cells under n even shifts of the frequencies.
func (t *Truth) shifted(n int) [][]float64 { return data.Each(evenShifts(t.Design, n), t.law) }

// fit is the minimum of the model's loss on a sample, from the truth.
func (p *problem) fit(model Model, sample []float64) ([]float64, error) {
	theta := slices.Clone(p.Theta)
	return theta, minimize(model, p.gauge, theta, sample)
}
