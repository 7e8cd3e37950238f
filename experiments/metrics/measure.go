package metrics

import (
	"context"
	"fmt"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// Measurement is the metrics of one set of predictions.
type Measurement struct {
	Protocol      Protocol
	Rows, Classes int   // rows that count
	Counted       []int // their numbers, where some have weight 0; nil: all
	Weightless    int   // rows of weight 0, which are left out
	// Effective is as how many rows of one weight the rows count, (Σ w)²/Σ w²; 0 where all count alike.
	Effective float64
	Values    Values
	Own       []OwnValue // of [Settings.Own]
	// NLL and Wrong are of each row that counts −log p of its label, and 1 where its top class is another, else 0, by
	// weight: their means are NLL and 1 − accuracy, and differ between predictions of the same rows as these do.
	NLL, Wrong []float64
	// Calibration are losses whose mean is the squared calibration error of the top class, likewise.
	Calibration []float64
	Events      *Events
	Floored     *Floored      // nil where no row is
	Local       *Local        // nil without an embedding
	Anchors     *AnchorSample // where LCE was measured at a sample of the rows; nil where at all
}

// Measure computes every metric once, without its uncertainty.
//
// logProbs is N×C, rows whose exponentials sum to 1 ± 1e-3 (−Inf is a probability
// of 0); labels are N classes in 0…C−1, or nil with soft ones; embedding is N×d, the space the kernel
// lives in, or nil for the global metrics alone.
func Measure(ctx context.Context, logProbs *mat.Dense, labels []int, embedding mat.Matrix, s Settings) (*Measurement, error) {
	b, z, err := prepare(logProbs, labels, embedding, s)
	if err != nil {
		return nil, err
	}
	return b.measure(ctx, z)
}

// prepare checks the input; z is nil without an embedding.
func prepare(logProbs *mat.Dense, labels []int, embedding mat.Matrix, s Settings) (b *binned, z *scaled, err error) {
	sample, err := checked.NewSample(logProbs, labels, s.Rows, s.Soft)
	if err != nil {
		return nil, nil, err
	}
	if s, err = s.filled(); err != nil {
		return nil, nil, err
	}
	if err := CheckOwn(s.Own); err != nil {
		return nil, nil, fmt.Errorf("metrics: %w", err)
	}
	if err := s.checkStrata(sample.Input); err != nil {
		return nil, nil, err
	}
	if s.Strata != nil && sample.Of != nil {
		s.Strata = checked.Pick(s.Strata, sample.Of)
	}
	if s.Groups != nil && len(s.Groups) != sample.Input {
		return nil, nil, fmt.Errorf("metrics: there are groups of %d rows and %d predictions: give one a row", len(s.Groups), sample.Input)
	}
	b = bin(sample, s)
	b.groups = numbered(sample, s.Groups)
	if checked.Given(embedding) {
		z, err = b.checkEmbedding(embedding)
	}
	return b, z, err
}

// numbered are the groups of the rows that count as 0…G−1, in the order in which they come.
func numbered(s *checked.Sample, groups []int) []int {
	if groups == nil {
		return nil
	}
	return checked.Numbered(s.N, func(i int) int { return groups[s.InputRow(i)] })
}

func (b *binned) measure(ctx context.Context, z *scaled) (*Measurement, error) {
	own, err := b.ownValues()
	if err != nil {
		return nil, err
	}
	m := &Measurement{
		Protocol: b.settings.Protocol, Rows: b.N, Classes: b.Classes, Counted: b.Of, Weightless: b.Input - b.N,
		Values: b.global(b.observed()),
		Own:    own,
		NLL:    make([]float64, b.N), Wrong: make([]float64, b.N),
		Events: EventsOf(b.Sample),
	}
	for i := range m.NLL {
		m.NLL[i], m.Wrong[i] = b.Loss(i, b.Truth), 1-b.Hit(i, b.Classes)
	}
	if b.Weight != nil {
		m.Effective = b.Sample.Effective()
	}
	m.Floored = b.floored(m.NLL)
	b.Plain(m.NLL)
	b.Plain(m.Wrong)
	m.Calibration = b.Plain(b.calibrationLosses())
	if z != nil {
		if err := b.adapt(ctx, z); err != nil {
			return nil, err
		}
		var err error
		if m.Local, err = b.local(ctx, z); err != nil {
			return nil, err
		}
		b.summarize(&m.Values, m.Local)
		if b.anchors != nil {
			m.Anchors = &AnchorSample{Rows: b.anchors.count, SE: b.anchorError(m.Local.LCE)}
		}
	}
	return m, nil
}
