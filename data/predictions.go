package data

import (
	"cmp"
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
	Order      string   // of the classes, as of a [Source]
	ReadAs     string   // what an array logits was taken for where it holds no logits; else ""

	Weights     []float64  // N, as of a [Set]
	TestWeights []float64  // N, likewise; no file has them
	Soft        *mat.Dense // N×C, as of a [Set]
	Groups      Groups
	unread      func(embedding string) string
}

// Unread names the arrays of the file that nothing reads, in words; "" if there are none. An embedding of another name
// is read.
func (p *Predictions) Unread(embedding string) string {
	if p.unread == nil {
		return ""
	}
	return p.unread(embedding)
}

// ErrNoPredictions is the error of a features file that was named for predictions: what a [Source] is read from.
var ErrNoPredictions = errors.New("has rows to calibrate and no predictions; calibra fit and apply write predictions")

// predictedTolerance is how far from 1 the probabilities of a row may sum.
const predictedTolerance = 1e-6

// NewPredictions are predictions for the rows of x whose every row is a distribution: log-probabilities
// that are finite, or −∞ where a probability is 0, and sum to 1 within 1e-6.
// Otherwise it is an error that names the first row that is none. A class that the logits of x
// mask has probability 0, whether or not the method reads logits, and the others sum to 1; where they have
// nothing, they are alike. Every method's Predict ends here.
func NewPredictions(logProbs *mat.Dense, x *Set) (*Predictions, error) {
	n, c := logProbs.Dims()
	if r, k := 0, x.Classes(); x.Logits != nil && k == c {
		if r, _ = x.Logits.Dims(); r == n {
			mask(logProbs, x.Logits)
		}
	}
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
	return &Predictions{LogProbs: logProbs, Labels: x.Labels}, nil
}

// mask takes the classes that logits mask out of each row.
func mask(logProbs, logits *mat.Dense) {
	n, _ := logProbs.Dims()
	for i := range n {
		row, scores := logProbs.RawRowView(i), logits.RawRowView(i)
		top, can, changed := floats.Max(scores), 0, false
		for k, l := range scores {
			if !masks(l, top) {
				can++
				continue
			}
			changed = changed || !Masked(row[k])
			row[k] = math.Inf(-1)
		}
		if !changed {
			continue
		}
		sum := floats.LogSumExp(row)
		for k, l := range scores {
			switch {
			case masks(l, top):
			case Masked(sum):
				row[k] = -math.Log(float64(can))
			default:
				row[k] -= sum
			}
		}
	}
}

// rowError is what is wrong with a row, whose number comes before args.
type rowError struct {
	row    int
	format string
	args   []any
}

func (e *rowError) Error() string { return fmt.Sprintf(e.format, append([]any{e.row}, e.args...)...) }

// At renumbers an error of [NewPredictions] about a batch that begins with the user's row lo:
// it names the row by the user's number. Other errors stay as they are.
func At(err error, lo int) error {
	var e *rowError
	if lo == 0 || !errors.As(err, &e) {
		return err
	}
	return &rowError{e.row + lo, e.format, e.args}
}

// Arrays is p as package disk writes it to a file: probs (N×C, float64) and,
// if known, labels (N, int64, or N×C if they are not certain), weights (N) and class_names (C).
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
	return append(arrays, p.Groups.Arrays()...)
}

// Take takes from the rows what is known of them but their labels: weights, probabilities of the classes and groups.
func (p *Predictions) Take(x *Set) {
	p.Weights, p.TestWeights, p.Soft, p.Groups = x.Weights, x.TestWeights, x.Soft, x.Groups
}

// Counting are the weights by which tests count the rows, nil: all alike.
func (p *Predictions) Counting() []float64 {
	if p.TestWeights != nil {
		return p.TestWeights
	}
	return p.Weights
}

