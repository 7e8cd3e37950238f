package op

import (
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
func Nearest() Op { return Op{nearest{}} }

type nearest struct{}

func (nearest) signature() []kind { return []kind{matrix, matrix, codes} }

func (nearest) shape(in []tensor.Shape) (tensor.Shape, error) {
	z, c := in[0], in[1]
	if z[1]%c[1] != 0 {
		return nil, errSlots
	}
	return tensor.Shape{z[0], z[1] / c[1]}, nil
}

func (nearest) run(out gorgonia.Value, in []gorgonia.Value) {
	d := columns(in[1])
	if isFloat32(in[0]) {
		assign(values[int32](out), values[float32](in[0]), values[float32](in[1]), d)
	} else {
		assign(values[int32](out), values[float64](in[0]), values[float64](in[1]), d)
	}
}

func assign[F float](s []int32, z, c []F, d int) {
	k := len(c) / d
	half := make([]F, k) // ½‖c_k‖²
	for j := range half {
		for _, x := range c[j*d : (j+1)*d] {
			half[j] += x * x / 2
		}
	}
	parallel(len(s), 1+4096/k, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			zi := z[i*d : (i+1)*d]
			first, best := 0, half[0]-dot(zi, c[:d])
			for j := 1; j < k; j++ {
				if dist := half[j] - dot(zi, c[j*d:(j+1)*d]); dist < best {
					first, best = j, dist
				}
			}
			s[i] = int32(first)
		}
	})
}

func dot[F float](x, y []F) F {
	var sum F
	y = y[:len(x)]
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}
