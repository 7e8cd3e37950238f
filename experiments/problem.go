package experiments

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"calibra/data"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/mat"
)

// Problem is a Source before its split, with what is known of it besides.
type Problem struct {
	Source *data.Source
	Truth  *mat.Dense // N×C, the true posterior of the test rows; nil where it is not known
	// Shifted are rows that the classifier was not made for, to be judged on in
	// place of the test rows, and Shift describes them; nil if there are none.
	Shifted *data.Set
	Shift   Shift
	Beside  *rowcheck.Findings // what is found of a features file's test rows beside its calibration rows; nil of others
}

// Prepared is what all methods share on one problem, seed and split: the rows,
// and the embedding in which every method is measured alike.
type Prepared struct {
	Source *data.Source // after the split
	whole  *data.Set    // the calibration rows before it
	Truth  *mat.Dense
	Embed  *data.Embedding // of the calibration rows after the split, nil without features
	Shared *mat.Dense      // N×P, the test rows in Embed

	shifted    func(Shift) (*shift, error) // found when the first Spec needs it; nil without features
	strata     func() []int                // of the rows of Shared by density, likewise
	afterSplit rand.PCG                    // the generator as the split left it, from which each fit goes on
}

// Prepare splits the problem by the Spec and fits the shared embedding.
// Specs that differ in method, settings, fraction, shift or judging alone may share the
// result, which no run changes. So may one that wants no validation rows: it gets back those
// that were set aside.
func (s Spec) Prepare(p *Problem) (*Prepared, error) {
	pcg := rand.NewPCG(s.Seed, 0)
	out := &Prepared{Truth: p.Truth}
	var err error
	if out.Source, err = p.Source.Split(s.Judged(), rand.New(pcg)); err != nil {
		return nil, err
	}
	out.afterSplit, out.whole = *pcg, p.Source.Cal.ForFit()
	cal, test := out.Source.Cal, out.Source.Test
	if p.Truth != nil && test != nil && p.Truth.RawMatrix().Rows != test.Len() {
		return nil, fmt.Errorf("experiments: a problem of known posterior must bring its own validation rows")
	}
	if cal == nil || cal.Features == nil {
		return out, nil
	}
	if out.Embed, err = data.FitWeightedEmbedding(cal.Features, cal.Weights, 0); err != nil {
		return nil, err
	}
	if test == nil || test.Features == nil {
		return out, nil
	}
	out.Shared = out.Embed.Apply(test.Features)
	calibration := sync.OnceValue(func() *mat.Dense { return out.Embed.Apply(cal.Features) })
	out.strata = sync.OnceValue(func() []int { return densityThirds(out.Shared, calibration()) })
	out.shifted = func(name Shift) (*shift, error) { return out.shift(p, name, calibration) }
	return out, nil
}

// Calibration is the rows of a source that a fit of the Spec is given.
func (s Spec) Calibration(src *data.Source) (*data.Set, error) {
	s.Shift = "" // no matter of theirs
	split, err := src.Split(s.Judged(), rand.New(rand.NewPCG(s.Seed, 0)))
	if err != nil {
		return nil, err
	}
	p, err := (&Prepared{Source: split, whole: src.Cal.ForFit()}).partFor(s)
	if err != nil {
		return nil, err
	}
	return p.Source.Cal, nil
}

// partFor is the part of p that the Spec is fitted on and judged on.
func (p *Prepared) partFor(s Spec) (*Prepared, error) {
	if s.Shift != "" && p.shifted == nil {
		return nil, fmt.Errorf("experiments: a shift needs features and test rows")
	}
	out, source := *p, *p.Source
	out.Source = &source
	if s.Split == data.NoValidation && source.Val != nil { // rows set aside for other methods
		source.Cal, source.Val, out.afterSplit = p.whole, nil, *rand.NewPCG(s.Seed, 0)
	}
	if f := s.Fraction; f > 0 && f < 1 {
		parts := source.Cal.Stratify([]float64{f, 1 - f}, rand.New(rand.NewPCG(s.Seed, 2)))
		if len(parts[0]) == 0 {
			return nil, data.Inputf(source.Path, "has %d calibration rows, of which %g %% are not a single one", source.Cal.Len(), 100*f)
		}
		source.Cal = source.Cal.Rows(parts[0])
	}
	if s.Shift != "" {
		shift, err := p.shifted(s.Shift)
		if err != nil {
			return nil, err
		}
		source.Test, out.Truth, out.Shared, out.strata = shift.rows, shift.truth, shift.shared, shift.strata
	}
	return &out, nil
}
