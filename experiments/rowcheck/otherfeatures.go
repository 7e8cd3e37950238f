package rowcheck

import (
	"fmt"
	"math"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// OtherFeatures describes features of the calibration rows or of the test rows that seem to belong to other rows than
// the logits: the logits do not depend on the features, although they do in the other part, or although so many rows
// would show even a weak dependence. It is "" if there are none.
func OtherFeatures(cal, test *data.Set) string {
	c, t := dependenceOf(cal), dependenceOf(test)
	const looks = "the features of the %s look like those of other rows: the logits do not depend on them (distance correlation %.2f, p = %.2g), and in the %s they do (%.2f); hand over the features of each row, in the order of the rows"
	switch {
	case c.lacks(t):
		return fmt.Sprintf(looks, "calibration rows", c.correlation(), c.p(), "test rows", t.correlation())
	case t.lacks(c):
		return fmt.Sprintf(looks, "test rows", t.correlation(), t.p(), "calibration rows", c.correlation())
	case c.lacks(dependence{rows: math.Inf(1), square: weakDependence}) && !(t.p() <= unrelated):
		return fmt.Sprintf("the logits of the calibration rows do not depend on their features (distance correlation %.2f, p = %.2g), as if those were of other rows: "+
			"unless the features tell nothing of what the classifier sees, hand over those of each row, in the order of the rows", c.correlation(), c.p())
	}
	return ""
}

// weakDependence is a squared distance correlation that a classifier's logits and features of the same rows exceed:
// last layers have .4 to .8, 36 bands of a satellite .3.
const weakDependence = .2

// dependence is the squared distance correlation of rows' features and logits without its bias, which estimates 0 where
// they are independent.
type dependence struct{ rows, square float64 }

// correlation is the distance correlation.
func (d dependence) correlation() float64 { return math.Sqrt(max(d.square, 0)) }

// p is the chance of so large a correlation where there is none, or a little more: rows·square + 1 is at most as large
// as χ² of one degree of freedom (Shen, Panda and Vogelstein 2022). 1 where nothing is known.
func (d dependence) p() float64 {
	if d.rows == 0 {
		return 1
	}
	return distuv.ChiSquared{K: 1}.Survival(max(d.rows*d.square+1, 0))
}

// lacks reports whether d is no dependence, and the other one is, by more than chance: the correlation's standard error
// is at most 1/√rows.
func (d dependence) lacks(other dependence) bool {
	return d.rows > 0 && d.p() > unrelated && other.rows > 0 && other.p() < alarm &&
		other.correlation()-d.correlation() > alarmDeviation*math.Sqrt(1/d.rows+1/other.rows)
}

// dependentRows are as many as it is computed on: the time grows with their square. leastProbability is what
// probabilities count at least: the distance of rows is not that of their masked classes.
const dependentRows, leastProbability = 500, 1e-3

// dependenceOf is that of a set's rows, spread evenly over them where they are too many; nothing of a set that lacks
// either.
func dependenceOf(x *data.Set) dependence {
	if x == nil || x.Features == nil || x.Logits == nil || x.Len() < 4 {
		return dependence{}
	}
	some := data.Spread(x.Len(), dependentRows)
	features, logProbs := data.Select(x.Features, some), data.RowsOf(x.Logits, some)
	n, _ := logProbs.Dims()
	for i := range n {
		row := logProbs.RawRowView(i)
		sum := floats.LogSumExp(row)
		for c, l := range row {
			row[c] = max(l-sum, math.Log(leastProbability))
		}
	}
	a, b := centredDistances(data.FitStandardizer(features).Apply(features)), centredDistances(logProbs)
	scale := math.Sqrt(floats.Dot(a, a)) * math.Sqrt(floats.Dot(b, b))
	if !(scale > 0) { // outputs or features that are all equal
		return dependence{}
	}
	return dependence{rows: float64(n), square: floats.Dot(a, b) / scale}
}

// centredDistances are the distances of the rows (n×n), less their means by row and column, plus that of all, such that
// the sum of the products of two of them has no bias (Székely and Rizzo 2014):
//
//	d_ij − Σ_k d_ik/(n−2) − Σ_k d_kj/(n−2) + Σ_kl d_kl/((n−1)(n−2)), 0 for i = j
func centredDistances(x *mat.Dense) []float64 {
	n, _ := x.Dims()
	d, sums := make([]float64, n*n), make([]float64, n)
	products := mat.NewSymDense(n, nil)
	products.SymOuterK(1, x)
	for i := range n {
		for j := range i {
			v := math.Sqrt(max(products.At(i, i)+products.At(j, j)-2*products.At(i, j), 0))
			d[i*n+j], d[j*n+i] = v, v
			sums[i], sums[j] = sums[i]+v, sums[j]+v
		}
	}
	all := floats.Sum(sums) / float64((n-1)*(n-2))
	for i := range n {
		for j := range n {
			if i == j {
				continue
			}
			d[i*n+j] += all - (sums[i]+sums[j])/float64(n-2)
		}
	}
	return d
}
