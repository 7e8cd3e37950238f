package encoders

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"

	"gorgonia.org/gorgonia"
)

// ResMLP is a residual multilayer perceptron on standardized columns (Gorishniy et
// al. 2021, section 3.2, there ResNet):
//
//	h₀ = W x + b
//	h_l = h_{l−1} + Dropout(Linear(Dropout(ReLU(Linear(BatchNorm(h_{l−1}))))))
//	features = ReLU(BatchNorm(h_L)),   logits = W features + b
//
// Its weights are named as in the Python package rtdl_revisiting_models.
type ResMLP struct {
	Block           int     `json:"block"`            // M, the width of h; 0: 128
	Hidden          int     `json:"hidden"`           // the width within a block; 0: twice Block
	Blocks          int     `json:"blocks"`           // L; 0: 2
	HiddenDropout   float64 `json:"hidden_dropout"`   // the inner rate; 0: 0.2, below 0 none
	ResidualDropout float64 `json:"residual_dropout"` // the outer rate; 0: 0.1, below 0 none
}

var _ Network = (*ResMLP)(nil)

func (*ResMLP) Name() string { return "resmlp" }

func (r *ResMLP) sizes() (block, hidden, blocks int) {
	block = cmp.Or(r.Block, 128)
	return block, cmp.Or(r.Hidden, 2*block), cmp.Or(r.Blocks, 2)
}

func (r *ResMLP) rates() (hidden, residual float64) {
	return orRate(r.HiddenDropout, 0.2), orRate(r.ResidualDropout, 0.1)
}

// Width is the width of a block.
func (r *ResMLP) Width() int { return cmp.Or(r.Block, 128) }

// Init begins as PyTorch does.
func (r *ResMLP) Init(shape []int, classes int, rng *rand.Rand) (*graph.Weights, error) {
	block, hidden, blocks := r.sizes()
	if block < 1 || hidden < 1 || blocks < 1 {
		return nil, data.Inputf("", "a residual MLP of %d blocks of widths %d and %d is none", blocks, block, hidden)
	}
	if err := checkRates(r.rates()); err != nil {
		return nil, err
	}
	if err := checkSizes(blocks, block, hidden); err != nil {
		return nil, err
	}
	w := newInitial(rng)
	w.linear("input_projection", Values(shape), block)
	for l := range blocks {
		name := fmt.Sprintf("blocks.%d.", l)
		w.batchNorm(name+"normalization", block)
		w.linear(name+"linear1", block, hidden)
		w.linear(name+"linear2", hidden, block)
	}
	w.batchNorm("output.normalization", block)
	w.linear("output.linear", block, classes)
	return w.done()
}

func (r *ResMLP) Forward(p *Pass, x *gorgonia.Node) (features, logits *gorgonia.Node) {
	_, _, blocks := r.sizes()
	hidden, residual := r.rates()
	h := p.Linear("input_projection", x)
	for l := range blocks {
		name := fmt.Sprintf("blocks.%d.", l)
		y := p.ReLU(p.Linear(name+"linear1", p.BatchNorm(name+"normalization", h)))
		y = p.Linear(name+"linear2", p.Dropout(hidden, y))
		h = p.Plus(h, p.Dropout(residual, y))
	}
	features = p.ReLU(p.BatchNorm("output.normalization", h))
	return features, p.Linear("output.linear", features)
}

// orRate is the rate v, zero if v is not set, 0 if it is negative.
func orRate(v, zero float64) float64 {
	switch {
	case v == 0:
		return zero
	case v < 0:
		return 0
	}
	return v
}

// checkRates refuses dropout rates outside [0, 1).
func checkRates(rates ...float64) error {
	for _, r := range rates {
		if !(r >= 0 && r < 1) {
			return data.Inputf("", "a dropout rate of %v is not in [0, 1)", r)
		}
	}
	return nil
}
