package baselines

import (
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// need is what a method needs of calibration rows of these sizes, besides logits and labels.
type need func(cal *data.Set, s layers.Sizes) error

// withFeatures needs features.
func withFeatures(cal *data.Set, s layers.Sizes) error { return requireFeatures(cal, s.Features) }

// sizesOf checks that cal can be calibrated on and gives its sizes. M is 0 without
// features.
func sizesOf(cal *data.Set, needs ...need) (layers.Sizes, error) {
	switch {
	case cal.Logits == nil:
		return layers.Sizes{}, fmt.Errorf("baselines: the calibration rows have no logits to calibrate")
	case cal.Labels == nil:
		return layers.Sizes{}, fmt.Errorf("baselines: the calibration rows have no labels")
	}
	c := cal.Classes()
	if c < 2 {
		return layers.Sizes{}, fmt.Errorf("baselines: calibration needs at least two classes, not %d", c)
	}
	if i := data.InvalidLabel(cal.Labels, c); i >= 0 {
		return layers.Sizes{}, fmt.Errorf("baselines: row %d has label %d, which is none of %d classes", i, cal.Labels[i], c)
	}
	s := layers.SizesOf(cal)
	if cal.Features != nil {
		_, s.Features = cal.Features.Dims()
	}
	if i, k := cal.MaskedLabel(); i >= 0 {
		return s, fmt.Errorf("baselines: row %d has label %d, which its logits mask: correct the label or the mask, or divide all logits by one number if none is a mask", i, k)
	}
	for _, met := range needs {
		if err := met(cal, s); err != nil {
			return s, err
		}
	}
	return s, nil
}

// logProbsOf is ℓ of each row of x (N×C), −∞ of a class that cannot be.
func logProbsOf(x *data.Set, s layers.Sizes) (*mat.Dense, error) {
	switch {
	case s.Classes == 0:
		return nil, layers.ErrUnfitted
	case x.Logits == nil:
		return nil, fmt.Errorf("baselines: the rows have no logits to calibrate")
	case x.Classes() != s.Classes:
		return nil, fmt.Errorf("baselines: the rows have logits of %d classes, the model was fitted on %d", x.Classes(), s.Classes)
	}
	l := data.LogProbs(x.Logits)
	for i, row := range rowsOf(l) {
		if floats.HasNaN(row) {
			return nil, fmt.Errorf("baselines: the scores of row %d are not finite", i)
		}
	}
	return mat.DenseCopyOf(l), nil
}

// masked is whether the class cannot be, of each class (N×C) of x's rows; nil where all can.
func masked(x *data.Set) func(i, k int) bool {
	if x.Logits == nil {
		return nil
	}
	l := data.LogProbs(x.Logits)
	for _, row := range rowsOf(l) {
		if slices.ContainsFunc(row, data.Masked) {
			return func(i, k int) bool { return data.Masked(l.At(i, k)) }
		}
	}
	return nil
}

// probabilitiesOf is p̂ of each row (N×C).
func probabilitiesOf(x *data.Set, s layers.Sizes) (*mat.Dense, error) {
	l, err := logProbsOf(x, s)
	if err != nil {
		return nil, err
	}
	return exponentials(l), nil
}

// logProbsToFit is ℓ of each calibration row (N×C), with the sizes of the problem.
func logProbsToFit(cal *data.Set, needs ...need) (layers.Sizes, *mat.Dense, error) {
	sizes, err := sizesOf(cal, needs...)
	if err != nil {
		return sizes, nil, err
	}
	l, err := logProbsOf(cal, sizes)
	return sizes, l, err
}

// indicator is 1[y = k] of each row, or the share of class k of soft labels.
func indicator(cal *data.Set, k int) []float64 {
	hit := make([]float64, cal.Len())
	for i := range hit {
		hit[i] = cal.Share(i, k)
	}
	return hit
}

// aimsOf is what rows are fitted to, without what they are but for the logits that mask their classes.
func aimsOf(cal *data.Set) *data.Set {
	aims := &data.Set{Labels: cal.Labels, Weights: cal.Weights, Soft: cal.Soft}
	if masked(cal) != nil {
		aims.Logits = cal.Logits
	}
	return aims
}

// weightOf is one of weights, or 1 where there are none.
func weightOf(weights []float64, i int) float64 {
	if weights == nil {
		return 1
	}
	return weights[i]
}

// totalOf is as how many rows n rows of these weights count.
func totalOf(weights []float64, n int) float64 {
	if weights == nil {
		return float64(n)
	}
	return floats.Sum(weights)
}

// normalize makes log-probabilities of scores, row by row in place. A row must have
// a finite maximum.
func normalize(scores *mat.Dense) error {
	for i, row := range rowsOf(scores) {
		top := floats.Max(row)
		if math.IsInf(top, 0) || floats.HasNaN(row) {
			return fmt.Errorf("baselines: the scores of row %d are not finite", i)
		}
	}
	scores.Copy(layers.LogSoftmax(scores))
	return nil
}

// rowsOf iterates over the rows of m.
func rowsOf(m *mat.Dense) func(yield func(int, []float64) bool) {
	return func(yield func(int, []float64) bool) {
		for i := range m.RawMatrix().Rows {
			if !yield(i, m.RawRowView(i)) {
				return
			}
		}
	}
}

// exponentials is eˣ of each element.
func exponentials(x *mat.Dense) *mat.Dense {
	var p mat.Dense
	p.Apply(func(_, _ int, v float64) float64 { return math.Exp(v) }, x)
	return &p
}

// predictions divides each row of non-negative p by its sum and takes logarithms;
// a row of zeros becomes uniform.
func predictions(p *mat.Dense, x *data.Set) (*data.Predictions, error) {
	for _, row := range rowsOf(p) {
		sum := floats.Sum(row)
		for k, v := range row {
			if sum > 0 {
				row[k] = math.Log(v / sum)
			} else {
				row[k] = -math.Log(float64(len(row)))
			}
		}
	}
	return data.NewPredictions(p, x)
}

// readLabels reads labels kept as numbers.
func readLabels(values []float64, classes int) ([]int, error) {
	labels := make([]int, len(values))
	for i, v := range values {
		if labels[i] = int(v); v != math.Trunc(v) || labels[i] < 0 || labels[i] >= classes {
			return nil, fmt.Errorf("baselines: row %d of the model has label %v, which is none of %d classes", i, v, classes)
		}
	}
	return labels, nil
}
