package study

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"calibra/experiments/report"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"
)

// mostClasses is the most that a heat map can name.
const mostClasses = 40

// codewordMaps show the receiver and the sender of each codeword, of the first
// seed's calibrator.
func codewordMaps(_ context.Context, f *Findings) (*report.Section, error) {
	section := &report.Section{
		Title: "Receivers and senders",
		Note:  "What the calibrator of the first seed learned: a_k and b_k of each codeword, most used first, less their starting value √(softplus⁻¹(1)/w), at which every region's map is near the identity. A region adds up a_k b_kᵀ over its slots: predicted classes by rows, true classes by columns.",
	}
	for _, s := range f.subjects() {
		c, res := f.firstVQ(s)
		if res == nil {
			continue
		}
		model, err := layers.ReadModel(f.Store.modelPath(c))
		if err != nil {
			return nil, err
		}
		start := math.Sqrt(math.Log(math.E-1) / float64(c.Spec.Slots()))
		order := make([]int, c.Spec.Codewords())
		for k := range order {
			order[k] = k
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(res.Usage[a], res.Usage[b]) }) // rows go upward
		names := f.classNames(s, res.Classes)
		var panels []report.HeatPanel
		var reach []string
		for _, part := range []struct{ title, weight string }{
			{"receiver a (predicted class)", "bilinear/receiver"}, {"sender b (true class)", "bilinear/sender"},
		} {
			weight := model.State.Weights.Tensor(part.weight).Float32s()
			values := mat.NewDense(c.Spec.Codewords(), res.Classes, nil)
			var rows []string
			for to, k := range order {
				for j := range res.Classes {
					values.Set(to, j, float64(weight[k*res.Classes+j])-start)
				}
				rows = append(rows, strconv.Itoa(k))
			}
			reach = append(reach, fmt.Sprintf("%.2g", math.Max(mat.Max(values), -mat.Min(values))))
			panels = append(panels, report.HeatPanel{
				Title: part.title, X: "class", Y: "codeword, most used on top", Values: values, Rows: rows, Columns: names, Diverging: true,
				SparseRowNames: max(1, c.Spec.Codewords()/16), Width: 9 * vg.Centimeter, Height: 12 * vg.Centimeter,
			})
		}
		section.Figures = append(section.Figures, &report.Drawing{
			Name: "codewords-" + s.slug(), Caption: fmt.Sprintf("Receivers and senders of VQ on %s, seed %d: blue below, red above the start, full colour at ±%s and ±%s.", s.Title(), c.Spec.Seed, reach[0], reach[1]), Figure: report.Heat(panels, 2),
		})
	}
	return section, nil
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
