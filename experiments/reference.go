package experiments

import (
	"context"
	"math/rand/v2"
	"sync"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// reference is what can be reached on test rows by correcting the classifier itself: one
// yardstick for all methods that are measured on them.
type reference struct {
	rows      *data.Set
	embedding *mat.Dense // of the rows, the shared one
	seed      uint64

	mu  sync.Mutex
	nll []float64 // nil until someone asked
}

// Recoverable is the NLL that can be recovered from predictions with these losses of the test
// rows (N, NLL): how far they lie above what corrections of the classifier reach by
// cross-fitting, see [metrics.Recoverable]. It is nil where the test rows have no features,
// logits or labels, or are too few to cross-fit. The first call pays for the corrections.
func (p *Prepared) Recoverable(ctx context.Context, losses []float64) (*metrics.Gain, error) {
	r := p.reference
	if r == nil || r.rows.Len() < diagnosis.FewestRecoverableRows {
		return nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nll == nil {
		recovered, err := diagnosis.Recover(ctx, layers.LogSoftmax(r.rows.Logits), r.rows.Labels, r.embedding, diagnosis.Recovery{Rows: r.rows.Weights, Soft: r.rows.Soft}, rand.New(rand.NewPCG(r.seed, 7)))
		if err != nil {
			return nil, err
		}
		r.nll = recovered.ReachedNLL
	}
	gain := metrics.Recoverable(losses, r.nll)
	return &gain, nil
}
