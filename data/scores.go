package data

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Scores is what the arrays of logits hold.
type Scores string

// Logits are as a network gives them; Probabilities are after its softmax.
const (
	Logits        Scores = "logits"
	Probabilities Scores = "probabilities"
)

// scoresTolerance is how far from 1 a row of probabilities may sum.
const scoresTolerance = 1e-4

// leastProbability stands for a probability of 0, whose logarithm would not be finite: the
// smallest normal number of single precision, below which a softmax is 0.
const leastProbability = 0x1p-126

// ScoresOf returns what m holds: probabilities if every value lies in 0…1 and every row sums
// to 1 within 1e-4.
func ScoresOf(m *mat.Dense) Scores {
	if m == nil {
		return ""
	}
	if row, _ := noProbabilities(m); row >= 0 {
		return Logits
	}
	return Probabilities
}

// noProbabilities is the first row of m that is no distribution, and its first column that is
// no probability, or −1 if its sum is wrong; row is −1 where there is none.
func noProbabilities(m *mat.Dense) (row, column int) {
	n, _ := m.Dims()
	for i := range n {
		values := m.RawRowView(i)
		for j, v := range values {
			if !(v >= 0 && v <= 1) {
				return i, j
			}
		}
		if math.Abs(floats.Sum(values)-1) > scoresTolerance {
			return i, -1
		}
	}
	return -1, -1
}

// TakeLogs puts the logarithms of the probabilities m in their place. It is an *InputError,
// which names the array and its rows from first on, where they are none.
func TakeLogs(path, array string, m *mat.Dense, first int) error {
	if i, j := noProbabilities(m); j >= 0 {
		return Inputf(path, "%s holds %v at row %d, column %d, which is no probability; hand over probabilities, or logits alone", array, m.At(i, j), first+i, j)
	} else if i >= 0 {
		return Inputf(path, "row %d of %s sums to %.6g; probabilities must sum to 1", first+i, array, floats.Sum(m.RawRowView(i)))
	}
	m.Apply(func(_, _ int, p float64) float64 { return math.Log(math.Max(p, leastProbability)) }, m)
	return nil
}

// Settle decides what the logits of all parts hold, by as or, where that is "", by their values,
// and puts the logarithms of probabilities in their place. It records the answer in Scores.
func (s *Source) Settle(as Scores) error {
	first := "" // array
	for name, set := range s.sets() {
		if as != "" || set.Logits == nil {
			continue
		}
		switch looks, key := ScoresOf(set.Logits), name+"_logits"; {
		case first == "":
			s.Scores, first = looks, key
		case looks != s.Scores:
			return Inputf(s.Path, "%s holds %s and %s holds %s; hand over the same of all rows, or say which by --logits or --probabilities", first, s.Scores, key, looks)
		}
	}
	if as != "" {
		s.Scores = as
	}
	if s.Scores != Probabilities {
		return nil
	}
	for name, set := range s.sets() {
		if set.Logits != nil {
			if err := TakeLogs(s.Path, name+"_logits", set.Logits, 0); err != nil {
				return err
			}
		}
	}
	return nil
}
