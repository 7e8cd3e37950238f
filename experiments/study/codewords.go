package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"calibra/data"
	"calibra/experiments/report"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
	"gorgonia.org/tensor"
)

// mostClasses is the most that a heat map can name.
const mostClasses = 40

// codewordMaps show the receiver and the sender of each codeword, of the first
// seed's calibrator.
var codewordMaps = figures("Receivers and senders",
	"What the calibrator of the first seed learned: a_k and b_k of each codeword, most used first, less their starting value √(softplus⁻¹(1)/w), at which every region's map is near the identity. A region adds up a_k b_kᵀ over its slots: predicted classes by rows, true classes by columns.",
	func(_ context.Context, f *Findings, s *subject) ([]*report.Drawing, error) {
		c, res := f.firstVQ(s)
		if res == nil {
			return nil, nil
		}
		model, err := layers.ReadModel(f.Store.modelPath(c))
		if err != nil {
			return nil, err
		}
		order := data.UpTo(c.Spec.Codewords())
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(res.Usage[a], res.Usage[b]) }) // rows go upward
		start := math.Sqrt(math.Log(math.E-1) / float64(c.Spec.Slots()))
		a, reachA := codewordPanel(model.State.Weights.Tensor("bilinear/receiver"), order, start)
		b, reachB := codewordPanel(model.State.Weights.Tensor("bilinear/sender"), order, start)
		a.Title, b.Title = "receiver a (predicted class)", "sender b (true class)"
		a.Columns = f.classNames(s, res.Classes)
		b.Columns = a.Columns
		caption := fmt.Sprintf("Receivers and senders of VQ on %%s, seed %d: blue below, red above the start, full colour at ±%.2g and ±%.2g.", c.Spec.Seed, reachA, reachB)
		return []*report.Drawing{s.drawing("codewords", caption, report.Heat([]report.HeatPanel{a, b}, 2))}, nil
	})

// codewordPanel shows factors (K×C) less their start in an order of the codewords, and returns how far from it they reach.
func codewordPanel(factors *tensor.Dense, order []int, start float64) (report.HeatPanel, float64) {
	classes := factors.Shape()[1]
	values := mat.NewDense(len(order), classes, nil)
	var rows []string
	for to, k := range order {
		for j := range classes {
			values.Set(to, j, float64(factors.Float32s()[k*classes+j])-start)
		}
		rows = append(rows, strconv.Itoa(k))
	}
	return report.HeatPanel{
		X: "class", Y: "codeword, most used on top", Values: values, Rows: rows, Diverging: true,
		SparseRowNames: max(1, len(order)/16), Width: 9 * vg.Centimeter, Height: 12 * vg.Centimeter,
	}, math.Max(mat.Max(values), -mat.Min(values))
}

// firstVQ is the subject's first cell of the paper's calibrator that is there.
func (f *Findings) firstVQ(s *subject) (SpecCell, *Result) {
	for _, r := range s.rows {
		if r.spec.Method != tableOrder[0] {
			continue
		}
		for i, c := range f.Cells {
			if c.Key == r.cells[0].Key && f.Results[i] != nil {
				return c, f.Results[i]
			}
		}
	}
	return SpecCell{}, nil
}

// classNames are the subject's classes, or numbers; empty if there are too many.
func (f *Findings) classNames(s *subject, classes int) []string {
	names := make([]string, classes)
	known := s.origin.Classes()
	for c := range names {
		switch {
		case classes > mostClasses:
		case len(known) == classes:
			names[c] = known[c]
		default:
			names[c] = strconv.Itoa(c)
		}
	}
	return names
}
