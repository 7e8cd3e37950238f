package layers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"sync"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// View is the output of a [Base] for a set: the uncalibrated prediction and the region
// of each row, and by name all else that the Maps on that base read.
type View struct {
	LogProbs *mat.Dense    // N×C, log p̂; −∞ of a class that cannot be
	Floor    float64       // where log p̂ were clamped from below; 0: nowhere
	Codes    []int32       // N×p codeword indices, row by row, p = w·Sizes.CodesOf; nil if the Base does not divide
	Shares   []float32     // of the codes; nil where each slot has one code among all codewords (see Assignment)
	codes    *tensor.Dense // Codes where a graph computed them, perhaps on a device; or nil

	Set    *data.Set             // the rows, for Maps with inputs of their own; may be nil
	Inputs map[string]mat.Matrix // of N rows each, brought into memory once a Map reads them
}

// Batch is the input of a [Map]: symbolic inputs of B rows.
type Batch struct {
	LogProbs *gorgonia.Node // B×C, log p̂; 0 of a class that cannot be, which so counts for nothing in sums
	Masks    *gorgonia.Node // B×C, 0, or far below any score of a class that cannot be; nil: all can be
	Codes    *gorgonia.Node // B×p, nil if the Base does not divide
	Mass     *gorgonia.Node // B×K, codeword mass n_k with σ² = 1, nil like Codes
	// Shares and Places (B×p each) go with the codes; they are nil where each slot has one code among all codewords.
	// Places are rows of a table with one for each codeword of each slot (Sizes.Places).
	Shares, Places *gorgonia.Node

	rows    *Rows          // nil in a batch that was made by hand
	targets *gorgonia.Node // of a batch made by hand; nil: those of the rows
}

// Toward is a batch made by hand with targets (B×C) for a loss, in place of labels.
func (in Batch) Toward(targets *gorgonia.Node) Batch {
	in.targets = targets
	return in
}

// Slots is w.
func (in Batch) Slots() int {
	if in.rows == nil {
		return in.Codes.Shape()[1]
	}
	return in.rows.sizes.Slots
}

// Whole is what the shares of a row add up to, as [Sizes.Whole].
func (in Batch) Whole() float64 {
	if in.rows == nil {
		return float64(in.Slots())
	}
	return in.rows.sizes.Whole()
}

// TableSum describes Σ_i Σ_k e_ik T_ik (B×C) of a table T (Sizes.Places×C): what each slot
// reads at its codewords, by their shares.
func (in Batch) TableSum(b *graph.Builder, table *gorgonia.Node) *gorgonia.Node {
	if in.Shares == nil {
		return b.Apply(op.TableSum(), table, in.Codes)
	}
	slots := in.Slots()
	if in.rows != nil && in.rows.sizes.Tables != nil { // of which the op could not cut the table into equal parts
		slots = 1
	}
	return b.Apply(op.ShareSum(slots), table, in.Places, in.Shares)
}

// EachClass describes a number for each row (B×1) as one for each class (B×C).
func (in Batch) EachClass(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
	return b.MatMul(x, b.Table("all_classes", ones(b.Dtype(), 1, b.Dim(in.LogProbs, 1))))
}

// Labels are the labels of the batch (B) or, for rows with weights or several classes, their targets
// (B×C); [graph.Builder.NLL] takes either. A batch without labels fails the builder.
func (in Batch) Labels(b *graph.Builder) *gorgonia.Node {
	if in.targets != nil {
		return in.targets
	}
	if in.rows == nil || in.rows.target.table == nil {
		return b.Fail(errors.New("layers: the rows of the loss have no labels"))
	}
	r := in.rows
	return r.target.describe(b, r.take(b, "labels", r.target.table), r.n, r.Total())
}

// Input is the input of that name, B rows of a View's Inputs. A name that the base does not know fails the builder.
func (in Batch) Input(b *graph.Builder, name string) *gorgonia.Node {
	if r := in.rows; r != nil {
		if x, ok := r.inputs[name]; ok {
			return r.take(b, "view/"+name, x())
		}
	}
	return b.Fail(fmt.Errorf("layers: the map needs a base that gives %q", name))
}

