package op

import (
	"fmt"

	"calibra/graph/work"
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

func (o MassOp) Form() string              { return fmt.Sprintf("int B w, w -> B %d by B", o.K) }
func (o MassOp) Run(out Value, in []Value) { Dispatch(o, out, in, mass, mass) }

func mass[F Float](o MassOp, v Args[F]) {
	n, s, scale, w := v.Out(), v.Ints(0), v.In(1), v.Columns(0)
	clear(n)
	for b := range len(n) / o.K {
		row := n[b*o.K : (b+1)*o.K]
		for i, code := range s[b*w : (b+1)*w] {
			row[code] += scale[i]
		}
	}
}

func (MassOp) Grad(in Nodes, _, g *Node) Nodes { return Nodes{nil, Op{SlotSumOp{}}.Of(in[0], g)} }

// SlotSumOp is the transpose of [Mass]: h_i = Σ_b G[b, s(b,i)], from codes (B×w) and
// G (B×K) to one number per slot.
type SlotSumOp struct{}

func (SlotSumOp) Form() string                { return "int B w, B K -> w" }
func (o SlotSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, sumSlots, sumSlots) }

func sumSlots[F Float](_ SlotSumOp, v Args[F]) {
	h, s, g, k := v.Out(), v.Ints(0), v.In(1), v.Columns(1)
	clear(h)
	w := len(h)
	for b := range len(g) / k {
		for i, code := range s[b*w : (b+1)*w] {
			h[i] += g[b*k+int(code)]
		}
	}
}

func (SlotSumOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{nil, Mass(in[1].Shape()[1]).Of(in[0], g)}
}

// ShareMass is [Mass] of slots that share themselves out among codewords,
//
//	n_k = Σ_i σ_i² Σ_j e_ij 1[s_j(i) = k]
//
// from codes s and shares e (B×p each, p/w for each of w slots) and slot scales σ² (w) to B×K.
func ShareMass(k int) Op { return Op{ShareMassOp{k}} }

// ShareMassOp is the op of [ShareMass].
type ShareMassOp struct{ K int }

func (o ShareMassOp) Form() string              { return fmt.Sprintf("int B p, B p, w -> B %d where p/w", o.K) }
func (o ShareMassOp) Run(out Value, in []Value) { Dispatch(o, out, in, shareMass, shareMass) }

func shareMass[F Float](o ShareMassOp, v Args[F]) {
	n, e, scale, p := v.Out(), v.In(1), v.In(2), v.Columns(0)
	clear(n)
	each := p / len(scale)
	for at, code := range v.Ints(0) {
		n[at/p*o.K+int(code)] += scale[at%p/each] * e[at]
	}
}

func (ShareMassOp) WRT() []bool { return []bool{false, false, true} }

func (o ShareMassOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{nil, nil, Op{ShareSlotSumOp{in[2].Shape()[0]}}.Of(in[0], in[1], g)}
}

// ShareSlotSumOp is the transpose of [ShareMass]: h_i = Σ_b Σ_j e_ij G[b, s_j(i)].
type ShareSlotSumOp struct{ Slots int }

func (o ShareSlotSumOp) Form() string {
	return fmt.Sprintf("int B p, B p, B K -> %[1]d where p/%[1]d", o.Slots)
}
func (o ShareSlotSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, shareSlotSum, shareSlotSum) }

func shareSlotSum[F Float](_ ShareSlotSumOp, v Args[F]) {
	h, e, g, p, k := v.Out(), v.In(1), v.In(2), v.Columns(0), v.Columns(2)
	clear(h)
	each := p / len(h)
	for at, code := range v.Ints(0) {
		h[at%p/each] += e[at] * g[at/p*k+int(code)]
	}
}

func (ShareSlotSumOp) WRT() []bool { return []bool{false, false, true} }

func (o ShareSlotSumOp) Grad(in Nodes, _, g *Node) Nodes {
	return Nodes{nil, nil, ShareMass(in[2].Shape()[1]).Of(in[0], in[1], g)}
}

// WordSum is the sum of codewords c (R×d) by shares e, for each of w slots:
//
//	q⁽ⁱ⁾ = Σ_j e_ij c_s_j(i)
//
// from c, codes s and shares e (B×p each) to B×(w·d): [Gather] of more than one codeword. It has
// no derivative.
func WordSum(w int) Op { return Op{WordSumOp{w}} }

// WordSumOp is the op of [WordSum].
type WordSumOp struct{ Slots int }

func (o WordSumOp) Form() string {
	return fmt.Sprintf("R d, int B p, B p -> B %[1]d*d where p/%[1]d", o.Slots)
}
func (o WordSumOp) Run(out Value, in []Value) { Dispatch(o, out, in, wordSum, wordSum) }

func wordSum[F Float](o WordSumOp, v Args[F]) {
	q, c, s, e, each, d := v.Out(), v.In(0), v.Ints(1), v.In(2), v.Columns(1)/o.Slots, v.Columns(0)
	work.Ranges(len(s)/each, rowBlock, func(lo, hi int) { // slot by slot
		clear(q[lo*d : hi*d])
		for at := lo * each; at < hi*each; at++ {
			slot := q[at/each*d:][:d]
			for j, v := range c[int(s[at])*d:][:d] {
				slot[j] += e[at] * v
			}
		}
	})
}
