package op

import (
	"math"
	"sync"

	"calibra/graph/simd"
)

// Nearest assigns each slot to its nearest codeword (paper, section 3.1):
//
//	s(i) = argmin_k ‖z⁽ⁱ⁾ − c_k‖²,   the first index on ties
//
// from features z (B×M) and a codebook c (K×d) to codes s (B×w), w = M/d.
// Distances are those of differences in float64: ½‖c_k‖² − z⁽ⁱ⁾·c_k cancels where slots and
// codewords lie farther from 0 than from each other. Codes have no derivative.
func Nearest() Op { return Op{NearestOp{}} }

// NearestOp is the op of [Nearest].
type NearestOp struct{}

func (NearestOp) Form() string                { return "B M, K d -> int B M/d" }
func (o NearestOp) Run(out Value, in []Value) { Dispatch(o, out, in, nearest32, nearest64) }

func nearest32(_ NearestOp, v Args[float32]) {
	book := codebookOf(v.In(1), v.Columns(1))
	simd.NearestRows(v.OutInts(), v.In(0), book)
	codebooks.Put(book)
}

func nearest64(_ NearestOp, v Args[float64]) { assign(v.OutInts(), v.In(0), v.In(1), v.Columns(1)) }

var codebooks = sync.Pool{New: func() any { return new(simd.Codebook) }}

// codebookOf is the codewords as package simd has them, in memory of codebooks.
func codebookOf(words []float32, d int) *simd.Codebook {
	book := codebooks.Get().(*simd.Codebook)
	book.Set(words, len(words)/d, d)
	return book
}

// assign is the readable form, which float64 runs and float32 is tested against.
func assign[F Float](s []int32, z, c []F, d int) {
	for i := range s {
		best := math.Inf(1)
		s[i] = 0
		for k := range len(c) / d {
			if dist := apart(z[i*d:(i+1)*d], c[k*d:(k+1)*d]); dist < best {
				best, s[i] = dist, int32(k)
			}
		}
	}
}

// apart is ‖x − y‖² in float64.
func apart[F Float](x, y []F) (sum float64) {
	for j, v := range y {
		e := float64(x[j]) - float64(v)
		sum += e * e
	}
	return sum
}