// AllRows is the input of that name for all rows, not only those of the batch. A part
// ([Rows.Of]) has none.
func (in Batch) AllRows(b *graph.Builder, name string) *gorgonia.Node {
	if in.rows != nil && in.rows.index == nil {
		if x, ok := in.rows.inputs[name]; ok {
			return b.Table("view/"+name, x())
		}
	}
	return b.Fail(fmt.Errorf("layers: the map needs all rows of %q", name))
}

// Weights are the weights of the batch's rows (B), with mean 1 over all rows; nil if there are none.
func (in Batch) Weights(b *graph.Builder) *gorgonia.Node {
	if in.rows == nil || in.rows.weights == nil {
		return nil
	}
	return in.rows.take(b, "view/weights", in.rows.weights)
}

// Kinds are numbers of the batch's rows (B) that equal rows share ([data.Set.Kinds]).
func (in Batch) Kinds(b *graph.Builder) *gorgonia.Node {
	if in.rows == nil || in.rows.kinds == nil {
		return b.Rows()
	}
	return in.rows.take(b, "view/kinds", in.rows.kinds)
}

// KindsOf are the kinds of the rows that a node names, among all rows as in [Batch.AllRows].
func (in Batch) KindsOf(b *graph.Builder, rows *gorgonia.Node) *gorgonia.Node {
	if in.rows == nil || in.rows.kinds == nil {
		return rows
	}
	return b.TakeAt("view/kinds", in.rows.kinds, rows)
}

// Rows are a View, or a part of one, in the memory that graphs read.
type Rows struct {
	n              int
	logProbs       *tensor.Dense // N×C
	masks          *tensor.Dense // N×C; nil: all classes can be
	sizes          Sizes
	codes          *tensor.Dense                   // N×w
	shares, places *tensor.Dense                   // N×p, of codes that are not one of each slot; else nil
	mass           *tensor.Dense                   // N×K, counted once: the codes of a frozen base do not change
	inputs         map[string]func() *tensor.Dense // made once
	target         target                          // of the N rows, where it is known
	weights        *tensor.Dense                   // of the N rows, of mean 1; nil: 1 each
	kinds          *tensor.Dense                   // of the N rows, as [data.Set.Kinds] numbers them; nil: no two are known to be equal
	index          *tensor.Dense                   // n numbers of the N rows, nil: all
}

// Labelled are the rows with labels, as [graph.Labels] makes them, for a loss.
func (r *Rows) Labelled(labels *tensor.Dense) *Rows { return r.aiming(target{table: labels}) }

// LabelledBy are the rows, which must be those of x, with its labels, weights and kinds of equal rows.
func (r *Rows) LabelledBy(x *data.Set) (*Rows, error) {
	t, err := targetOf(x, r.sizes.Classes, r.Dtype())
	with := r.aiming(t)
	if w := x.Weights; w != nil {
		mean := floats.Sum(w) / float64(len(w))
		with.weights = graph.Tensor(r.Dtype(), data.Each(w, func(w float64) float64 { return w / mean }), len(w))
	}
	if kinds := x.Kinds(); kinds != nil {
		with.kinds = graph.Labels(kinds)
	}
	return with, err
}

func (r *Rows) aiming(t target) *Rows {
	with := *r
	with.target = t
	return &with
}

// Total is the sum of their weights: n without.
func (r *Rows) Total() float64 { return r.target.total(r.index, r.n) }

// Effective is as how many rows of equal weight they count ([data.Effective]), at least one, for penalties that weigh
// against so many.
func (r *Rows) Effective() int { return r.target.effective(r.index, r.n) }

// Of is the part that index names, in the same memory.
func (r *Rows) Of(index []int) *Rows {
	part := *r
	part.n, part.index = len(index), graph.Labels(index)
	if r.index != nil {
		for at, i := range index {
			part.index.Int32s()[at] = r.index.Int32s()[i]
		}
	}
	return &part
}

// take describes the rows of a table of all rows that a step works on.
func (r *Rows) take(b *graph.Builder, name string, table *tensor.Dense) *gorgonia.Node {
	if r.index == nil {
		return b.Take(name, table)
	}
	return b.TakeAt(name, table, b.Take("view/index", r.index))
}

