package baselines

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Spline is calibration by splines (Gupta et al. 2021), one-vs-rest. With the rows in
// ascending order of p̂_k and t from 0 at the first to 1 at the last,
//
//	h(t) = (1/N) Σ_{rows up to t} w (1[y = k] − p̂_k)
//
// is how far the frequency of class k runs ahead of its probability. A natural cubic spline
// is fitted to h by least squares; its derivative is the correction of p̂_k at the t-quantile:
//
//	f(p̂_k) = p̂_k + h′(t) , clipped to [0, 1] ,
//
// at the calibration rows, linear between them and constant outside, and the classes' values
// are divided by their sum. Fitting the difference, as the authors' code does, leaves
// calibrated probabilities as they are. If rows have weights w, N is their sum, t goes in equal
// steps of it, and the squares of the fit are multiplied by w. The knots are evenly spaced over [0, 1]; 0: 6.
func Spline(knots int) *Classwise {
	return &Classwise{name: "spline", value: steps.at, network: stepsONNX.line, begin: func(cal *data.Set) (learn, error) {
		return splines(cal, cmp.Or(knots, 6))
	}}
}

// splines fits a spline of so many knots to rows of cal.
func splines(cal *data.Set, knots int) (learn, error) {
	const title = "calibration by splines"
	if knots < 3 {
		return nil, &layers.SettingError{Reason: fmt.Sprintf("%d knots make no natural spline; choose at least 3", knots)}
	}
	if cal.Len() < knots {
		return nil, wrap(title, fmt.Errorf("%d rows do not determine a spline of %d knots", cal.Len(), knots))
	}
	var alike *naturalSpline // of all classes, where rows have no weights
	if cal.Weights == nil {
		alike = newNaturalSpline(knots, ones(cal.Len()))
	}
	return func(p []value, hit, weights []float64) (steps, error) {
		if len(hit) < knots { // a class that can be in so few rows keeps its probabilities
			return steps{[]float64{0, 1}, []float64{0, 1}}, nil
		}
		spline := alike
		switch {
		case weights != nil:
			spline = newNaturalSpline(knots, picked(weights, inOrder(p, weights)))
		case len(hit) < cal.Len():
			spline = newNaturalSpline(knots, ones(len(hit)))
		}
		s, err := spline.calibrate(p, hit, weights)
		return s, wrap(title, err)
	}, nil
}

// naturalSpline fits natural cubic splines to values at t of rows in order, by their weights,
//
//	t_i = ½(w_0 + 2(w_1 + … + w_i−1) + w_i) / ½(w_0 + 2(w_1 + … + w_N−2) + w_N−1)
//
// from the middle of the first row to that of the last: 0, 1/(N−1), …, 1 where weights are equal.
type naturalSpline struct {
	knots   []float64
	weights []float64
	qr      mat.QR // of the basis at all t, times √w
	slope   *mat.Dense
}

// newNaturalSpline factorizes the basis.
func newNaturalSpline(knots int, weights []float64) *naturalSpline {
	n := len(weights)
	s := &naturalSpline{knots: floats.Span(make([]float64, knots), 0, 1), weights: weights, slope: mat.NewDense(n, knots, nil)}
	all := floats.Sum(weights) - (weights[0]+weights[n-1])/2
	basis, passed := mat.NewDense(n, knots, nil), -weights[0]/2
	for i, w := range weights {
		for j := range knots {
			value, slope := s.basis(j, (passed+w/2)/all)
			basis.Set(i, j, value*math.Sqrt(w))
			s.slope.Set(i, j, slope)
		}
		passed += w
	}
	s.qr.Factorize(basis)
	return s
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

// inOrder are the rows of values in order, those of one value by weight: they stand in no other order.
func inOrder(score []value, weights []float64) (rows []int) {
	for _, v := range score {
		rows = append(rows, slices.SortedStableFunc(slices.Values(v.rows), func(i, j int) int { return cmp.Compare(weights[i], weights[j]) })...)
	}
	return rows
}

// calibrate is f at each distinct score, in order. Rows of one score share the mean of theirs, in h too: they stand in
// no order.
func (s *naturalSpline) calibrate(score []value, hit, weights []float64) (steps, error) {
	n, total := len(hit), floats.Sum(s.weights)
	h, at, ahead := mat.NewVecDense(n, nil), 0, 0.0
	for _, v := range score {
		sum, weight := 0.0, 0.0
		for _, row := range v.rows {
			w := weightOf(weights, row)
			sum, weight = sum+w*hit[row], weight+w
		}
		for range v.rows {
			ahead += s.weights[at] * (sum/weight - v.middle()) / total
			h.SetVec(at, ahead*math.Sqrt(s.weights[at]))
			at++
		}
	}
	var factors, slopes mat.VecDense
	if err := s.qr.SolveVecTo(&factors, false, h); err != nil {
		return steps{}, err
	}
	slopes.MulVec(s.slope, &factors)
	var out steps
	at = 0
	for _, v := range score {
		sum, weight := 0.0, 0.0
		for range v.rows {
			sum, weight = sum+s.weights[at]*slopes.AtVec(at), weight+s.weights[at]
			at++
		}
		p := v.middle()
		out.x, out.y = append(out.x, p), append(out.y, min(max(p+sum/weight, 0), 1))
	}
	return out, nil
}
