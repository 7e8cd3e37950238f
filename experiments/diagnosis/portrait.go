package diagnosis

import (
	"math/rand/v2"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// Portrait shows predictions: how reliable they are, and which classes they take for which others.
type Portrait struct {
	Reliability *Reliability `json:"reliability,omitempty"`
	Confusion   *Confusion   `json:"confusion,omitempty"`
	ByClass     []Gap        `json:"by_predicted_class,omitempty"`
	ByGroup     []Gap        `json:"by_group,omitempty"`
}

// wholeConfusion is up to how many classes the confusion of a portrait has all; of more it has the heaviestConfusion
// most confused.
const wholeConfusion, heaviestConfusion = 100, 40

// NewPortrait is the portrait of predictions (N×C, in log-probabilities). It uses Rows, Soft and Groups of by. The band
// of its curve and the bars of its bins are drawn from rng; nil: it has none.
func NewPortrait(logProbs *mat.Dense, labels []int, by metrics.Settings, rng *rand.Rand) (p Portrait, err error) {
	s, err := checked.NewSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return p, err
	}
	most := wholeConfusion
	if s.Classes > wholeConfusion {
		most = heaviestConfusion
	}
	p.Reliability, p.Confusion = reliability(s, rng), confusion(s, most)
	p.ByClass = gaps(s, func(i int) int { return int(s.Top[i]) })
	if by.Groups != nil {
		p.ByGroup = gaps(s, func(i int) int { return by.Groups[s.InputRow(i)] })
	}
	return p, nil
}
