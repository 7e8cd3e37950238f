package op

import (
	"sync"

	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Nearest assigns each slot to its nearest codeword (paper, section 3.1):
//
//	s(i) = argmin_k ‖z⁽ⁱ⁾ − c_k‖²,   the first index on ties
//
// from features z (B×M) and a codebook c (K×d) to codes s (B×w), w = M/d.
// Distances are compared as ½‖c_k‖² − z⁽ⁱ⁾·c_k, which orders codewords the same
// way. Codes have no derivative.
func Nearest() Op { return Op{NearestOp{}} }

// NearestOp is the op of [Nearest].
type NearestOp struct{}

func (NearestOp) Signature() []Kind { return []Kind{Matrix, Matrix, Codes} }

func (NearestOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	z, c := in[0], in[1]
	if z[1]%c[1] != 0 {
		return nil, errSlots
	}
	return tensor.Shape{z[0], z[1] / c[1]}, nil
}

func (NearestOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	d := columns(in[1])
	if IsFloat32(in[0]) {
		book := codebooks.Get().(*simd.Codebook)
		words := Values[float32](in[1])
		book.Set(words, len(words)/d, d)
		simd.NearestRows(Values[int32](out), Values[float32](in[0]), book)
		codebooks.Put(book)
	} else {
		assign(Values[int32](out), Values[float64](in[0]), Values[float64](in[1]), d)
	}
}

var codebooks = sync.Pool{New: func() any { return new(simd.Codebook) }}

// assign is the readable form, which float64 runs and float32 is tested against.
func assign[F Float](s []int32, z, c []F, d int) {
	half := make([]F, len(c)/d) // ½‖c_k‖²
	for k := range half {
		ck := c[k*d : (k+1)*d]
		half[k] = dot(ck, ck) / 2
	}
	for i := range s {
		zi := z[i*d : (i+1)*d]
		var best F
		for k := range half {
			if dist := half[k] - dot(zi, c[k*d:(k+1)*d]); k == 0 || dist < best {
				best, s[i] = dist, int32(k)
			}
		}
	}
}

func dot[F Float](x, y []F) F {
	var sum F
	y = y[:len(x)]
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}
