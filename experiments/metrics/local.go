package metrics

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// Local holds the local metrics of each row.
type Local struct {
	// Rows are the measured rows, ascending, among the rows that count; they are the rows of the matrices. nil: all.
	Rows []int
	// Residual is N×C, or of as many rows as Rows: the kernel mean of p_jc − 1[y_j = c] over the rows j in the
	// bin of row i (i included), NaN where the bin was skipped.
	Residual *mat.Dense
	// ESS is N×C: the effective sample size (Σ_j K_ij)² / Σ_j K_ij² over the same
	// rows without i, 0 for a row with no neighbour within reach of the kernel, NaN
	// where the bin was skipped.
	ESS *mat.Dense
	// Floor is N×C: the mean |Residual| under labels redrawn from the predictions; nil
	// without redraws, and where a device counted them.
	Floor *mat.Dense
	// LCE is N: each row's share of the local calibration error; its mean, by weight, is LCE.
	LCE []float64
}

// place is where the matrices have row i, −1 where they do not.
func (l *Local) place(i int) int {
	if l.Rows == nil {
		return i
	}
	if k, measured := slices.BinarySearch(l.Rows, i); measured {
		return k
	}
	return -1
}

// checkEmbedding returns z, N×d, in units of the bandwidth.
func (b *binned) checkEmbedding(z mat.Matrix) (*scaled, error) {
	if rows, dim := z.Dims(); rows != b.Input || dim == 0 {
		return nil, fmt.Errorf("metrics: the embedding is %d×%d: want one row for each of the %d predictions", rows, dim, b.Input)
	}
	return newScaled(b.Counted(z), b.settings.Bandwidth)
}

// local measures the kernel residuals.
func (b *binned) local(ctx context.Context, z *scaled) (*Local, error) {
	out := &Local{}
	if b.anchors != nil {
		out.Rows = slices.Sorted(slices.Values(b.anchors.order[:b.anchors.count]))
	}
	out.Residual, out.ESS = mat.NewDense(b.receivers(), b.Classes, nil), mat.NewDense(b.receivers(), b.Classes, nil)
	writers := func() []observer { return []observer{writer{out}} }
	err := b.inTurn(ctx, b.parts(z, b.firstOrder(), evenBlocks), func(ctx context.Context, n *neighbours) (err error) {
		var done bool
		if b.anchors == nil {
			done, err = n.elsewhere(ctx, b.settings.Executor, out)
		}
		switch {
		case err != nil || done:
			return err
		case n.mutual():
			return n.eachPair(ctx, writer{out})
		}
		return n.each(ctx, writers)
	})
	if err != nil {
		return nil, fmt.Errorf("metrics: measure locally: %w", err)
	}
	out.LCE = b.shares(out)
	return out, nil
}

// inTurn does something with each part of the rows, one after another.
func (b *binned) inTurn(ctx context.Context, parts []*neighbours, do func(ctx context.Context, n *neighbours) error) error {
	done, all := 0, float64(b.receivers())
	for _, n := range parts {
		from := float64(done) / all
		done += n.receivers
		if err := do(work.Span(ctx, "", from, float64(done)/all), n); err != nil {
			return err
		}
	}
	return nil
}

// parts are the sets of rows within which rows are neighbours: all rows with one
// binning per class in the Tables protocol, each bin of the top confidence in the
// Formula protocol. Each part keeps the order of the rows given.
func (b *binned) parts(z *scaled, order []int, blocks func([]int) []int) []*neighbours {
	if b.settings.Protocol == Tables {
		perClass := binning{
			bins: b.settings.Bins, small: b.settings.SmallBin,
			of: func(i, c int) uint16 { return b.binsOf(i)[c] },
		}
		return []*neighbours{newNeighbours(b.Sample, z, order, blocks(order), b.receiversOf(order), perClass)}
	}
	members := make([][]int, b.settings.Bins)
	for _, i := range order {
		k := b.topBin(i)
		members[k] = append(members[k], i)
	}
	var parts []*neighbours
	for _, rows := range members {
		if len(rows) > 0 {
			parts = append(parts, newNeighbours(b.Sample, z, rows, blocks(rows), b.receiversOf(rows), oneBin))
		}
	}
	return parts
}

