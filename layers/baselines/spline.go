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
	"gonum.org/v1/gonum/mat"
)

// Spline is calibration by splines (Gupta et al. 2021), one-vs-rest. With the rows in
// ascending order of p̂_k and t from 0 at the first to 1 at the last,
//
//	h(t) = (1/N) Σ_{rows up to t} (1[y = k] − p̂_k)
//
// is how far the frequency of class k runs ahead of its probability. A natural cubic spline
// is fitted to h by least squares; its derivative is what p̂_k lacks at the t-quantile. So
//
//	f(p̂_k) = p̂_k + h′(t) , clipped to [0, 1] ,
//
// at the calibration rows, linear between them and constant outside, and the classes' values
// are divided by their sum. Fitting the difference, as the authors' code does, leaves
// calibrated probabilities as they are.
type Spline struct {
	Knots int // of the spline, evenly spaced over [0, 1]; 0: 6

	classwise // steps at the calibration rows
}

var _ layers.Stateful = (*Spline)(nil)

// Fit fits a spline for each class; there is nothing to stop early, and
// interrupted it keeps nothing.
func (m *Spline) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	knots := cmp.Or(m.Knots, 6)
	if knots < 3 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d knots make no natural spline; choose at least 3", knots)}
	}
	if err := unweighted(cal, layers.Sizes{}); err != nil {
		return wrap("calibration by splines", err)
	}
	spline, err := newNaturalSpline(knots, cal.Len())
	if err != nil {
		return wrap("calibration by splines", err)
	}
	return m.fit(ctx, cal, "spline", func(_ int, p []value, hit, _ []float64) (steps, error) {
		of, err := spline, error(nil)
		switch {
		case len(hit) < knots: // a class that can be in so few rows keeps its probabilities
			return steps{[]float64{0, 1}, []float64{0, 1}}, nil
		case len(hit) < cal.Len():
			of, err = newNaturalSpline(knots, len(hit))
		}
		if err != nil {
			return steps{}, wrap("calibration by splines", err)
		}
		s, err := of.calibrate(p, hit)
		return s, wrap("calibration by splines", err)
	})
}

// Predict gives the normalized one-vs-rest values.
func (m *Spline) Predict(x *data.Set) (*data.Predictions, error) { return m.predict(x, steps.at) }

// ONNX is what Predict computes.
func (m *Spline) ONNX(g *onnx.Network) (onnx.Outputs, error) { return m.onnx(g, stepsONNX.line) }

// Restore sets the values at the calibration rows.
func (m *Spline) Restore(s layers.State) error { return m.restore(s, "spline") }

// naturalSpline fits natural cubic splines to values at t = 0, 1/(N−1), …, 1.
type naturalSpline struct {
	knots []float64
	qr    mat.QR // of the basis at all t
	slope *mat.Dense
}

// newNaturalSpline factorizes the basis, which all classes share.
func newNaturalSpline(knots, n int) (*naturalSpline, error) {
	s := &naturalSpline{knots: floats.Span(make([]float64, knots), 0, 1), slope: mat.NewDense(n, knots, nil)}
	if n < knots {
		return nil, fmt.Errorf("%d rows do not determine a spline of %d knots", n, knots)
	}
	basis := mat.NewDense(n, knots, nil)
	for i := range n {
		for j := range knots {
			value, slope := s.basis(j, float64(i)/float64(n-1))
			basis.Set(i, j, value)
			s.slope.Set(i, j, slope)
		}
	}
	s.qr.Factorize(basis)
	return s, nil
}

// basis is the j-th function of the natural basis (Hastie, Tibshirani and Friedman 2009,
// equations 5.4 and 5.5) and its derivative:
//
//	N_0 = 1 ,  N_1 = t ,  N_j+1 = d_j−1 − d_K−2 ,  d_j = ((t − ξ_j)₊³ − (t − ξ_K−1)₊³)/(ξ_K−1 − ξ_j)
func (s *naturalSpline) basis(j int, t float64) (value, slope float64) {
	if j == 0 {
		return 1, 0
	}
	if j == 1 {
		return t, 1
	}
	last := len(s.knots) - 1
	d := func(k int) (value, slope float64) {
		width := s.knots[last] - s.knots[k]
		near, far := max(t-s.knots[k], 0), max(t-s.knots[last], 0)
		return (near*near*near - far*far*far) / width, 3 * (near*near - far*far) / width
	}
	value, slope = d(j - 2)
	v, g := d(last - 1)
	return value - v, slope - g
}

// calibrate is f at each distinct score, in order. Rows of one score share the mean of theirs, in h too: they stand in
// no order.
func (s *naturalSpline) calibrate(score []value, hit []float64) (steps, error) {
	n := len(hit)
	h, at, ahead := mat.NewVecDense(n, nil), 0, 0.0
	for _, v := range score {
		mean := 0.0
		for _, row := range v.rows {
			mean += hit[row] / float64(len(v.rows))
		}
		for range v.rows {
			ahead += (mean - v.middle()) / float64(n)
			h.SetVec(at, ahead)
			at++
		}
	}
	var weights, slopes mat.VecDense
	if err := s.qr.SolveVecTo(&weights, false, h); err != nil {
		return steps{}, err
	}
	slopes.MulVec(s.slope, &weights)
	var out steps
	at = 0
	for _, v := range score {
		sum := 0.0
		for range v.rows {
			sum += slopes.AtVec(at)
			at++
		}
		p := v.middle()
		out.x, out.y = append(out.x, p), append(out.y, min(max(p+sum/float64(len(v.rows)), 0), 1))
	}
	return out, nil
}
