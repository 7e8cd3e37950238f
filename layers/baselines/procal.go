package baselines

import (
	"context"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph/simd"
	"calibra/layers"

	"gonum.org/v1/gonum/stat"
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

	proximal
	densityRatio
}

var _ layers.Stateful = (*ProCal)(nil)

// Fit searches neighbours and keeps the calibration rows; there is nothing to stop
// early, and interrupted it keeps nothing.
func (m *ProCal) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	rows, err := m.fit(ctx, cal, m.Neighbours)
	if err != nil {
		return wrap("ProCal", err)
	}
	n := cal.Len()
	m.w.AddState("procal/confidence", rows.confidence, n)
	m.w.AddState("procal/proximity", rows.proximity, n)
	m.w.AddState("procal/right", rows.right, n)
	if rows.weights != nil {
		m.w.AddState("procal/weights", rows.weights, n)
	}
	m.densityRatio = newDensityRatio(rows)
	return nil
}

// Predict replaces the top probability of each row.
func (m *ProCal) Predict(x *data.Set) (*data.Predictions, error) { return m.predict(x, m.of) }

// densityRatio is f₊ and f₋.
type densityRatio struct{ right, wrong density }

func newDensityRatio(s seen) densityRatio {
	var d densityRatio
	for i, hit := range s.right {
		w := weightOf(s.weights, i)
		d.right.add(s.confidence[i], s.proximity[i], w*hit)
		d.wrong.add(s.confidence[i], s.proximity[i], w*(1-hit))
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
	inBlocks(len(out), densityRows, func(lo, hi int) {
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
	simd.Exp(scratch, scratch)
	for i, v := range scratch {
		sum += d.w[i] * float64(v)
	}
	return sum / (2 * math.Pi * d.hx * d.hy * d.total)
}

// Restore sets the embedding and the calibration rows in it.
func (m *ProCal) Restore(s layers.State) error {
	names := []string{"procal/confidence", "procal/proximity", "procal/right"}
	if weighed := "procal/weights"; s.Weights.Has(weighed) {
		names = append(names, weighed)
	}
	of, err := readProximal(s, names...)
	if err != nil {
		return err
	}
	var each [4][]float64
	for i, name := range names {
		each[i] = of.w.Float64s(name)
	}
	m.proximal, m.densityRatio = of, newDensityRatio(seen{each[0], each[1], each[2], each[3]})
	return nil
}