// writer is the observer that puts down the local residuals (R_ic + e_ic)/(S_ic + 1),
// K_ii being 1, and effective sample sizes S_ic²/Q_ic, or NaN where the bin is skipped.
type writer struct{ *Local }

var _ observer = writer{}

func (writer) begin(*stripe)              {}
func (writer) met(*stripe, int, int, int) {}

func (out writer) end(t *stripe) {
	var places [lanes]int
	for l, i := range t.order[t.first : t.first+t.count] {
		places[l] = out.place(i)
	}
	for c := range t.classes {
		atR, atS, atQ := t.sumsOf(c)
		for l, place := range places[:t.count] {
			j := t.first + l
			residual, ess := &out.Residual.RawRowView(place)[c], &out.ESS.RawRowView(place)[c]
			if t.own[c*t.rows+j] == skipped {
				*residual, *ess = math.NaN(), math.NaN()
				continue
			}
			r, s, q := t.total[atR+l], t.total[atS+l], t.total[atQ+l]
			w := t.sample.W(t.order[j])
			*residual = (r + w*t.residual(j, c)) / (s + w)
			*ess = 0
			if q > 0 {
				*ess = s * s / q
			}
		}
	}
}

// shares are the N terms of which LCE is the mean, NaN when no bin was measured.
// In the Tables protocol a class without a bin large enough leaves the average to
// the others.
func (b *binned) shares(local *Local) []float64 {
	scale, kept, measured := b.keptWeights(local.Residual)
	total := b.Total()
	for c := range scale {
		scale[c] = scale[c] * total / kept[c] / measured
	}
	share := make([]float64, b.N)
	for i := range share {
		place := local.place(i)
		switch {
		case measured == 0:
			share[i] = math.NaN()
		case place >= 0:
			for c, r := range local.Residual.RawRowView(place) {
				if !math.IsNaN(r) {
					share[i] += scale[c] * math.Abs(r)
				}
			}
		}
	}
	return share
}

// keptWeights are w_c, 0 of a class whose bins were all skipped, their sum, and as how many rows those that were not
// skipped count.
func (b *binned) keptWeights(residual *mat.Dense) (weights, kept []float64, sum float64) {
	weights, kept = b.classWeights(b.observed()), make([]float64, b.Classes)
	rows, _ := residual.Dims()
	for i := range rows {
		for c, r := range residual.RawRowView(i) {
			if !math.IsNaN(r) {
				kept[c] += b.W(i)
			}
		}
	}
	for c := range kept {
		if kept[c] == 0 {
			weights[c] = 0
		}
		sum += weights[c]
	}
	return weights, kept, sum
}

// summarize takes LCE and MLCE of residuals (N×C, NaN where skipped), NaN when all are.
//
//	Tables:  LCE = Σ_c w_c · mean_i |r_ic|,  MLCE = Σ_c w_c · max_i |r_ic|
//	Formula: LCE = mean_i Σ_c w_c |r_ic|,    MLCE = max_i Σ_c |r_ic|
func (b *binned) summarize(v *Values, local *Local) {
	v[LCE] = b.Mean(local.LCE)
	v[MLCE] = 0
	rows, _ := local.Residual.Dims()
	switch {
	case b.settings.Protocol == Formula && local.Rows != nil:
		v[MLCE] = math.NaN() // the largest of all is not known
		return
	case b.settings.Protocol == Formula:
		for i := range rows {
			var norm float64
			for _, r := range local.Residual.RawRowView(i) {
				norm += math.Abs(r)
			}
			v[MLCE] = max(v[MLCE], norm)
		}
		return
	}
	weights, _, measured := b.keptWeights(local.Residual)
	most := make([]float64, len(weights))
	for i := range rows {
		for c, r := range local.Residual.RawRowView(i) {
			if r = math.Abs(r); r > most[c] { // no NaN is
				most[c] = r
			}
		}
	}
	for c, w := range weights {
		v[MLCE] += w * most[c]
	}
	v[MLCE] /= measured
}
