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
func Mass(k int) Op { return Op{mass{K: k}} }

type mass struct{ K int }

func (mass) signature() []kind { return []kind{codes, vector, matrix} }

func (o mass) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][1] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], o.K}, nil
}

func (o mass) run(out gorgonia.Value, in []gorgonia.Value) {
	s := values[int32](in[0])
	if isFloat32(out) {
		sumMass(values[float32](out), s, values[float32](in[1]), o.K)
	} else {
		sumMass(values[float64](out), s, values[float64](in[1]), o.K)
	}
}

func sumMass[F float](n []F, s []int32, scale []F, k int) {
	clear(n)
	w := len(scale)
	for b := 0; b < len(n)/k; b++ {
		row := n[b*k : (b+1)*k]
		for i, code := range s[b*w : (b+1)*w] {
			row[code] += scale[i]
		}
	}
}

func (mass) wrt() []bool { return []bool{false, true} }

func (mass) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dscale := c.apply(massGrad(), in[0], g)
	return gorgonia.Nodes{nil, dscale}, c.err
}

// massGrad is the transpose of Mass: h_i = Σ_b G[b, s(b,i)], from codes (B×w) and
// G (B×K) to one number per slot.
func massGrad() Op { return Op{slotSum{}} }

type slotSum struct{}

func (slotSum) signature() []kind { return []kind{codes, matrix, vector} }

func (slotSum) shape(in []tensor.Shape) (tensor.Shape, error) {
	if in[0][0] != in[1][0] {
		return nil, errShapes
	}
	return tensor.Shape{in[0][1]}, nil
}

func (slotSum) run(out gorgonia.Value, in []gorgonia.Value) {
	s, k := values[int32](in[0]), columns(in[1])
	if isFloat32(out) {
		sumSlots(values[float32](out), s, values[float32](in[1]), k)
	} else {
		sumSlots(values[float64](out), s, values[float64](in[1]), k)
	}
}

func sumSlots[F float](h []F, s []int32, g []F, k int) {
	clear(h)
	w := len(h)
	for b := 0; b < len(g)/k; b++ {
		for i, code := range s[b*w : (b+1)*w] {
			h[i] += g[b*k+int(code)]
		}
	}
}

func (slotSum) wrt() []bool { return []bool{false, true} }

func (slotSum) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	dg := c.apply(Mass(in[1].Shape()[1]), in[0], g)
	return gorgonia.Nodes{nil, dg}, c.err
}
