package layers

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Scores are the derivatives of what a fitted [Map] says of one row after another, by its own graph in float64. With θ
// the learned weights in their order, each row by row, they are, of the row of the last [Scores.Set],
//
//	LogQ_j = log q_j ,  ByWeight_j = s_j = ∂log q_j/∂θ ,  ByInput_ji = ∂log q_j/∂log p̂_i .
//
// A class that cannot be has log q_j = −∞ and derivatives of 0. What a map reads beside log p̂ (codes, inputs of its
// own) counts as given. One Scores serves one goroutine.
type Scores struct {
	LogQ     []float64  // C
	ByWeight *mat.Dense // C×P
	ByInput  *mat.Dense // C×C

	rows  *Rows
	input *tensor.Dense   // 1×C: log p̂ of the row
	reads bool            // whether log q depends on log p̂
	class *tensor.Dense   // 1×C: 1 of the class that is differentiated
	of    *graph.Function // log q (1×C), then the gradients of that class by each weight and by log p̂
}

// NewScores differentiates m with weights w at the rows of a view of these sizes.
func NewScores(m Map, w *graph.Weights, v *View, s Sizes) (*Scores, error) {
	if m == nil || w == nil || v == nil || v.LogProbs == nil {
		return nil, errors.New("layers: scores are of a map, its weights and rows; give all three")
	}
	w = w.As(tensor.Float64)
	rows, err := v.RowsFor(m, w, s)
	if err != nil {
		return nil, about("map", m, err)
	}
	if w.Size() == 0 {
		return nil, fmt.Errorf("layers: the map %s has no learned weight, so there is nothing that other rows would move", NameOf(m))
	}
	_, C := v.LogProbs.Dims()
	x := &Scores{
		LogQ: make([]float64, C), ByWeight: mat.NewDense(C, w.Size(), nil), ByInput: mat.NewDense(C, C, nil),
		rows: rows, input: graph.Tensor(tensor.Float64, make([]float64, C), 1, C), class: graph.Tensor(tensor.Float64, make([]float64, C), 1, C),
	}
	x.of = graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		in := rows.Batch(b)
		in.LogProbs = b.Table("scores/log_probs", x.input)
		logq := LogProbsOf(m)(b, in)
		one := b.Apply(op.Sum(2), b.Times(logq, b.Table("scores/class", x.class)))
		if x.reads = b.Err() == nil && b.Reads(logq, in.LogProbs); x.reads {
			return append(gorgonia.Nodes{logq}, b.Gradient(one, in.LogProbs)...)
		}
		return append(gorgonia.Nodes{logq}, b.Gradient(one)...)
	})
	_, err = x.of.Program(1)
	return x, about("map", m, err)
}

// Set takes a row of the view.
func (x *Scores) Set(row int) error {
	selected := x.class.Float64s()
	copy(x.input.Float64s(), x.rows.logProbs.Float64s()[row*len(selected):])
	for j := range selected {
		clear(selected)
		selected[j] = 1
		out, err := x.of.Of([]int32{int32(row)})
		if err != nil {
			return fmt.Errorf("layers: the scores of row %d: %w", row, err)
		}
		values := func(i int) []float64 { return out[i].(*tensor.Dense).Float64s() }
		if j == 0 {
			copy(x.LogQ, values(0))
			Remask(x.LogQ)
		}
		byWeight, byInput := x.ByWeight.RawRowView(j), x.ByInput.RawRowView(j)
		if data.Masked(x.LogQ[j]) {
			clear(byWeight)
			clear(byInput)
			continue
		}
		last := len(out)
		if x.reads {
			last--
			copy(byInput, values(last))
		}
		for i := 1; i < last; i++ {
			byWeight = byWeight[copy(byWeight, values(i)):]
		}
	}
	return nil
}

// logit returns logit q_j = log q_j − log Σ_{l≠j} q_l and fills gradient with
//
//	∂logit q_j/∂θ = s_j − Σ_{l≠j} q_l/(1 − q_j) s_l ,
//
// sums without the cancellation of 1 − q_j where q_j is near 1. So it does byInput (C; nil: not) by log p̂.
func (x *Scores) logit(gradient, byInput []float64, j int) float64 {
	rest := slices.Clone(x.LogQ)
	rest[j] = math.Inf(-1)
	others := floats.LogSumExp(rest)
	clear(gradient)
	clear(byInput)
	for l, logq := range x.LogQ {
		part := -math.Exp(logq - others)
		if l == j {
			part = 1
		}
		floats.AddScaled(gradient, part, x.ByWeight.RawRowView(l))
		if byInput != nil {
			floats.AddScaled(byInput, part, x.ByInput.RawRowView(l))
		}
	}
	return x.LogQ[j] - others
}
