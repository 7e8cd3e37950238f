package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/graph/work"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"
)

// ProCal is proximity-informed calibration by density ratio (Xiong et al. 2023):
// with the densities f₊ and f₋ of (confidence, proximity) among the calibration rows
// whose top class is right and wrong,
//
//	c = f₊ / max(f₊ + f₋·n₋/n₊, 1e-10)
//
// replaces the top probability and the others are scaled to 1 − c. Each density is a
// product of Gaussian kernels with bandwidths 1.06·sd·n^(−1/6), sd dividing by n; a
// bandwidth below 1e-6, where all values are equal, is 1e-6. Without wrong rows c is
// 1 where there is any density, without right rows 0. A row enters each sum by its weight, of soft
// labels times how probable it is right or wrong, and n of a bandwidth is Kish's (Σw)²/Σw².
//
// Proximity is exp(−mean squared distance) to the 50 nearest calibration rows in the
// 50-dimensional embedding with rows of length 1.
type ProCal struct {
	Neighbours int // K; 0: 50

	kept   // the embedding, proximity/… and procal/…
	points *mat.Dense
	near   int // K of the fit
	densityRatio
}

var _ layers.Stateful = (*ProCal)(nil)

// Fit searches neighbours and keeps the calibration rows; there is nothing to stop
// early, and interrupted or failed it keeps nothing.
func (m *ProCal) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	sizes, err := sizesOf(cal, toEmbed)
	if err != nil {
		return wrap("ProCal", err)
	}
	w := graph.NewWeights(tensor.Float64)
	addEmbedding(w, sizes)
	if err = fitEmbedding(w, cal); err == nil {
		err = m.fitRows(ctx, cal, sizes, w)
	}
	return wrap("ProCal", err)
}

// fitRows adds what it keeps of the rows to w, which has their embedding.
func (m *ProCal) fitRows(ctx context.Context, cal *data.Set, sizes layers.Sizes, w *graph.Weights) error {
	z, err := embed(w, cal)
	if err != nil {
		return err
	}
	near := cmp.Or(m.Neighbours, defaultNeighbours)
	if near < 0 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d neighbours make no proximity; choose at least 1", near)}
	}
	points, kinds := unitRows(z), cal.Kinds()
	if kinds == nil {
		kinds = data.UpTo(cal.Len())
	}
	own := proximity(ctx, points, points, near, kinds)
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("interrupted in the search for neighbours: %w", err)
	}
	_, tops, confidence, err := topsOf(cal, sizes)
	if err != nil {
		return err
	}
	right := make([]float64, len(tops)) // how probable it is that the top class is right
	for i, top := range tops {
		right[i] = cal.Share(i, top)
	}
	n, d := points.Dims()
	w.AddState("proximity/points", points.RawMatrix().Data, n, d)
	w.AddState("proximity/neighbours", []float64{float64(near)}, 1)
	w.AddState("procal/confidence", confidence, n)
	w.AddState("procal/proximity", own, n)
	w.AddState("procal/right", right, n)
	if cal.Weights != nil {
		w.AddState("procal/weights", cal.Weights, n)
	}
	m.kept, m.points, m.near, m.densityRatio = kept{sizes, w}, points, near, newDensityRatio(w)
	return nil
}

// topsOf is p̂ of each row of x (N×C), its top class and the probability of that.
func topsOf(x *data.Set, s layers.Sizes) (p *mat.Dense, tops []int, confidence []float64, err error) {
	if p, err = probabilitiesOf(x, s); err != nil {
		return nil, nil, nil, err
	}
	tops, confidence = make([]int, x.Len()), make([]float64, x.Len())
	for i, row := range rowsOf(p) {
		tops[i] = floats.MaxIdx(row)
		confidence[i] = row[tops[i]]
	}
	return p, tops, confidence, nil
}

