package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ShareMass is [Mass] of slots that share themselves out among codewords,
//
//	n_k = Σ_i σ_i² Σ_j e_ij 1[s_j(i) = k]
//
// from codes s and shares e (B×p each, p/w for each of w slots) and slot scales σ² (w) to B×K.
func ShareMass(k int) Op { return Op{ShareMassOp{k}} }

// ShareMassOp is the op of [ShareMass].
type ShareMassOp struct{ K int }

func (ShareMassOp) Signature() []Kind { return []Kind{Codes, Matrix, Vector, Matrix} }

func (o ShareMassOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !in[0].Eq(in[1]) || in[0][1]%in[2][0] != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[0][0], o.K}, nil
}

func (o ShareMassOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s := Values[int32](in[0])
	if IsFloat32(out) {
		sumShareMass(Values[float32](out), s, Values[float32](in[1]), Values[float32](in[2]), columns(in[0]), o.K)
	} else {
		sumShareMass(Values[float64](out), s, Values[float64](in[1]), Values[float64](in[2]), columns(in[0]), o.K)
	}
}

func sumShareMass[F Float](n []F, s []int32, e, scale []F, p, k int) {
	clear(n)
	each := p / len(scale)
	for at, code := range s {
		n[at/p*k+int(code)] += scale[at%p/each] * e[at]
	}
}

func (ShareMassOp) WRT() []bool { return []bool{false, false, true} }

func (o ShareMassOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{nil, nil, c.Apply(Op{ShareSlotSumOp{in[2].Shape()[0]}}, in[0], in[1], g)}, c.Err
}

// ShareSlotSumOp is the transpose of [ShareMass]: h_i = Σ_b Σ_j e_ij G[b, s_j(i)].
type ShareSlotSumOp struct{ Slots int }

func (ShareSlotSumOp) Signature() []Kind { return []Kind{Codes, Matrix, Matrix, Vector} }

func (o ShareSlotSumOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !in[0].Eq(in[1]) || in[0][0] != in[2][0] || in[0][1]%o.Slots != 0 {
		return nil, errShapes
	}
	return tensor.Shape{o.Slots}, nil
}

func (o ShareSlotSumOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, p, k := Values[int32](in[0]), columns(in[0]), columns(in[2])
	if IsFloat32(out) {
		sumShareSlots(Values[float32](out), s, Values[float32](in[1]), Values[float32](in[2]), p, k)
	} else {
		sumShareSlots(Values[float64](out), s, Values[float64](in[1]), Values[float64](in[2]), p, k)
	}
}

func sumShareSlots[F Float](h []F, s []int32, e, g []F, p, k int) {
	clear(h)
	each := p / len(h)
	for at, code := range s {
		h[at%p/each] += e[at] * g[at/p*k+int(code)]
	}
}

func (ShareSlotSumOp) WRT() []bool { return []bool{false, false, true} }

func (o ShareSlotSumOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	return gorgonia.Nodes{nil, nil, c.Apply(ShareMass(in[2].Shape()[1]), in[0], in[1], g)}, c.Err
}

// WordSum is what shares e of codewords c (R×d) make of each of w slots,
//
//	q⁽ⁱ⁾ = Σ_j e_ij c_s_j(i)
//
// from c, codes s and shares e (B×p each) to B×(w·d): [Gather] of more than one codeword. It has
// no derivative.
func WordSum(w int) Op { return Op{WordSumOp{w}} }

// WordSumOp is the op of [WordSum].
type WordSumOp struct{ Slots int }

func (WordSumOp) Signature() []Kind { return []Kind{Matrix, Codes, Matrix, Matrix} }

func (o WordSumOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	if !in[1].Eq(in[2]) || in[1][1]%o.Slots != 0 {
		return nil, errShapes
	}
	return tensor.Shape{in[1][0], o.Slots * in[0][1]}, nil
}

func (o WordSumOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	s, each, d := Values[int32](in[1]), columns(in[1])/o.Slots, columns(in[0])
	if IsFloat32(out) {
		sumWords(Values[float32](out), Values[float32](in[0]), s, Values[float32](in[2]), each, d)
	} else {
		sumWords(Values[float64](out), Values[float64](in[0]), s, Values[float64](in[2]), each, d)
	}
}

func sumWords[F Float](q, c []F, s []int32, e []F, each, d int) {
	rowwise(len(s)/each, func(lo, hi int) { // slot by slot
		clear(q[lo*d : hi*d])
		for at := lo * each; at < hi*each; at++ {
			slot := q[at/each*d:][:d]
			for j, v := range c[int(s[at])*d:][:d] {
				slot[j] += e[at] * v
			}
		}
	})
}
