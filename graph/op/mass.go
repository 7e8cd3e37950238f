package op

import "fmt"

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

func (MassOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{nil, Op{SlotSumOp{}}.Of(in[0], g)}, nil
}

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

func (SlotSumOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{nil, Mass(in[1].Shape()[1]).Of(in[0], g)}, nil
}