// Rows puts the view into memory of type dt.
func (v *View) Rows(dt tensor.Dtype, s Sizes) *Rows {
	filled, masks := unmasked(v.LogProbs)
	r := &Rows{n: v.LogProbs.RawMatrix().Rows, logProbs: graph.Matrix(dt, filled), sizes: s, inputs: map[string]func() *tensor.Dense{}}
	if masks != nil {
		r.masks = graph.Matrix(dt, masks)
	}
	if v.Codes != nil {
		if r.codes = v.codes; r.codes == nil {
			r.codes = graph.Codes(v.Codes, s.Slots*s.CodesOf())
		}
		r.mass = codewordMass(dt, v.Codes, v.Shares, s)
		if v.Shares != nil {
			r.shares, r.places = v.sharesOf(dt, s), graph.Codes(places(v.Codes, s), s.Slots*s.CodesOf())
		}
	}
	for name, x := range v.Inputs {
		r.inputs[name] = sync.OnceValue(func() *tensor.Dense { return inputTable(dt, x) })
	}
	return r
}

// maskedScore is what graphs add to the scores of a class that cannot be: its probability is then 0 in either
// precision, and 0 times it is 0, which it would not be of −∞.
const maskedScore = -1e30

// unmasked is x with 0 in place of −∞, and what to add to scores of x; x itself and nil where no class is masked.
func unmasked(x *mat.Dense) (filled, masks *mat.Dense) {
	filled = x
	n, c := x.Dims()
	for i := range n {
		for k, v := range x.RawRowView(i) {
			if !data.Masked(v) {
				continue
			}
			if masks == nil {
				filled, masks = mat.DenseCopyOf(x), mat.NewDense(n, c, nil)
			}
			filled.Set(i, k, 0)
			masks.Set(i, k, maskedScore)
		}
	}
	return filled, masks
}

// inputTable is x (N×D) as a graph reads it, with 0 in place of −∞.
func inputTable(dt tensor.Dtype, x mat.Matrix) *tensor.Dense {
	return once(x, dt.String()+" table", func() *tensor.Dense {
		n, d := x.Dims()
		t, buffer := tensor.New(tensor.Of(dt), tensor.WithShape(n, d)), make([]float64, d)
		for i := range n {
			row := data.Row(x, i, buffer)
			if dt == tensor.Float32 {
				fill(t.Float32s()[i*d:(i+1)*d], row)
			} else {
				fill(t.Float64s()[i*d:(i+1)*d], row)
			}
		}
		return t
	})
}

func fill[T float32 | float64](dst []T, row []float64) {
	for j, v := range row {
		if data.Masked(v) {
			v = 0
		}
		dst[j] = T(v)
	}
}

// Remask puts −∞ into log-probabilities that a graph gave, in place of what stands for it there.
func Remask[T float32 | float64](logProbs []T) {
	for i, l := range logProbs {
		if l <= maskedScore/2 {
			logProbs[i] = T(math.Inf(-1))
		}
	}
}

// Mask describes scores (B×C) in which impossible classes are so low that no softmax sees them.
func (in Batch) Mask(b *graph.Builder, scores *gorgonia.Node) *gorgonia.Node {
	if in.Masks == nil || b.Err() != nil {
		return scores
	}
	return b.Plus(scores, in.Masks)
}

// Len is how many rows there are.
func (r *Rows) Len() int { return r.n }

// Dtype is the type of their memory.
func (r *Rows) Dtype() tensor.Dtype { return r.logProbs.Dtype() }

// sharesOf are the shares of the codes, N×p.
func (v *View) sharesOf(dt tensor.Dtype, s Sizes) *tensor.Dense {
	p := s.Slots * s.CodesOf()
	if dt == tensor.Float32 {
		return tensor.New(tensor.WithShape(len(v.Shares)/p, p), tensor.WithBacking(v.Shares))
	}
	return graph.Tensor(dt, data.Each(v.Shares, func(e float32) float64 { return float64(e) }), len(v.Shares)/p, p)
}

