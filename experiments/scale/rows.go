package main

import (
	"archive/zip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
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
	simd.Sgemm(blas.NoTrans, blas.NoTrans, n, r.classes, r.features, 1, b.features, r.features, r.weights, r.classes, 0, b.logits, r.classes)
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

// writer writes the parts as an npz file.
func (r *rows) writer(parts []part) func(io.Writer) error {
	return func(to io.Writer) error {
		z := zip.NewWriter(to)
		for number, p := range parts {
			for k, name := range p.names {
				w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
				if err != nil {
					return err
				}
				if err := r.array(w, uint64(number), p.rows, k); err != nil {
					return err
				}
			}
		}
		return z.Close()
	}
}

// array writes one array of a part: its features, logits or labels.
func (r *rows) array(w io.Writer, part uint64, rows, which int) error {
	if _, err := w.Write(npyHeader(rows, []int{r.features, r.classes, 0}[which])); err != nil {
		return err
	}
	for at := 0; at < rows; at += blockRows {
		b := r.block(part, at, min(blockRows, rows-at))
		if err := binary.Write(w, binary.LittleEndian, []any{b.features, b.logits, b.labels}[which]); err != nil {
			return err
		}
	}
	return nil
}

// npyHeader is that of n rows of width float32, or of n int64 where width is 0.
func npyHeader(n, width int) []byte {
	kind, shape := "<f4", fmt.Sprintf("(%d, %d)", n, width)
	if width == 0 {
		kind, shape = "<i8", fmt.Sprintf("(%d,)", n)
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", kind, shape)
	const before, align = 10, 64 // the magic, the version and the length come first
	text += strings.Repeat(" ", align-(before+len(text)+1)%align) + "\n"
	return append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text))), text...)
}
