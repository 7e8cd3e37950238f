package layers

import (
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Predicted is how often a model predicts each class of its calibration rows, and what it predicts for some of them.
type Predicted struct {
	Mean []float64  // of the probabilities (C), by weight
	Rows float64    // N, the effective number of the calibration rows
	Some *mat.Dense // probabilities (R×C) of rows that stand for all of them, each for N/R
}

// mostPredicted is how many numbers Some has at most, unless it has fewestPredicted rows.
const (
	mostPredicted   = 1 << 17
	fewestPredicted = 100
)

// PredictedOf is that of log-probabilities (N×C) of weighed rows (nil: 1 each).
func PredictedOf(logProbs *mat.Dense, weights []float64) *Predicted {
	if logProbs == nil || logProbs.IsEmpty() {
		return &Predicted{}
	}
	n, classes := logProbs.Dims()
	x := newUnlabelled(logProbs, weights)
	p := &Predicted{Mean: make([]float64, classes), Rows: x.rows}
	for i, count := range x.counts {
		floats.AddScaled(p.Mean, count, x.probs.RawRowView(i))
	}
	floats.Scale(1/floats.Sum(p.Mean), p.Mean)
	r := min(max(1, int(math.Round(x.rows))), max(fewestPredicted, mostPredicted/classes), n)
	some, next := make([]int, 0, r), x.rows/float64(r)/2 // systematic sampling: steps of equal weight
	sum := 0.
	for i, count := range x.counts {
		for sum += count; next < sum && len(some) < r; next += x.rows / float64(r) {
			some = append(some, i)
		}
	}
	p.Some = data.RowsOf(x.probs, some)
	return p
}

// Priors are the old priors π: the mean prediction of the calibration rows and of one row of all classes alike.
func (p *Predicted) Priors() []float64 {
	priors := slices.Clone(p.Mean)
	floats.AddConst(1/(p.Rows*float64(len(priors))), priors)
	floats.Scale(1/floats.Sum(priors), priors)
	return priors
}

func (p *Predicted) add(to profileFile) {
	if p == nil {
		return
	}
	to.addVector("predicted/mean", p.Mean)
	to.addVector("predicted/rows", []float64{p.Rows})
	to.addMatrix("predicted/some", p.Some)
}

// readPredicted is what add wrote, nil where that is damaged or not there.
func readPredicted(from profileFile) *Predicted {
	mean, rows, some := from.vector("predicted/mean"), from.vector("predicted/rows"), from.matrix("predicted/some")
	if some == nil || mean == nil || len(rows) != 1 {
		return nil
	}
	p := &Predicted{mean, rows[0], some}
	isShare := func(v float64) bool { return v >= 0 && v <= 1+1e-6 } // as float32 rounds it
	all := slices.Concat(p.Mean, some.RawMatrix().Data)
	if _, classes := some.Dims(); len(p.Mean) != classes ||
		!(p.Rows >= 1) || math.IsInf(p.Rows, 1) || !(floats.Sum(p.Mean) > 0) ||
		slices.ContainsFunc(all, func(v float64) bool { return !isShare(v) }) {
		return nil
	}
	return p
}
