package op

// ReGLU is a ⊙ ReLU(b) of the halves [a, b] of each row of X (B×2H): B×H (Shazeer
// 2020).
func ReGLU() Op { return Op{ReGLUOp{}} }

// ReGLUOp is the op of [ReGLU].
type ReGLUOp struct{}

func (ReGLUOp) Form() string                { return "B G -> B G/2" }
func (o ReGLUOp) Run(out Value, in []Value) { Dispatch(o, out, in, gate, gate) }

func gate[F Float](_ ReGLUOp, v Args[F]) {
	out, x, h := v.Out(), v.In(0), v.Columns(0)/2
	inRows(len(out)/h, rowBlock, func(i int) {
		dst, a, b := out[i*h:(i+1)*h], x[2*i*h:(2*i+1)*h], x[(2*i+1)*h:(2*i+2)*h]
		for j, v := range a {
			dst[j] = v * max(b[j], 0)
		}
	})
}

func (ReGLUOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{ReGLUGradOp{}}.Of(in[0], g)}, nil
}

// ReGLUGradOp is [g ReLU(b), g a where b > 0], from X and G.
type ReGLUGradOp struct{}

func (ReGLUGradOp) Form() string                { return "B H+H, B H -> B H+H" }
func (o ReGLUGradOp) Run(out Value, in []Value) { Dispatch(o, out, in, gateGradients, gateGradients) }

func gateGradients[F Float](_ ReGLUGradOp, v Args[F]) {
	out, x, g, h := v.Out(), v.In(0), v.In(1), v.Columns(1)
	inRows(len(g)/h, rowBlock, func(i int) {
		a, b := x[2*i*h:(2*i+1)*h], x[(2*i+1)*h:(2*i+2)*h]
		da, db := out[2*i*h:(2*i+1)*h], out[(2*i+1)*h:(2*i+2)*h]
		for j, v := range g[i*h : (i+1)*h] {
			da[j], db[j] = 0, 0
			if b[j] > 0 {
				da[j], db[j] = v*b[j], v*a[j]
			}
		}
	})
}