// eachCode visits the codes of a row with their shares, but those of none.
func (v *View) eachCode(row int, s Sizes, visit func(k int32, share float64)) {
	p := s.Slots * s.CodesOf()
	for at := row * p; at < (row+1)*p; at++ {
		share := 1.0
		if v.Shares != nil {
			share = float64(v.Shares[at])
		}
		if share > 0 {
			visit(v.Codes[at], share)
		}
	}
}

// places are the table rows of codes, as [Sizes.Place].
func places(codes []int32, s Sizes) []int32 {
	out, each := make([]int32, len(codes)), s.CodesOf()
	for at := 0; at < len(codes); at += each {
		first := int32(s.Place(at, 0))
		for j, k := range codes[at : at+each] {
			out[at+j] = first + k
		}
	}
	return out
}

// codewordMass is the mass of each codeword in each row: n_k = Σ_i e_ik, N×K.
func codewordMass(dt tensor.Dtype, codes []int32, shares []float32, s Sizes) *tensor.Dense {
	n := tensor.New(tensor.Of(dt), tensor.WithShape(len(codes)/(s.Slots*s.CodesOf()), s.Codewords))
	if dt == tensor.Float32 {
		count(n.Float32s(), codes, shares, s)
	} else {
		count(n.Float64s(), codes, shares, s)
	}
	return n
}

func count[T float32 | float64](n []T, codes []int32, shares []float32, s Sizes) {
	p := s.Slots * s.CodesOf()
	for i, k := range codes {
		e := T(1)
		if shares != nil {
			e = T(shares[i])
		}
		n[i/p*s.Codewords+int(k)] += e
	}
}

// Batch describes the rows that a step works on.
func (r *Rows) Batch(b *graph.Builder) Batch {
	in := Batch{LogProbs: r.take(b, "view/log_probs", r.logProbs), rows: r}
	if r.masks != nil {
		in.Masks = r.take(b, "view/masks", r.masks)
	}
	if r.codes != nil {
		in.Codes, in.Mass = r.take(b, "view/codes", r.codes), r.take(b, "view/mass", r.mass)
	}
	if r.shares != nil {
		in.Shares, in.Places = r.take(b, "view/shares", r.shares), r.take(b, "view/places", r.places)
	}
	return in
}

// Function compiles the outputs that describe describes for the rows.
func (r *Rows) Function(weights *graph.Weights, describe func(*graph.Builder, Batch) *gorgonia.Node) *graph.Function {
	return graph.NewFunction(weights, func(b *graph.Builder) gorgonia.Nodes { return gorgonia.Nodes{describe(b, r.Batch(b))} })
}

// of is what describe computes for the rows (N×D).
func (r *Rows) of(weights *graph.Weights, describe func(*graph.Builder, Batch) *gorgonia.Node) (*tensor.Dense, error) {
	size := EvaluationBatch
	if weights.Dtype() == tensor.Float64 {
		size /= 2 // takes as much memory as a batch of float32
	}
	tables, err := r.Function(weights, describe).Tables(r.n, size)
	if err != nil {
		return nil, err
	}
	return tables[0], nil
}

// Posterior is the output of a map with weights for the rows (N×C), in log-probabilities. It is an error
// if a row is no distribution.
func (r *Rows) Posterior(m Map, weights *graph.Weights) (*mat.Dense, error) {
	table, err := r.of(weights, LogProbsOf(m))
	if err != nil {
		return nil, err
	}
	logProbs := mat.NewDense(r.n, r.logProbs.Shape()[1], graph.Float64s(table))
	if err := normalized(m, table); err != nil {
		return nil, err
	}
	Remask(logProbs.RawMatrix().Data)
	if weights.Dtype() == tensor.Float64 {
		return logProbs, nil
	}
	return Renormalize(logProbs), nil // float32 rows sum to 1 within 1e-6, what leaves the package does in float64
}

