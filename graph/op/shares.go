package op

import (
	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ShareFloor bounds what [Shares] gives away from 0 and 1, and is added to its
// denominator, as in the published Local Nets.
const ShareFloor = 1e-6

// Shares divides each row of a non-negative K (B×J) by its sum and clamps:
//
//	w_ij = clamp(K_ij / (Σ_l K_il + ε), ε, 1 − ε) ,  ε = ShareFloor
//
// A clamped share has no gradient.
func Shares() Op { return Op{SharesOp{}} }

// SharesOp is the op of [Shares].
type SharesOp struct{}

func (SharesOp) Signature() []Kind { return []Kind{Matrix, Matrix} }

func (SharesOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return in[0].Clone(), nil }

func (SharesOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	c := columns(out)
	if IsFloat32(out) {
		shareRows(Values[float32](out), Values[float32](in[0]), c)
	} else {
		shareRows(Values[float64](out), Values[float64](in[0]), c)
	}
}

func shareRows[F Float](w, k []F, c int) {
	simd.Run((len(k)/c+kernelRows-1)/kernelRows, &sharing[F]{w, k, c})
}

type sharing[F Float] struct {
	w, k []F
	c    int
}

func (s *sharing[F]) Block(block int) {
	c := s.c
	for i := block * kernelRows * c; i < min((block+1)*kernelRows*c, len(s.k)); i += c {
		n := F(total(s.k[i:i+c]) + ShareFloor)
		w := s.w[i : i+c]
		for j, v := range s.k[i : i+c] {
			w[j] = min(max(v/n, ShareFloor), 1-ShareFloor)
		}
	}
}

func (SharesOp) WRT() []bool { return []bool{true} }

func (SharesOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{c.Apply(Op{SharesGradOp{}}, in[0], g)}, c.Err
}

// SharesGradOp is (h_j − Σ_l h_l K_l/n) / n along each row, with n = Σ_l K_l + ε and
// h = g where the share is not clamped, 0 elsewhere.
type SharesGradOp struct{}

func (SharesGradOp) Signature() []Kind { return []Kind{Matrix, Matrix, Matrix} }

func (SharesGradOp) Shape(in []tensor.Shape) (tensor.Shape, error) { return SameShape(in) }

func (SharesGradOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	c := columns(out)
	if IsFloat32(out) {
		shareSlopes(Values[float32](out), Values[float32](in[0]), Values[float32](in[1]), c)
	} else {
		shareSlopes(Values[float64](out), Values[float64](in[0]), Values[float64](in[1]), c)
	}
}

func shareSlopes[F Float](out, k, g []F, c int) {
	simd.Run((len(k)/c+kernelRows-1)/kernelRows, &shareSloping[F]{out, k, g, c})
}

type shareSloping[F Float] struct {
	out, k, g []F
	c         int
}

func (s *shareSloping[F]) Block(block int) {
	c := s.c
	for i := block * kernelRows * c; i < min((block+1)*kernelRows*c, len(s.k)); i += c {
		n := F(total(s.k[i:i+c]) + ShareFloor)
		out, g := s.out[i:i+c], s.g[i:i+c]
		var mean float64
		for j, v := range s.k[i : i+c] {
			if w := v / n; w > ShareFloor && w < 1-ShareFloor {
				out[j] = g[j]
				mean += float64(g[j]) * float64(w)
			} else {
				out[j] = 0
			}
		}
		for j := range out {
			out[j] = (out[j] - F(mean)) / n
		}
	}
}
