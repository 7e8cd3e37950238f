package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Mass is the codeword mass of each row,
//
//	n_k = Σ_i σ_i² 1[s(i) = k]
//
// from codes s (B×w) and slot scales σ² (w) to a B×K matrix. With it the bilinear
// form of the paper's equation 2 is one matrix product, A = Σ_k n_k a_k b_kᵀ.
func Mass(k int) Op { return Op{MassOp{K: k}} }

// MassOp is the op of [Mass].
type MassOp struct{ K int }

func (MassOp) Signature() []Kind { return []Kind{Codes, Vector, Matrix} }

func (o MassOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], o.K}, nil
}

func (o MassOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s := Values[int32](in[0])
	if IsFloat32(out) {
		sumMass(Values[float32](out), s, Values[float32](in[1]), o.K)
	} else {
		sumMass(Values[float64](out), s, Values[float64](in[1]), o.K)
	}
}

func sumMass[F Float](n []F, s []int32, scale []F, k int) {
	clear(n)
	w := len(scale)
	for b := 0; b < len(n)/k; b++ {
		row := n[b*k : (b+1)*k]
		for i, code := range s[b*w : (b+1)*w] {
			row[code] += scale[i]
		}
	}
}

func (MassOp) WRT() []bool { return []bool{false, true} }

func (MassOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dscale := c.Apply(massGrad(), in[0], g)
	return gorgonia.Nodes{nil, dscale}, c.Err
}

// massGrad is the transpose of Mass: h_i = Σ_b G[b, s(b,i)], from codes (B×w) and
// G (B×K) to one number per slot.
func massGrad() Op { return Op{SlotSumOp{}} }

// SlotSumOp is the op of [SlotSum].
type SlotSumOp struct{}

func (SlotSumOp) Signature() []Kind { return []Kind{Codes, Matrix, Vector} }

func (SlotSumOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][1]}, nil
}

func (SlotSumOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, k := Values[int32](in[0]), columns(in[1])
	if IsFloat32(out) {
		sumSlots(Values[float32](out), s, Values[float32](in[1]), k)
	} else {
		sumSlots(Values[float64](out), s, Values[float64](in[1]), k)
	}
}

func sumSlots[F Float](h []F, s []int32, g []F, k int) {
	clear(h)
	w := len(h)
	for b := 0; b < len(g)/k; b++ {
		for i, code := range s[b*w : (b+1)*w] {
			h[i] += g[b*k+int(code)]
		}
	}
}

func (SlotSumOp) WRT() []bool { return []bool{false, true} }

func (SlotSumOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	dg := c.Apply(Mass(in[1].Shape()[1]), in[0], g)
	return gorgonia.Nodes{nil, dg}, c.Err
}