// normalized refuses log-probabilities of a map whose exponentials do not sum to 1. Float32
// leaves sums of a thousand classes within 1e-5. A NaN is told by who knows the rows.
func normalized(m Map, logProbs *tensor.Dense) error {
	values, c := graph.Float64s(logProbs), logProbs.Shape()[1]
	for i := range len(values) / c {
		if sum := math.Exp(floats.LogSumExp(values[i*c:][:c])); math.Abs(sum-1) > 1e-3 {
			return fmt.Errorf("layers: the map %s gives row %d probabilities that sum to %.4g, not 1: end its LogProbs with Builder.LogSoftmax, which makes scores a distribution", NameOf(m), i, sum)
		}
	}
	return nil
}

// Sizes of a calibration problem.
type Sizes struct {
	Classes   int `json:"classes"`             // C
	Features  int `json:"features,omitempty"`  // M, 0 if they are not looked at
	Slots     int `json:"slots,omitempty"`     // w, 0 if the space is not divided
	Codewords int `json:"codewords,omitempty"` // K
	// Counts are the calibration rows of each class by their weights and shares, as [data.Set.Counts]
	// has them; Weighed is how many rows have weights, 0 where Counts add up to the rows.
	Counts  []float64 `json:"counts"`
	Weighed int       `json:"rows,omitempty"`

	// What an [Assignment] gives beyond the paper's codes, one codeword of all K for each slot.
	Each int `json:"nearest,omitempty"` // codes of a slot; 0: 1
	// Tables are K_i (w), where slot i has codewords of its own, which follow those of slot i − 1; nil: all slots share
	// K.
	Tables []int   `json:"tables,omitempty"`
	Share  float64 `json:"share,omitempty"` // what the shares of a slot add up to, of a usual row; 0: 1
}

// CodesOf is how many codes a slot has.
func (s Sizes) CodesOf() int { return max(1, s.Each) }

// Whole is what the shares of a row add up to, Σ_k n_k(V) with σ² = 1: w of the paper's codes.
func (s Sizes) Whole() float64 { return float64(s.Slots) * cmp.Or(s.Share, 1) }

// Places is how many pairs of a slot and a codeword there are: the rows of a table with one for
// each.
func (s Sizes) Places() int {
	if s.Tables != nil {
		return s.Codewords
	}
	return s.Slots * s.Codewords
}

// Place is the row in that table of codeword k, the code at this index of all codes.
func (s Sizes) Place(at int, k int32) int {
	if s.Tables != nil {
		return int(k)
	}
	return at/s.CodesOf()%s.Slots*s.Codewords + int(k)
}

// table are the codewords lo … hi−1 that the code at this index of all codes may be.
func (s Sizes) table(at int) (lo, hi int) {
	if s.Tables == nil {
		return 0, s.Codewords
	}
	for _, k := range s.Tables[:at/s.CodesOf()%s.Slots+1] {
		lo, hi = hi, hi+k
	}
	return lo, hi
}

// Rows is how many calibration rows there are.
func (s Sizes) Rows() int {
	if s.Weighed > 0 {
		return s.Weighed
	}
	return int(math.Round(floats.Sum(s.Counts))) // of shares of rows, sums of which round
}

// SizesOf are the sizes of rows that are not divided. C is the number of logits or, without
// logits, what the set states or one more than the largest label.
func SizesOf(x *data.Set) Sizes {
	if x == nil {
		return Sizes{}
	}
	s := Sizes{Counts: x.Counts(cmp.Or(x.Classes(), x.LabelClasses))}
	if s.Classes = cmp.Or(x.Classes(), len(s.Counts)); x.Weights != nil {
		s.Weighed = x.Len()
	}
	return s
}

// LogSoftmax normalizes each row of scores (N×C) to log-probabilities, in float64. It masks no class as
// [data.LogProbs] does: a class of −∞ stays so.
func LogSoftmax(logits *mat.Dense) *mat.Dense {
	if logits == nil {
		return nil
	}
	return data.Normalize(mat.DenseCopyOf(logits))
}

// Renormalize makes the rows (N×C) of log-probabilities that sum to 1 but for rounding,
// or of any scores of that size, sum to 1 in float64, in place.
func Renormalize(logProbs *mat.Dense) *mat.Dense {
	if logProbs == nil {
		return nil
	}
	for i := range logProbs.RawMatrix().Rows {
		row := logProbs.RawRowView(i)
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return logProbs
}