// ReadPredictions reads predictions, ours or another tool's, from the npz file at path: log_probs or else probs or else
// logits (N×C, the first that is there) and, where known, labels (N, or N×C where they are not certain) and weights
// (N). Rows of probabilities are divided by their sum, which must be 1 but for the rounding of the values, and logits
// that are probabilities are read as such (see [Judge]). Whatever is wrong with the file is an *InputError.
func ReadPredictions(path string) (*Predictions, error) {
	return ReadPredictionsContext(context.Background(), path, "")
}

// ReadPredictionsContext is [ReadPredictions] of numbers that are what as says, whatever their key, or "". It ends when
// ctx is cancelled, with an error that wraps its error.
func ReadPredictionsContext(ctx context.Context, path string, as Scores) (*Predictions, error) {
	return wanted(ctx, path, func(a *archive) (*Predictions, error) { return readPredictions(a, as) })
}

func readPredictions(a *archive, as Scores) (*Predictions, error) {
	if err := a.name(Names{}); err != nil {
		return nil, err
	}
	rows, key := lengths{what: "rows"}, a.predicted()
	predicted, err := a.among(key, &rows, &lengths{what: "columns", least: 2})
	switch {
	case err != nil || predicted != nil:
	case a.has("cal_logits") || a.has("test_logits"):
		err = Inputf(a.path, "%w", ErrNoPredictions)
	default:
		err = a.missing(key)
	}
	if err != nil {
		return nil, err
	}
	labels, err := a.labelled("labels", &rows) // before the first row takes memory
	if err != nil {
		return nil, err
	}
	logProbs, readAs, err := predicted.logProbs(as)
	if err != nil {
		return nil, err
	}
	_, c := logProbs.Dims()
	if err := a.checkNames(c); err != nil {
		return nil, err
	}
	x, err := block{a: a, rows: rows.n, labels: labels}.read()
	if err != nil {
		return nil, err
	}
	p := &Predictions{LogProbs: logProbs, ClassNames: a.names.Classes, ReadAs: readAs, unread: a.unreadBeside}
	if p.Take(x); x.Labels == nil {
		return p, nil
	}
	if x.Logits = logProbs; x.Soft == nil {
		err = a.byNumber(c, x.Labels)
	}
	if err = cmp.Or(err, a.checkShares("labels", x.Labels, x.Soft, c)); err != nil {
		return nil, err
	}
	err = a.judgeOrder(x)
	p.Labels, p.ClassNames, p.Order = x.Labels, a.names.Classes, a.order
	return p, err
}

// predicted is the key of the predictions.
func (a *archive) predicted() string { return cmp.Or(a.first("log_probs", "probs", "logits"), "probs") }

// namedScores are what arrays of these names hold.
var namedScores = map[string]Scores{"log_probs": LogProbabilities, "probs": Probabilities}

// logProbs reads scores as normalized log-probabilities: by what the caller says, "" for nothing, or else the key, or
// of logits the [Judge]. Where they are divided by their sums, readAs says so.
func (e *entry) logProbs(said Scores) (m *mat.Dense, readAs string, err error) {
	if m, err = e.matrix(Masked); err != nil {
		return nil, "", err
	}
	j, why := &Judge{}, ""
	j.Add(m, 0)
	as := said
	if as == "" {
		as, why = j.named(namedScores[e.key])
	}
	if err := j.accept(e.a.path, e.key, as, why); err != nil {
		return nil, "", err
	}
	if as.Normalized() {
		if e.key == "logits" || as == OneVsRest || j.scale() > 1+loosest {
			readAs = j.said(as, 0)
		}
		m.Apply(func(_, _ int, p float64) float64 { return math.Log(max(p, 0)) }, m)
	}
	return Normalize(m), readAs, nil
}

// Normalize makes the probabilities of each row of scores (N×C) sum to 1, in place. Unlike [LogProbs] it masks no
// class, since predictions are judged as they were made.
func Normalize(m *mat.Dense) *mat.Dense {
	for i := range m.RawMatrix().Rows {
		row := m.RawRowView(i)
		floats.AddConst(-floats.Max(row), row) // large logits lose no digits
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return m
}
