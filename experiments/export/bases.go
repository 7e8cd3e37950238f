package export

import (
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/layers/anchored"

	"gonum.org/v1/gonum/mat"
)

// view is a [layers.View] of all rows: names of values of the network in place of
// numbers, and a View of probe rows that has the same parts.
type view struct {
	sizes    layers.Sizes
	logProbs string            // N×C in float64
	codes    string            // N×w, "" if the base does not divide
	inputs   map[string]string // by name, in float64
	probe    *layers.View
}

// logits are the network's input of that name, in float64.
func (g *network) logits(classes int) string { return g.cast(g.input("logits", classes), double) }

// view says what a fitted base makes of the inputs.
func (g *network) view(base layers.Base, weights *graph.Weights) (*view, error) {
	s := base.Sizes()
	blank := &data.Set{Logits: mat.NewDense(probe, s.Classes, nil)}
	if s.Features > 0 {
		blank.Features = mat.NewDense(probe, s.Features, nil)
	}
	v := &view{sizes: s, inputs: map[string]string{}}
	switch base.(type) {
	case *layers.Original:
		v.logProbs = g.logSoftmax(g.logits(s.Classes))
	case *layers.Divide:
		v.codes = g.codes(weights, s)
		v.logProbs = g.head(weights, s, v.codes)
	case *anchored.Anchor:
		v.codes = g.codes(weights, s)
		g.anchor(weights, s, v)
	default:
		return nil, fmt.Errorf("export: a map on %T cannot be written as ONNX; its base has no row in bases.go", base)
	}
	v.logProbs = g.larger(v.logProbs, g.scalar(layers.LogFloor))
	var err error
	v.probe, err = base.View(blank)
	return v, err
}

// codes is s(i) = argmin_k ‖z_i − c_k‖² of each slot, in float32, the first of equals.
func (g *network) codes(weights *graph.Weights, s layers.Sizes) string {
	features := g.input("features", s.Features)
	w, d := s.Slots, s.Features/s.Slots
	words := weights.Float64s("codebook/codewords")
	single := make([]float32, len(words))
	for i, v := range words {
		single[i] = float32(v)
	}
	apart := g.subtract(g.reshape(features, -1, int64(w), 1, int64(d)), table(g, single, 1, 1, s.Codewords, d))
	distance := g.sum(g.times(apart, apart), 3, 0) // N×w×K
	return g.node("ArgMin", []string{distance}, integer("axis", 2), integer("keepdims", 0), integer("select_last_index", 0))
}

// head is the log-softmax of the paper's head on the quantized features. A slot says one
// of K things, so the head is a table of w·K rows:
//
//	log-odds_c = bias_c + Σ_i T[i·K + s(i), c] ,  T[i·K + k, c] = Σ_j c_kj W[i·d + j, c]
func (g *network) head(weights *graph.Weights, s layers.Sizes, codes string) string {
	w, k, d, c := s.Slots, s.Codewords, s.Features/s.Slots, s.Classes
	words := mat.NewDense(k, d, weights.Float64s("codebook/codewords"))
	head := mat.NewDense(s.Features, c, weights.Float64s("head/weight"))
	says := make([]float64, w*k*c)
	for i := range w {
		part := mat.NewDense(k, c, says[i*k*c:(i+1)*k*c])
		part.Mul(words, head.Slice(i*d, (i+1)*d, 0, c))
	}
	odds := g.tableSum(table(g, says, w*k, c), codes, w, k)
	return g.logSoftmax(g.add(odds, table(g, weights.Float64s("head/bias"), c)))
}

// anchor is log softmax(logits/T) and what maps on an Anchor read besides.
func (g *network) anchor(weights *graph.Weights, s layers.Sizes, v *view) {
	t, centre := weights.Float64s("anchor/temperature")[0], weights.Float64s("anchor/centre")[0]
	scaled := g.over(g.subtract(g.logits(s.Classes), g.scalar(centre)), g.scalar(t))
	v.logProbs = g.logSoftmax(scaled)
	support := weights.Float64s("anchor/support")
	logs := make([]float64, len(support))
	for i, n := range support {
		logs[i] = math.Log1p(n) / float64(s.Slots)
	}
	v.inputs["support"] = g.tableSum(table(g, logs, len(logs), 1), v.codes, s.Slots, s.Codewords)
	v.inputs["logits"] = scaled
}
