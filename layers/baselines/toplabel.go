package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph/onnx"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
)

// TopLabel is top-label histogram binning (Gupta and Ramdas 2022): among the calibration
// rows whose most probable class is k, bins of equal size of that probability, each of
// which has the frequency of class k there. This replaces the top probability
// and the others are scaled to what is left. A class that is never the most probable keeps
// its probabilities.
type TopLabel struct {
	Rows int // of a bin; 0: 50

	classwise // steps as of Histogram; of a class never seen on top, unseen
}

var _ layers.Stateful = (*TopLabel)(nil)

// Fit counts, top class by top class; there is nothing to stop early, and
// interrupted it keeps nothing.
func (m *TopLabel) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	size := cmp.Or(m.Rows, 50)
	if size < 1 {
		return &layers.SettingError{Reason: fmt.Sprintf("bins of %d rows hold nothing; choose at least 1", size)}
	}
	sizes, l, err := logProbsToFit(cal)
	if err != nil {
		return err
	}
	confidence, right, weights := make([][]float64, sizes.Classes), make([][]float64, sizes.Classes), make([][]float64, sizes.Classes)
	for i, row := range rowsOf(exponentials(l)) {
		top := floats.MaxIdx(row)
		confidence[top], right[top] = append(confidence[top], row[top]), append(right[top], cal.Share(i, top))
		if cal.Weights != nil {
			weights[top] = append(weights[top], cal.Weights[i])
		}
	}
	classes := make([]steps, sizes.Classes)
	err = eachClass(ctx, sizes, func(k int) error {
		classes[k] = steps{[]float64{1}, []float64{unseen}}
		if n := len(confidence[k]); n > 0 {
			classes[k] = histogram(tiesOf(cal).values(confidence[k]), right[k], weights[k], max(1, int(totalOf(weights[k], n)+rounding)/size))
		}
		return nil
	})
	if err == nil {
		m.classwise = learned(sizes, "top_label", classes)
	}
	return err
}

// unseen stands for the frequency of a class that no calibration row has on top.
const unseen = -1

// Predict replaces the top probability of each row.
func (m *TopLabel) Predict(x *data.Set) (*data.Predictions, error) {
	p, err := probabilitiesOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	for _, row := range rowsOf(p) {
		top := floats.MaxIdx(row)
		if c := m.classes[top].bin(row[top]); c != unseen {
			replaceTop(row, top, c)
		}
	}
	return predictions(p, x)
}

// replaceTop puts c in place of the top probability and scales the others to 1 − c; where
// they are all 0 they share it.
func replaceTop(row []float64, top int, c float64) {
	row[top] = 0
	others := floats.Sum(row)
	for k := range row {
		switch {
		case k == top:
			row[k] = c
		case others > 0:
			row[k] *= (1 - c) / others
		default:
			row[k] = (1 - c) / float64(len(row)-1)
		}
	}
}

// ONNX replaces the top probability by the frequency of its bin.
func (m *TopLabel) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.classes == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	c := m.sizes.Classes
	p := g.Exp(g.Logits(m.sizes.Classes))
	bins := newStepsONNX(g, m.classes).bin(p)
	top := g.Node("ArgMax", []onnx.Value{p}, onnx.Int("axis", 1), onnx.Int("keepdims", 1), onnx.Int("select_last_index", 0))
	all := make([]int64, c)
	for k := range all {
		all[k] = int64(k)
	}
	is := g.Node("Equal", []onnx.Value{onnx.Table(g, all, 1, c), top}) // N×C
	zero, one := g.Scalar(0), g.Scalar(1)
	frequency := g.Sum(g.Where(is, bins, zero), 1, 1)
	others := g.Where(is, zero, p)
	rest := g.Sum(others, 1, 1)
	some := g.Node("Greater", []onnx.Value{rest, zero})
	shared := g.Where(some, g.Div(others, g.Where(some, rest, one)), g.Scalar(1/float64(c-1)))
	replaced := g.Where(is, frequency, g.Mul(shared, g.Sub(one, frequency)))
	seen := g.Node("GreaterOrEqual", []onnx.Value{frequency, zero}) // a class never seen on top has −1
	return onnx.Outputs{Probabilities: sharesONNX(g, g.Where(seen, replaced, p), c), Classes: c}, nil
}

// Restore sets the ends and frequencies of all bins.
func (m *TopLabel) Restore(s layers.State) error { return m.restore(s, "top_label") }
