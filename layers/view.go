package layers

import (
	"errors"
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LogFloor is the smallest log p̂ that a Map sees: probabilities are clamped at
// 1e-8, as published.
var LogFloor = math.Log(1e-8)

// View is what a [Base] makes of a set: the uncalibrated prediction and the region
// of each row.
type View struct {
	LogProbs *mat.Dense    // N×C, log p̂
	Codes    []int32       // N×w codeword indices, row by row; nil if the Base does not divide
	codes    *tensor.Dense // Codes where a graph computed them, perhaps on a device; or nil
	// Support is mean_i log(1 + N_i), N_i being the calibration rows whose i-th slot has
	// this row's codeword (N); nil but for an Anchor.
	Support []float64
	// Logits are at the temperature of LogProbs, less their mean over the calibration
	// rows (N×C); nil but for an Anchor.
	Logits *mat.Dense
	// Words are the codewords as each slot sees them, standardized by its features
	// ((w·K)×d); nil but for an Anchor.
	Words *mat.Dense
}

// Batch is what a [Map] sees of a batch: symbolic inputs of B rows.
type Batch struct {
	LogProbs *gorgonia.Node // B×C, log p̂ clamped at LogFloor
	Codes    *gorgonia.Node // B×w, nil if the Base does not divide
	Mass     *gorgonia.Node // B×K, codeword mass n_k with σ² = 1, nil like Codes
	// Support (B×1) and Words ((w·K)×d) are as in View, nil where they are; Ramps are
	// the logits in parts, B×(C·P), see OrderPreserving.
	Support, Words, Ramps *gorgonia.Node
}

// tables are a View in the memory that graphs read.
type tables struct {
	rows     int
	logProbs *tensor.Dense // N×C
	codes    *tensor.Dense // N×w
	mass     *tensor.Dense // N×K, counted once: the codes of a frozen base do not change
	support  *tensor.Dense // N×1
	ramps    *tensor.Dense // N×(C·P)
	words    *tensor.Dense // (w·K)×d
}

func (v *View) tables(dt tensor.Dtype, s Sizes) *tables {
	clamped := mat.DenseCopyOf(v.LogProbs)
	clamped.Apply(func(_, _ int, l float64) float64 { return max(l, LogFloor) }, clamped)
	t := &tables{rows: clamped.RawMatrix().Rows, logProbs: graph.Matrix(dt, clamped)}
	if v.Codes != nil {
		if t.codes = v.codes; t.codes == nil {
			t.codes = graph.Codes(v.Codes, s.Slots)
		}
		t.mass = codewordMass(dt, v.Codes, s)
	}
	if v.Support != nil {
		t.support = graph.Tensor(dt, v.Support, t.rows, 1)
	}
	if v.Logits != nil {
		t.ramps = graph.Matrix(dt, ramps(v.Logits))
	}
	if v.Words != nil {
		t.words = graph.Matrix(dt, v.Words)
	}
	return t
}

// codewordMass counts the codewords of each row: n_k = |{i: s(i) = k}|, N×K.
func codewordMass(dt tensor.Dtype, s []int32, sizes Sizes) *tensor.Dense {
	n := make([]float64, len(s)/sizes.Slots*sizes.Codewords)
	for i, k := range s {
		n[i/sizes.Slots*sizes.Codewords+int(k)]++
	}
	return graph.Tensor(dt, n, len(s)/sizes.Slots, sizes.Codewords)
}

// batch describes the rows that a step works on.
func (t *tables) batch(b *graph.Builder) Batch {
	in := Batch{LogProbs: b.Take("view/log_probs", t.logProbs)}
	if t.codes != nil {
		in.Codes, in.Mass = b.Take("view/codes", t.codes), b.Take("view/mass", t.mass)
	}
	if t.support != nil {
		in.Support = b.Take("view/support", t.support)
	}
	if t.ramps != nil {
		in.Ramps = b.Take("view/ramps", t.ramps)
	}
	if t.words != nil {
		in.Words = b.Table("view/words", t.words)
	}
	return in
}

// rows is the part of v that index names.
func (v *View) rows(index []int) *View {
	part := &View{LogProbs: data.RowsOf(v.LogProbs, index), Logits: data.RowsOf(v.Logits, index), Words: v.Words}
	if v.Codes != nil {
		n, _ := v.LogProbs.Dims()
		w := len(v.Codes) / n
		for _, from := range index {
			part.Codes = append(part.Codes, v.Codes[from*w:(from+1)*w]...)
		}
	}
	if v.Support != nil {
		for _, from := range index {
			part.Support = append(part.Support, v.Support[from])
		}
	}
	return part
}

// Sizes of a calibration problem.
type Sizes struct {
	Classes   int   `json:"classes"`             // C
	Features  int   `json:"features,omitempty"`  // M, 0 if they are not looked at
	Slots     int   `json:"slots,omitempty"`     // w, 0 if the space is not divided
	Codewords int   `json:"codewords,omitempty"` // K
	Counts    []int `json:"counts"`              // calibration rows of each class
}

// classCounts counts the rows of each class. C is the number of logits or, without
// logits, one more than the largest label.
func classCounts(s *data.Set) []int {
	counts := make([]int, s.Classes())
	for _, y := range s.Labels {
		for y >= len(counts) {
			counts = append(counts, 0)
		}
		counts[y]++
	}
	return counts
}

// labelsOf are x's labels as graphs read them, which do not look whether a label is one
// of the classes.
func labelsOf(x *data.Set, classes int) (*tensor.Dense, error) {
	if x.Labels == nil {
		return nil, errors.New("layers: the rows have no labels to fit to")
	}
	if row := data.Stray(x.Labels, classes); row >= 0 {
		return nil, fmt.Errorf("layers: row %d has the label %d, which is none of the %d classes of the calibration rows", row, x.Labels[row], classes)
	}
	return graph.Labels(x.Labels), nil
}

// LogSoftmax normalizes each row of logits (N×C) to log-probabilities, in float64.
func LogSoftmax(logits *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(logits)
	n, _ := out.Dims()
	for i := range n {
		row := out.RawRowView(i)
		top := row[0]
		for _, v := range row {
			top = max(top, v)
		}
		var sum float64
		for _, v := range row {
			sum += math.Exp(v - top)
		}
		logSum := top + math.Log(sum)
		for j := range row {
			row[j] -= logSum
		}
	}
	return out
}

// meanNLL describes the loss that every Map is trained on.
func meanNLL(b *graph.Builder, logProbs *gorgonia.Node, labels *tensor.Dense) *gorgonia.Node {
	return b.Apply(op.NLL(), logProbs, b.Take("labels", labels))
}
