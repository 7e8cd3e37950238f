package op

import "fmt"

// Dropout sets each element of X (B×H) to 0 with probability rate and divides the
// others by 1 − rate (Srivastava et al. 2014). Which, is a hash of the seed, the
// step number t (1) and the element's place: no state, no clock, the same mask for
// the value and its gradient. Whoever builds the graph lets t grow from step to
// step.
func Dropout(rate float64, seed uint64) Op {
	if !(rate >= 0 && rate < 1) {
		panic(fmt.Sprintf("op: a dropout rate of %v is not in [0, 1)", rate))
	}
	return Op{DropoutOp{rate, seed}}
}

// DropoutOp is the op of [Dropout].
type DropoutOp struct {
	Rate float64
	Seed uint64
}

func (DropoutOp) Form() string                { return "B H, 1 -> B H" }
func (o DropoutOp) Run(out Value, in []Value) { Dispatch(o, out, in, drop, drop) }

func drop[F Float](o DropoutOp, v Args[F]) {
	out, x, t := v.Out(), v.In(0), uint64(v.In(1)[0])
	key, keep := mix(o.Seed+mix(t)), F(1/(1-o.Rate))
	threshold := uint64(o.Rate * (1 << 53))
	chunks(len(x), func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if mix(key+uint64(i))>>11 < threshold {
				out[i] = 0
			} else {
				out[i] = keep * x[i]
			}
		}
	})
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood 2014) after one step
// of its Weyl sequence.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (DropoutOp) WRT() []bool { return []bool{true, false} }

func (o DropoutOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{o}.Of(g, in[1]), nil}, nil
}
