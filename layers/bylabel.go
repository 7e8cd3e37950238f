package layers

import (
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// ByLabel is how often calibration rows of each class had their scores in each of B cells: by the class of the largest
// logit and, within it, by fifths of the probability that this has. A label shift changes how often the classes are,
// and not their rows of this table.
type ByLabel struct {
	Counts *mat.Dense // C×B, as effective numbers of rows; B is 1 without logits and of more than mostCells
	Cuts   *mat.Dense // C×4, the probabilities between the fifths of each class; nil where B is 1
}

const (
	cellsOfClass = 5
	mostCells    = 1 << 16 // C·B, of 114 classes
)

// byLabel counts labelled rows; nil of rows without labels.
func byLabel(x *data.Set) *ByLabel {
	if x.Labels == nil {
		return nil
	}
	counts := x.Counts(max(x.Classes(), x.LabelClasses))
	b := &ByLabel{Counts: mat.NewDense(len(counts), 1, counts)}
	if c := x.Classes(); c == len(counts) && cellsOfClass*c*c <= mostCells {
		b.Counts, b.Cuts = mat.NewDense(c, cellsOfClass*c, nil), mat.NewDense(c, cellsOfClass-1, nil)
		tops, classes, chances := make([][]float64, c), make([]int, x.Len()), make([]float64, x.Len())
		for i := range classes {
			k, p := top(x.Logits.RawRowView(i))
			classes[i], chances[i], tops[k] = k, p, append(tops[k], p)
		}
		for k, all := range tops {
			slices.Sort(all)
			for fifth := range cellsOfClass - 1 {
				if len(all) > 0 {
					b.Cuts.Set(k, fifth, float64(float32(all[(fifth+1)*len(all)/cellsOfClass]))) // as a file holds it
				}
			}
		}
		for i := range x.Len() {
			cell := b.cell(classes[i], chances[i])
			for y, share := range x.Shares(i) {
				b.Counts.Set(y, cell, b.Counts.At(y, cell)+x.Weight(i)*share)
			}
		}
	}
	b.Counts.Scale(x.Effective()/x.Total(), b.Counts)
	return b
}

// top is the class of the largest logit and its probability.
func top(logits []float64) (k int, p float64) {
	k = floats.MaxIdx(logits)
	return k, math.Exp(logits[k] - floats.LogSumExp(logits))
}

// cell is that of a row whose largest logit is of class k, with probability p.
func (b *ByLabel) cell(k int, p float64) int {
	fifth := 0
	for _, cut := range b.Cuts.RawRowView(k) {
		if p >= cut {
			fifth++
		}
	}
	return cellsOfClass*k + fifth
}

// Priors are how frequent each class was (C), by weight.
func (b *ByLabel) Priors() []float64 {
	classes, _ := b.Counts.Dims()
	priors := make([]float64, classes)
	for y := range priors {
		priors[y] = floats.Sum(b.Counts.RawRowView(y))
	}
	floats.Scale(1/floats.Sum(priors), priors)
	return priors
}

func (b *ByLabel) add(to profileFile) {
	if b == nil {
		return
	}
	to.addMatrix("labels/counts", b.Counts)
	if b.Cuts != nil {
		to.addMatrix("labels/cuts", b.Cuts)
	}
}

// readByLabel is what add wrote, nil where that is damaged or not there: a model predicts without.
func readByLabel(from profileFile) *ByLabel {
	counts, cuts := from.matrix("labels/counts"), from.matrix("labels/cuts")
	if counts == nil || slices.ContainsFunc(counts.RawMatrix().Data, func(n float64) bool { return !(n >= 0) || math.IsInf(n, 1) }) || !(mat.Sum(counts) > 0) {
		return nil
	}
	rows, columns := counts.Dims()
	if cuts == nil || !sameDims(cuts, mat.NewDense(rows, cellsOfClass-1, nil)) || columns != cellsOfClass*rows {
		cuts = nil
		if columns != 1 {
			return nil
		}
	}
	return &ByLabel{counts, cuts}
}
