package theory

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// fitted is how the codes of a table were fitted.
type fitted struct {
	centres []Cell // of each cell, the centres that its slots lie around
	sizes   layers.Sizes
}

// Codes are fitted to codingRows rows, whose slots lie around a centre N(0, I) each, with a
// standard deviation of codingSpread in each of codingWidth directions: some clouds overlap.
const (
	codingRows   = 4000
	codingWidth  = 4
	codingSpread = 0.5
	codingEpochs = 2 // of the head that is trained beside them
)

// share is that of the i-th code.
func (c Cell) share(i int) float64 {
	if c.Shares == nil {
		return 1
	}
	return c.Shares[i]
}

// shared tells whether slots have shares of several codewords.
func (t *Table) shared() bool { return t.fitted != nil && t.fitted.sizes.Nearest > 1 }

// tableOf is the table of any design.
func tableOf(ctx context.Context, d Design, shifts []int, rng *rand.Rand) (*Table, error) {
	if d.Codes == nil {
		return support(d, shifts, rng), nil
	}
	return fitCodes(ctx, d, shifts, rng)
}

// fitCodes is the table of a design with codes of its own. A cell is what the codes say of a row,
// and has the probability of the row's centres; codewords that no row has are left out.
func fitCodes(ctx context.Context, d Design, shifts []int, rng *rand.Rand) (*Table, error) {
	centres := mat.NewDense(d.Codewords, codingWidth, nil)
	centres.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, centres)
	cal, _ := rowsAround(d, centres, shifts, codingRows, rng)
	rows, of := rowsAround(d, centres, shifts, cmp.Or(d.Cells, drawnCells), rng)
	stage := &layers.Divide{Slots: d.Slots, Codebook: d.Codes, Optim: optim.Settings{Epochs: codingEpochs}}
	if err := stage.Fit(ctx, cal, nil, rng); err != nil {
		return nil, fmt.Errorf("theory: fit the codes: %w", err)
	}
	view, err := stage.View(rows)
	if err != nil {
		return nil, fmt.Errorf("theory: code the rows: %w", err)
	}
	known := map[int]int{} // from codewords that occur to those of the table
	p := len(view.Codes) / len(of)
	cells := make([]Cell, len(of))
	for v := range cells {
		codes, shares := make([]int, p), make([]float64, p)
		for i, k := range view.Codes[v*p : (v+1)*p] {
			if _, seen := known[int(k)]; !seen {
				known[int(k)] = len(known)
			}
			if codes[i], shares[i] = known[int(k)], 1; view.Shares != nil {
				shares[i] = float64(view.Shares[v*p+i])
			}
		}
		cells[v] = newCell(codes, shares)
	}
	t := newTable(d, cells, rng)
	t.Codewords, t.fitted = len(known), &fitted{of, stage.Sizes()}
	t.weigh(d, shifts, slices.Repeat([]float64{1}, len(cells)))
	return t, nil
}

// rowsAround draws rows whose slots lie around centres of the design's shifted frequencies, and
// says which. Labels are drawn at random: the codes do not look at them.
func rowsAround(d Design, centres *mat.Dense, shifts []int, n int, rng *rand.Rand) (*data.Set, []Cell) {
	draw := d.sampler(shifts, rng)
	x := &data.Set{Features: mat.NewDense(n, d.Slots*codingWidth, nil), Labels: make([]int, n), LabelClasses: d.Classes}
	of := make([]Cell, n)
	for row := range n {
		x.Labels[row] = rng.IntN(d.Classes)
		codes := make([]int, d.Slots)
		for i := range codes {
			codes[i] = draw(row)
			for j, c := range centres.RawRowView(codes[i]) {
				x.Features.(*mat.Dense).Set(row, i*codingWidth+j, c+codingSpread*rng.NormFloat64())
			}
		}
		slices.Sort(codes)
		of[row] = newCell(codes, nil)
	}
	return x, of
}
