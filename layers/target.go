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
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// target is what rows are fitted to. Of rows that count alike and have one class each it is their
// labels y (N), of others T (N×C) with
//
//	T_ic = w_i q_ic ,  loss = −(1/Σ_i w_i) Σ_i Σ_c T_ic log p_ic
//
// where w are the weights and q the shares of the classes. A target matrix costs as much memory as
// log p̂ does, and a row stays one row: in the batches, in the folds, among validation rows.
type target struct {
	table   *tensor.Dense
	weights []float64 // w (N), nil: 1 each
}

// targetOf is that of x, in type dt. A graph does not look whether a label is one of the classes.
func targetOf(x *data.Set, classes int, dt tensor.Dtype) (target, error) {
	if err := checkLabels(x, classes); err != nil {
		return target{}, err
	}
	if x.Certain() {
		return target{table: graph.Labels(x.Labels)}, nil
	}
	return target{graph.Matrix(dt, x.Targets(classes)), slices.Clone(x.Weights)}, nil
}

// checkLabels returns an error unless each row of x has a label that is one of the classes.
func checkLabels(x *data.Set, classes int) error {
	if x.Labels == nil {
		return errors.New("layers: the rows have no labels to fit to")
	}
	if row := data.InvalidLabel(x.Labels, classes); row >= 0 {
		return fmt.Errorf("layers: row %d has the label %d, which is none of the %d classes of the calibration rows", row, x.Labels[row], classes)
	}
	if row, class := x.MaskedLabel(); row >= 0 {
		return fmt.Errorf("layers: row %d has the label %d, which its logits mask: correct the label or the mask, or divide all logits by one number if none is a mask", row, class)
	}
	return nil
}

// total is as how many rows those at index count, of n rows in all where it is nil.
func (t target) total(index *tensor.Dense, n int) float64 {
	switch {
	case t.weights == nil:
		return float64(n)
	case index == nil:
		return floats.Sum(t.weights)
	}
	var sum float64
	for _, i := range index.Int32s() {
		sum += t.weights[i]
	}
	return sum
}

// describe is the rows of the table that a step took, of n rows that count as total: of their
// labels as they are, of T times n/total, so that a mean over rows is one by weight.
func (t target) describe(b *graph.Builder, taken *gorgonia.Node, n int, total float64) *gorgonia.Node {
	if t.weights == nil || b.Err() != nil {
		return taken
	}
	return b.Apply(op.Scale(2, float64(n)/total), taken)
}

// WeightsOf are w_i N/Σ_j w_j of x's rows (N×1, float32), as [Assignment.Weighed] takes them; nil
// where all count alike.
func WeightsOf(x *data.Set, dt tensor.Dtype) *tensor.Dense {
	if x == nil || x.Weights == nil {
		return nil
	}
	w := slices.Clone(x.Weights)
	floats.Scale(float64(len(w))/floats.Sum(w), w)
	return graph.Tensor(dt, w, len(w), 1)
}

// effective is as how many rows of equal weight those at index count, of n rows in all where it is nil.
func (t target) effective(index *tensor.Dense, n int) int {
	weights := t.weights
	if weights != nil && index != nil {
		weights = data.Each(index.Int32s(), func(i int32) float64 { return t.weights[i] })
	}
	return max(1, int(math.Round(data.Effective(weights, n))))
}

// meanNLL describes the loss of a division, of all rows that a step may take.
func meanNLL(b *graph.Builder, logProbs *gorgonia.Node, t target) *gorgonia.Node {
	n := t.table.Shape()[0]
	return b.NLL(logProbs, t.describe(b, b.Take("labels", t.table), n, t.total(nil, n)))
}
