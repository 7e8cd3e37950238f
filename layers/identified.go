package layers

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// namedEntries is how many entries of a direction are named.
const namedEntries = 4

// DirectionOf names a direction of the learned weights by its largest entries, such as
// "0.58 region/bias[3] + 0.58 region/bias[4]".
func DirectionOf(w *graph.Weights, direction []float64) string {
	var names []string
	for _, name := range w.Learned() {
		for i := range w.Tensor(name).Shape().TotalSize() {
			names = append(names, fmt.Sprintf("%s[%d]", name, i))
		}
	}
	if len(names) != len(direction) {
		return fmt.Sprintf("a direction of %d numbers, where there are %d", len(direction), len(names))
	}
	order := data.UpTo(len(direction))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(math.Abs(direction[j]), math.Abs(direction[i])) })
	var parts []string
	order = slices.DeleteFunc(order, func(i int) bool { return math.Abs(direction[i]) < 0.005 }) // 0.00 in two digits
	for _, i := range order[:min(namedEntries, len(order))] {
		parts = append(parts, fmt.Sprintf("%.2f %s", direction[i], names[i]))
	}
	if len(order) > namedEntries {
		parts = append(parts, "…")
	}
	return strings.Join(parts, " + ")
}

// flattest names the direction of the least curvature, of a Hessian scaled to a diagonal of ones.
func (x *Sandwich) flattest(scaled *mat.SymDense, scale []float64) string {
	_, vectors := estimate.Spectrum(scaled)
	v := mat.Col(nil, 0, vectors)
	floats.Mul(v, scale)
	floats.Scale(1/floats.Norm(v, 2), v)
	return DirectionOf(x.weights, v)
}

// unknownLogit is the standard error of a calibration row's own log-odds from which on nothing is known of them: they
// are within ±20 then.
const unknownLogit = 10

// identify notes the direction F⁻¹g in which the log-odds of a calibration row, of gradient g, are not known: their
// variance gᵀF⁻¹g grows without end as rows that the map tells apart drive its weights, while that of the sandwich,
// whose J vanishes faster than F, stays.
func (x *Sandwich) identify(row int, g, variance []float64) {
	deviation := math.Sqrt(variance[0])
	if x.unknown != nil || !(deviation > unknownLogit) {
		return
	}
	var d mat.VecDense
	d.MulVec(x.bread, mat.NewVecDense(len(g), g))
	floats.Scale(1/floats.Norm(d.RawVector().Data, 2), d.RawVector().Data)
	x.unknown = fmt.Errorf("layers: there are no intervals, since the calibration rows do not identify %s: "+
		"along it the log-odds of calibration row %d have a standard error of %.2g; fit a method with a penalty",
		DirectionOf(x.weights, d.RawVector().Data), row, deviation)
}

// alongFree is which part of a gradient may lie along free directions: of those that change nothing, rounding leaves
// 1e-9.
const alongFree = 1e-6

// tells is an error where a row's logit, of gradient g, changes along what nothing is known of.
func (x *Sandwich) tells(row int, g []float64) error {
	if x.ridge > 0 {
		return nil
	}
	most := alongFree * floats.Norm(g, 2)
	for _, v := range x.Free {
		if math.Abs(floats.Dot(v, g)) > most {
			return fmt.Errorf("layers: row %d has no interval, since the calibration rows do not identify %s, along which its posterior changes; bring rows that do, or fit %s with weight decay", row, DirectionOf(x.weights, v), NameOf(x.m))
		}
	}
	return nil
}
