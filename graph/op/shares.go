package op

// shareFloor bounds what [Shares] gives away from 0 and 1, and is added to its
// denominator, as in the published Local Nets.
const shareFloor = 1e-6

// Shares divides each row of a non-negative K (B×J) by its sum and clamps:
//
//	w_ij = clamp(K_ij / (Σ_l K_il + ε), ε, 1 − ε) ,  ε = ShareFloor
//
// A clamped share has no gradient.
func Shares() Op { return Op{SharesOp{}} }

// SharesOp is the op of [Shares].
type SharesOp struct{}

func (SharesOp) Form() string                { return AlikeByRow(Matrix, 1) }
func (o SharesOp) Run(out Value, in []Value) { Dispatch(o, out, in, shares, shares) }

func shares[F Float](_ SharesOp, v Args[F]) {
	out, k, c := v.Out(), v.In(0), v.Columns(0)
	inRows(len(k)/c, kernelRows, func(i int) {
		row, w := k[i*c:(i+1)*c], out[i*c:(i+1)*c]
		n := F(total(row) + shareFloor)
		for j, v := range row {
			w[j] = min(max(v/n, shareFloor), 1-shareFloor)
		}
	})
}

func (SharesOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{SharesGradOp{}}.Of(in[0], g)}, nil
}

// SharesGradOp is (h_j − Σ_l h_l K_l/n) / n along each row, with n = Σ_l K_l + ε and
// h = g where the share is not clamped, 0 elsewhere.
type SharesGradOp struct{}

func (SharesGradOp) Form() string { return AlikeByRow(Matrix, 2) }
func (o SharesGradOp) Run(out Value, in []Value) {
	Dispatch(o, out, in, shareGradients, shareGradients)
}

func shareGradients[F Float](_ SharesGradOp, v Args[F]) {
	dk, k, dw, c := v.Out(), v.In(0), v.In(1), v.Columns(0)
	inRows(len(k)/c, kernelRows, func(i int) {
		row, out, g := k[i*c:(i+1)*c], dk[i*c:(i+1)*c], dw[i*c:(i+1)*c]
		n := F(total(row) + shareFloor)
		var mean float64
		for j, v := range row {
			if w := v / n; w > shareFloor && w < 1-shareFloor {
				out[j] = g[j]
				mean += float64(g[j]) * float64(w)
			} else {
				out[j] = 0
			}
		}
		for j := range out {
			out[j] = (out[j] - F(mean)) / n
		}
	})
}
