package metrics

import "calibra/experiments/internal/checked"

// LeastLogProb bounds the cost of a label that was given probability 0, in nats: ln 1e-12.
const LeastLogProb = checked.LeastLogProb

// Floored are the rows whose label was given a probability of 1e-12 or less, which counts as 1e-12
// ([LeastLogProb]), and the share of the NLL that they bear.
type Floored struct {
	Rows  int     `json:"rows"`
	Share float64 `json:"share"`
}

// muchFloored is the share of the NLL from which on it says more of the floor than of the predictions.
const muchFloored = .1

// Much reports whether floored rows bear more than a tenth of the NLL, which they then decide.
func (f *Floored) Much() bool { return f != nil && f.Share > muchFloored }

// onFloor is how near to the floor a logarithm counts as on it: float32 has ln 1e-12 to 1e-6.
const onFloor = 1e-5

// below reports whether a label of row i was given no more than the floor.
func (b *binned) below(i int) (below bool) {
	b.EachShare(i, func(c int, _ float64) { below = below || b.Log.At(i, c) < LeastLogProb+onFloor })
	return below
}

// floored are those of the rows, by their losses; nil of none.
func (b *binned) floored(losses []float64) *Floored {
	var floored, all float64
	rows := 0
	for i, loss := range losses {
		all += b.W(i) * loss
		if b.below(i) {
			rows++
			floored += b.W(i) * loss
		}
	}
	if rows == 0 {
		return nil
	}
	return &Floored{rows, floored / all}
}
