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
// 1 where there is any density, without right rows 0.
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
		of := &d.wrong
		if hit == 1 {
			of = &d.right
		}
		of.x, of.y = append(of.x, s.confidence[i]), append(of.y, s.proximity[i])
	}
	d.right.setBandwidths()
	d.wrong.setBandwidths()
	return d
}

// of is c of each row.
func (d densityRatio) of(confidence, proximity []float64) []float64 {
	out, n, wrong := make([]float64, len(confidence)), float64(len(d.right.x)), float64(len(d.wrong.x))
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
	x, y   []float64
	hx, hy float64
}

func (d *density) setBandwidths() {
	shrink := 1.06 * math.Pow(float64(len(d.x)), -1./6)
	d.hx = max(shrink*stat.PopStdDev(d.x, nil), 1e-6)
	d.hy = max(shrink*stat.PopStdDev(d.y, nil), 1e-6)
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
	for _, v := range scratch {
		sum += float64(v)
	}
	return sum / (2 * math.Pi * d.hx * d.hy * float64(len(d.x)))
}

// Restore sets the embedding and the calibration rows in it.
func (m *ProCal) Restore(s layers.State) error {
	of, err := readProximal(s, "procal/confidence", "procal/proximity", "procal/right")
	if err != nil {
		return err
	}
	m.proximal = of
	m.densityRatio = newDensityRatio(seen{of.w.Float64s("procal/confidence"), of.w.Float64s("procal/proximity"), of.w.Float64s("procal/right")})
	return nil
}
