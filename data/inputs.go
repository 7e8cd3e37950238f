package data

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Inputs are labelled rows as a network reads them: the columns of a table, or
// pixels in [0, 1].
type Inputs struct {
	Name    string
	Columns []string // names of a table's columns, nil if there are none
	Classes []string // C names
	Shape   []int    // of a row: {M}, or {channels, height, width}
	Labels  []int    // N values in 0…C−1

	table  *mat.Dense // where the rows are: a table,
	pixels []byte     // or images, a byte a pixel and channel
	index  []int      // N of its rows
}

// Inputs is the table's rows as a network reads them. They are shared.
func (t *Table) Inputs() *Inputs {
	_, m := t.Features.Dims()
	return &Inputs{Name: t.Name, Columns: t.Columns, Classes: t.Classes, Shape: []int{m}, Labels: t.Labels, table: t.Features, index: UpTo(t.Len())}
}

// Len is N, the number of rows.
func (in *Inputs) Len() int { return len(in.index) }

// Number is the place of row i in the data that were divided.
func (in *Inputs) Number(i int) int { return in.index[i] }

// Width is the number of values of a row, the product of Shape.
func (in *Inputs) Width() int {
	n := 1
	for _, d := range in.Shape {
		n *= d
	}
	return n
}

// Rows is the rows at the given indices, in that order. Values are shared.
func (in *Inputs) Rows(index []int) *Inputs {
	out := *in
	out.index, out.Labels = at(in.index, index), at(in.Labels, index)
	return &out
}

// Read writes the rows lo … hi−1 to dst, (hi−lo)×Width values. It panics if dst
// is shorter.
func (in *Inputs) Read(dst []float32, lo, hi int) { readInputs(in, dst, lo, hi) }

func readInputs[T float32 | float64](in *Inputs, dst []T, lo, hi int) {
	width := in.Width()
	for i, r := range in.index[lo:hi] {
		row := dst[i*width : (i+1)*width]
		if in.table != nil {
			for j, v := range in.table.RawRowView(r) {
				row[j] = T(v)
			}
			continue
		}
		for j, b := range in.pixels[r*width : (r+1)*width] {
			row[j] = T(b) / 255
		}
	}
}

// Matrix is the rows as a matrix, N×Width.
func (in *Inputs) Matrix() *mat.Dense {
	out := mat.NewDense(in.Len(), in.Width(), nil)
	readInputs(in, out.RawMatrix().Data, 0, in.Len())
	return out
}

// Set is the rows as a classifier without logits has them: Features are [Inputs.Matrix],
// Numbers the places of the rows in the data that were divided.
func (in *Inputs) Set() *Set {
	if in == nil {
		return nil
	}
	return &Set{Features: in.Matrix(), Labels: in.Labels, Numbers: slices.Clone(in.index)}
}

// Digest identifies these rows, in this order: the SHA-256 of their shape,
// labels and values, in hexadecimal digits.
func (in *Inputs) Digest() string {
	h := sha256.New()
	fmt.Fprintf(h, "%v %v\n", in.Shape, in.Labels)
	x, raw := make([]float32, in.Width()), []byte(nil)
	for i := range in.Len() {
		in.Read(x, i, i+1)
		raw, _ = binary.Append(raw[:0], binary.LittleEndian, x) // numbers have a size
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Fits returns an *InputError unless rows have the given shape.
func (in *Inputs) Fits(shape []int) error {
	if fmt.Sprint(in.Shape) != fmt.Sprint(shape) {
		return Inputf("", "%s has rows of shape %s and the encoder takes %s", in.Name, shapeString(in.Shape), shapeString(shape))
	}
	return nil
}

// UpTo is 0 … n−1.
func UpTo(n int) []int {
	index := make([]int, n)
	for i := range index {
		index[i] = i
	}
	return index
}

// Spread are 0 … n−1, or as many as most of them at equal distances.
func Spread(n, most int) []int {
	some := UpTo(min(n, most))
	for k := range some {
		some[k] = k * n / len(some)
	}
	return some
}

// Once is all with x at its end, and all as it is where it has x.
func Once[T comparable](all []T, x T) []T {
	if slices.Contains(all, x) {
		return all
	}
	return append(all, x)
}

// Each returns of(x) for each x of all, in order; nil if all is empty.
func Each[T, U any](all []T, of func(T) U) (out []U) {
	for _, x := range all {
		out = append(out, of(x))
	}
	return out
}