// Predict replaces the top probability of each row.
func (m *ProCal) Predict(x *data.Set) (*data.Predictions, error) {
	if m.w == nil {
		return nil, layers.ErrUnfitted
	}
	z, err := embed(m.w, x)
	if err != nil {
		return nil, err
	}
	p, tops, confidence, err := topsOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	calibrated := m.of(confidence, proximity(context.Background(), m.points, unitRows(z), m.near, nil))
	for i, row := range rowsOf(p) {
		replaceTop(row, tops[i], calibrated[i])
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

// densityRatio is f₊ and f₋.
type densityRatio struct{ right, wrong density }

// newDensityRatio is that of the rows that the weights of a model keep.
func newDensityRatio(w *graph.Weights) densityRatio {
	var d densityRatio
	var weights []float64
	if w.Has("procal/weights") {
		weights = w.Float64s("procal/weights")
	}
	confidence, proximity := w.Float64s("procal/confidence"), w.Float64s("procal/proximity")
	for i, hit := range w.Float64s("procal/right") {
		of := weightOf(weights, i)
		d.right.add(confidence[i], proximity[i], of*hit)
		d.wrong.add(confidence[i], proximity[i], of*(1-hit))
	}
	d.right.setBandwidths()
	d.wrong.setBandwidths()
	return d
}

// of is c of each row.
func (d densityRatio) of(confidence, proximity []float64) []float64 {
	out, n, wrong := make([]float64, len(confidence)), d.right.total, d.wrong.total
	if n == 0 {
		return out
	}
	work.Ranges(len(out), densityRows, func(lo, hi int) {
		scratch := make([]float32, max(len(d.right.x), len(d.wrong.x)))
		for i := lo; i < hi; i++ {
			plus, minus := d.right.at(confidence[i], proximity[i], scratch), d.wrong.at(confidence[i], proximity[i], scratch)
			out[i] = plus / max(plus+minus*wrong/n, 1e-10)
		}
	})
	return out
}

// densityRows is how many rows one thread takes at a time.
const densityRows = 64

// density is a kernel density estimate in the plane with a product of Gaussians.
type density struct {
	x, y, w []float64 // points, and their weights
	total   float64   // of the weights
	hx, hy  float64
}

func (d *density) add(x, y, w float64) {
	if w > 0 {
		d.x, d.y, d.w, d.total = append(d.x, x), append(d.y, y), append(d.w, w), d.total+w
	}
}

func (d *density) setBandwidths() {
	if len(d.x) == 0 {
		return
	}
	shrink := 1.06 * math.Pow(data.Effective(d.w, len(d.x)), -1./6)
	d.hx = max(shrink*stat.PopStdDev(d.x, d.w), 1e-6)
	d.hy = max(shrink*stat.PopStdDev(d.y, d.w), 1e-6)
}

// at is the density at (x, y), 0 without points, to the 1e-7 of float32 exponentials.
func (d *density) at(x, y float64, scratch []float32) float64 {
	scratch = scratch[:len(d.x)]
	if len(d.x) == 0 {
		return 0
	}
	var sum float64
	for i, u := range d.x {
		s, t := (x-u)/d.hx, (y-d.y[i])/d.hy
		scratch[i] = float32(-(s*s + t*t) / 2)
	}
	op.ExpRow(scratch, scratch)
	for i, v := range scratch {
		sum += d.w[i] * float64(v)
	}
	return sum / (2 * math.Pi * d.hx * d.hy * d.total)
}

// ONNX returns why there is no network.
func (*ProCal) ONNX(*onnx.Network) (onnx.Outputs, error) { return onnx.Outputs{}, errNeighbours }

// Restore sets the embedding and the calibration rows in it.
func (m *ProCal) Restore(s layers.State) error {
	of, err := readKept(s, func(of layers.Sizes) map[string]tensor.Shape {
		n, m, p := of.Rows(), of.Features, components(of)
		shapes := map[string]tensor.Shape{
			"embedding/mean": {m}, "embedding/sd": {m}, "embedding/axes": {m, p}, "embedding/variances": {p},
			"proximity/points": {n, p}, "proximity/neighbours": {1},
			"procal/confidence": {n}, "procal/proximity": {n}, "procal/right": {n},
		}
		if s.Weights.Has("procal/weights") {
			shapes["procal/weights"] = tensor.Shape{n}
		}
		return shapes
	})
	if err != nil {
		return err
	}
	neighbours := of.number("proximity/neighbours")
	if neighbours < 1 || neighbours != math.Trunc(neighbours) || neighbours > math.MaxInt32 {
		return fmt.Errorf("baselines: %v neighbours make no proximity", neighbours)
	}
	m.kept, m.points, m.near, m.densityRatio = of, of.matrix("proximity/points"), int(neighbours), newDensityRatio(of.w)
	return nil
}
