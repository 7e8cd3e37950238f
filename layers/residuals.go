package layers

import (
	"context"
	"math"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Supervised are codes that use labels, as [Leaf] does. What judges maps on them by rows that
// are held out divides anew without those.
type Supervised interface {
	Codes
	Supervised() bool
}

// UsesLabels reports whether c uses labels.
func UsesLabels(c Codes) bool {
	s, ok := c.(Supervised)
	return ok && s.Supervised()
}

// residuals are what a base without codes leaves of rows: the gradient p − q of a row's loss by
// its scores and the curvature p(1 − p) in each of them (N×C each), times the row's weight. p is
// softmax(logits/T) or, of rows without logits, the share of each class.
type residuals struct{ gradient, curvature *mat.Dense }

// residualsOf are those of cal.
func residualsOf(cal *data.Set, s Sizes) (residuals, error) {
	targets := cal.Targets(s.Classes)
	logProbs, err := withoutCodes(cal, targets)
	if err != nil {
		return residuals{}, err
	}
	n, c := targets.Dims()
	r := residuals{mat.NewDense(n, c, nil), mat.NewDense(n, c, nil)}
	for i := range n {
		r.set(i, logProbs.RawRowView(i), targets.RawRowView(i), cal.Weight(i))
	}
	return r, nil
}

// set is the residual of a row of that weight, whose targets sum to it.
func (r residuals) set(row int, logProbs, targets []float64, weight float64) {
	g, h := r.gradient.RawRowView(row), r.curvature.RawRowView(row)
	for k, l := range logProbs {
		p := math.Exp(l)
		g[k], h[k] = weight*p-targets[k], weight*p*(1-p)
	}
}

// withoutCodes is log p (N×C) of the base.
func withoutCodes(cal *data.Set, targets *mat.Dense) (*mat.Dense, error) {
	if cal.Logits != nil {
		var t Temperature
		if err := t.Fit(context.Background(), cal, nil, nil); err != nil {
			return nil, err
		}
		p, err := t.Predict(cal)
		if err != nil {
			return nil, err
		}
		return p.LogProbs, nil
	}
	n, c := targets.Dims()
	shares, out := make([]float64, c), mat.NewDense(n, c, nil)
	for i := range n {
		floats.Add(shares, targets.RawRowView(i))
	}
	total := floats.Sum(shares)
	for k, share := range shares {
		shares[k] = math.Max(math.Log(share/total), HeadFloor)
	}
	for i := range n {
		out.SetRow(i, shares)
	}
	return out, nil
}
