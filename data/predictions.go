package data

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Predictions is a calibrator's output for a Set.
type Predictions struct {
	LogProbs *mat.Dense // N×C, rows whose exponentials sum to 1; −∞ where a probability is 0
	Labels   []int      // N values in 0…C−1, nil where the truth is not known

	ClassNames []string // C, nil if none are known

	Weights []float64  // N, as of a [Set]
	Soft    *mat.Dense // N×C, as of a [Set]
}

// predictedTolerance is how far from 1 the probabilities of a row may sum.
const predictedTolerance = 1e-6

// NewPredictions are predictions whose every row is a distribution: log-probabilities
// that are finite, or −∞ where a probability is 0, and sum to 1 within 1e-6.
// Otherwise it is an error that names the first row that is none. Every method's Predict
// ends here.
func NewPredictions(logProbs *mat.Dense, labels []int) (*Predictions, error) {
	n, _ := logProbs.Dims()
	for i := range n {
		var sum float64
		for k, l := range logProbs.RawRowView(i) {
			if math.IsNaN(l) || math.IsInf(l, 1) {
				return nil, &rowError{i, "the prediction of row %d is %v in class %d: its features or logits, or the model's weights, are too large to compute with, or the method's Predict divides by 0", []any{math.Exp(l), k}}
			}
			sum += math.Exp(l)
		}
		if !(math.Abs(sum-1) <= predictedTolerance) {
			return nil, &rowError{i, "the predicted probabilities of row %d sum to %v, not 1: the method's Predict does not normalize them, or its numbers are too large to compute with", []any{sum}}
		}
	}
	return &Predictions{LogProbs: logProbs, Labels: labels}, nil
}

// rowError is what is wrong with a row, whose number comes before args.
type rowError struct {
	row    int
	format string
	args   []any
}

func (e *rowError) Error() string { return fmt.Sprintf(e.format, append([]any{e.row}, e.args...)...) }

// At is err of rows that begin with row lo of those that the user knows: an error of
// [NewPredictions] names the row by its number there, others are as they were.
func At(err error, lo int) error {
	var e *rowError
	if lo == 0 || !errors.As(err, &e) {
		return err
	}
	return &rowError{e.row + lo, e.format, e.args}
}

// Arrays is p as it is written to a file by [WriteNPZ]: probs (N×C, float64) and,
// where known, labels (N, int64, or N×C where they are not certain), weights (N) and class_names (C).
func (p *Predictions) Arrays() []Array {
	var probs mat.Dense
	probs.Apply(func(_, _ int, v float64) float64 { return math.Exp(v) }, p.LogProbs)
	return append([]Array{{Name: "probs", Value: &probs}}, p.Beside()...)
}

// Beside are the arrays that files of predictions hold beside the probabilities.
func (p *Predictions) Beside() (arrays []Array) {
	if p.Soft != nil {
		arrays = append(arrays, Array{Name: "labels", Value: p.Soft})
	} else if p.Labels != nil {
		arrays = append(arrays, Array{Name: "labels", Value: p.Labels})
	}
	if p.Weights != nil {
		arrays = append(arrays, Array{Name: "weights", Value: p.Weights})
	}
	if p.ClassNames != nil {
		arrays = append(arrays, Array{Name: "class_names", Value: p.ClassNames})
	}
	return arrays
}

// sumTolerance is how far a row of probabilities may be from summing to 1 before
// it is refused: halves, each rounded by at most 2⁻¹¹ of itself, move the
// sum by 5e-4.
const sumTolerance = 1e-3

// ReadPredictions reads predictions, ours or another tool's, from the npz file
// at path: log_probs or else probs or else logits (N×C, the first that is there)
// and, where known, labels (N, or N×C where they are not certain) and weights (N). Rows of probabilities are divided by their sum, which must be
// within 1e-3 of 1. Whatever is wrong with the file is an *InputError.
func ReadPredictions(path string) (*Predictions, error) {
	return ReadPredictionsContext(context.Background(), path)
}

// ReadPredictionsContext is [ReadPredictions] that ends when ctx is cancelled, with an error
// that wraps its error.
func ReadPredictionsContext(ctx context.Context, path string) (*Predictions, error) {
	return wanted(ctx, path, readPredictions)
}

func readPredictions(a *archive) (*Predictions, error) {
	if err := a.name(Names{}); err != nil {
		return nil, err
	}
	rows, key := lengths{what: "rows"}, a.predicted()
	predicted, err := a.among(key, &rows, &lengths{what: "columns", least: 2})
	switch {
	case err != nil || predicted != nil:
	case a.has("cal_logits") || a.has("test_logits"):
		err = Inputf(a.path, "has rows to calibrate and no predictions; calibra fit and apply write predictions")
	default:
		err = a.missing(key)
	}
	if err != nil {
		return nil, err
	}
	labels, err := a.among("labels", &rows, nil) // before the first row takes memory
	if err != nil {
		return nil, err
	}
	logProbs, err := predicted.logProbs()
	if err != nil {
		return nil, err
	}
	_, c := logProbs.Dims()
	if err := a.checkNames(c); err != nil {
		return nil, err
	}
	p := &Predictions{LogProbs: logProbs, ClassNames: a.names.Classes}
	if p.Weights, err = a.weights("weights", rows.n); err != nil || labels == nil {
		return p, err
	}
	if p.Labels, p.Soft, err = labels.labels(); err != nil {
		return nil, err
	}
	return p, a.checkShares("labels", p.Labels, p.Soft, c)
}

// predicted is the key of the predictions.
func (a *archive) predicted() string {
	switch {
	case a.has("log_probs"):
		return "log_probs"
	case a.has("probs") || !a.has("logits"):
		return "probs"
	}
	return "logits"
}

// logProbs reads probabilities, their logarithms or logits as normalized log-probabilities.
func (e *entry) logProbs() (*mat.Dense, error) {
	key := e.key
	m, err := e.matrix(func(v float64) bool { return key == "log_probs" && math.IsInf(v, -1) })
	if err != nil {
		return nil, err
	}
	n, _ := m.Dims()
	for i := range n {
		row := m.RawRowView(i)
		if key == "probs" {
			for k, v := range row {
				if v < 0 {
					return nil, e.fault("holds %v at row %d, column %d; a probability cannot be negative", v, i, k)
				}
				row[k] = math.Log(v)
			}
		}
		if key == "logits" {
			floats.AddConst(-floats.Max(row), row) // large logits lose no digits
		}
		logSum := floats.LogSumExp(row)
		if sum := math.Exp(logSum); key != "logits" && !(math.Abs(sum-1) <= sumTolerance) {
			return nil, Inputf(e.a.path, "row %d of %s sums to %.6g; probabilities must sum to 1", i, key, sum)
		}
		floats.AddConst(-logSum, row)
	}
	return m, nil
}
