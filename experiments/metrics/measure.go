package metrics

import (
	"context"

	"gonum.org/v1/gonum/mat"
)

// Measurement is the metrics of one set of predictions.
type Measurement struct {
	Protocol      Protocol
	Rows, Classes int
	Values        Values
	Local         *Local // nil without an embedding
}

// Measure computes every metric once, without its uncertainty.
//
// logProbs is N×C, rows whose exponentials sum to 1 ± 1e-3 (−Inf is a probability
// of 0); labels are N classes in 0…C−1; embedding is N×d, the space the kernel
// lives in, or nil for the global metrics alone.
func Measure(ctx context.Context, logProbs *mat.Dense, labels []int, embedding *mat.Dense, s Settings) (*Measurement, error) {
	m, _, err := measure(ctx, logProbs, labels, embedding, s)
	return m, err
}

func measure(ctx context.Context, logProbs *mat.Dense, labels []int, embedding *mat.Dense, s Settings) (*Measurement, *binned, error) {
	sample, err := newSample(logProbs, labels)
	if err != nil {
		return nil, nil, err
	}
	s, err = s.filled(sample.classes)
	if err != nil {
		return nil, nil, err
	}
	b := bin(sample, s)
	m := &Measurement{Protocol: s.Protocol, Rows: b.rows, Classes: b.classes, Values: unmeasured()}
	b.global(&m.Values)
	if embedding != nil {
		if m.Local, err = b.local(ctx, embedding); err != nil {
			return nil, nil, err
		}
		b.summarize(&m.Values, m.Local)
	}
	return m, b, nil
}
