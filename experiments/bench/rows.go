package main

import (
	"encoding/binary"
	"io"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph/blas"

	gonum "gonum.org/v1/gonum/blas"
)

// rows are random rows of a linear model, made in blocks, so that a file may be larger than
// memory: features x (M) normal, scores s = xW (C), a label drawn from softmax(s), and logits
// 1.5 s + 0.3 ε.
type rows struct {
	features, classes int
	weights           []float32 // W, M×C, normal with a deviation of 3/√M
}

func newRows(features, classes int) *rows {
	r := &rows{features, classes, make([]float32, features*classes)}
	rng := rand.New(rand.NewPCG(0, 0))
	for i := range r.weights {
		r.weights[i] = float32(3 / math.Sqrt(float64(features)) * rng.NormFloat64())
	}
	return r
}

// blockRows are made at a time.
const blockRows = 4096

// block are rows.
type block struct {
	features, logits []float32 // n×M, n×C
	labels           []int64   // n
}

// block makes n rows, those of part that begin at row at: the same ones each time.
func (r *rows) block(part uint64, at, n int) block {
	rng := rand.New(rand.NewPCG(part, uint64(at)))
	b := block{make([]float32, n*r.features), make([]float32, n*r.classes), make([]int64, n)}
	for i := range b.features {
		b.features[i] = float32(rng.NormFloat64())
	}
	blas.Current().Sgemm(gonum.NoTrans, gonum.NoTrans, n, r.classes, r.features, 1, b.features, r.features, r.weights, r.classes, 0, b.logits, r.classes)
	for i := range n {
		s := b.logits[i*r.classes:][:r.classes]
		best := math.Inf(-1)
		for c, x := range s {
			if g := float64(x) - math.Log(rng.ExpFloat64()); g > best { // Gumbel noise
				best, b.labels[i] = g, int64(c)
			}
			s[c] = 1.5*x + 0.3*float32(rng.NormFloat64())
		}
	}
	return b
}

// part are rows of a file, under names of their own.
type part struct {
	names [3]string // of features, logits and labels
	rows  int
}

// arrays are those of the parts.
func (r *rows) arrays(parts []part) (out []data.Array) {
	for number, p := range parts {
		types, shapes := [...]string{"<f4", "<f4", "<i8"}, [...][]int{{p.rows, r.features}, {p.rows, r.classes}, {p.rows}}
		for k, name := range p.names {
			out = append(out, data.Array{Name: name, Value: data.Written{Type: types[k], Shape: shapes[k], Write: func(w io.Writer) error {
				return r.write(w, uint64(number), p.rows, k)
			}}})
		}
	}
	return out
}

// write writes the values of one array of a part: its features, logits or labels.
func (r *rows) write(w io.Writer, part uint64, rows, which int) error {
	for at := 0; at < rows; at += blockRows {
		b := r.block(part, at, min(blockRows, rows-at))
		if err := binary.Write(w, binary.LittleEndian, []any{b.features, b.logits, b.labels}[which]); err != nil {
			return err
		}
	}
	return nil
}
