package metrics

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Measurement is the metrics of one set of predictions.
type Measurement struct {
	Protocol      Protocol
	Rows, Classes int   // rows that count
	Counted       []int // their numbers, where some have weight 0; nil: all
	Weightless    int   // rows of weight 0, which are left out
	Values        Values
	Own           []OwnValue // of [Settings.Own]
	// NLL and Wrong are of each row that counts −log p of its label, and 1 where its top class is another, else 0, by
	// weight: their means are NLL and 1 − accuracy, and differ between predictions of the same rows as these do.
	NLL, Wrong []float64
	Floored    *Floored      // nil where no row is
	Local      *Local        // nil without an embedding
	Anchors    *AnchorSample // where LCE was measured at a sample of the rows; nil where at all
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
	return b.measure(ctx, z, &progress{total: b.receivers(), report: s.Progress})
}

// prepare checks the input; z is nil without an embedding.
func prepare(logProbs *mat.Dense, labels []int, embedding mat.Matrix, s Settings) (b *binned, z *scaled, err error) {
	sample, err := newSample(logProbs, labels, s.Rows, s.Soft)
	if err != nil {
		return nil, nil, err
	}
	if s, err = s.filled(sample.classes); err != nil {
		return nil, nil, err
	}
	if err := CheckOwn(s.Own); err != nil {
		return nil, nil, fmt.Errorf("metrics: %w", err)
	}
	if err := s.checkStrata(sample.input); err != nil {
		return nil, nil, err
	}
	if s.Strata != nil && sample.of != nil {
		s.Strata = pick(s.Strata, sample.of)
	}
	b = bin(sample, s)
	if given(embedding) {
		z, err = b.checkEmbedding(embedding)
	}
	return b, z, err
}

func (b *binned) measure(ctx context.Context, z *scaled, p *progress) (*Measurement, error) {
	own, err := b.ownValues()
	if err != nil {
		return nil, err
	}
	m := &Measurement{
		Protocol: b.settings.Protocol, Rows: b.rows, Classes: b.classes, Counted: b.of, Weightless: b.input - b.rows,
		Values: b.global(b.observed()),
		Own:    own,
		NLL:    make([]float64, b.rows), Wrong: make([]float64, b.rows),
	}
	for i := range m.NLL {
		m.NLL[i], m.Wrong[i] = b.loss(i, b.truth), 1-b.hit(i, b.classes)
	}
	m.Floored = b.floored(m.NLL)
	b.plain(m.NLL)
	b.plain(m.Wrong)
	if z != nil {
		var err error
		if m.Local, err = b.local(ctx, z, p); err != nil {
			return nil, err
		}
		b.summarize(&m.Values, m.Local)
		if b.anchors != nil {
			m.Anchors = &AnchorSample{Rows: b.anchors.count, SE: b.anchorError(m.Local.LCE)}
		}
	}
	return m, nil
}
