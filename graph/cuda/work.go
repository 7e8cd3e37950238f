package cuda

import (
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// workOf is the multiplications and additions of a run of p.
func workOf(p *graph.Program) (flops float64) {
	for _, s := range p.Steps {
		in := make([]tensor.Shape, len(s.Inputs))
		for i, k := range s.Inputs {
			in[i] = p.Values[k].Shape()
		}
		flops += work(s.Op, p.Values[s.Output].Shape(), in)
	}
	return flops
}

// work is the multiplications and additions of o on inputs of the given shapes: those of
// a product, distance or scatter; one per element of the largest value elsewhere, and
// what the functions of the Dirichlet scores take.
func work(o gorgonia.Op, out tensor.Shape, in []tensor.Shape) float64 {
	largest := out.TotalSize()
	for _, s := range in {
		largest = max(largest, s.TotalSize())
	}
	ours, ok := o.(op.Op)
	if !ok {
		return float64(largest)
	}
	switch k := ours.Kernel.(type) {
	case op.MatMulOp:
		_, depth := oriented(in[0], k.X)
		return 2 * float64(out.TotalSize()) * float64(depth)
	case op.NearestOp:
		return 2 * float64(in[0].TotalSize()) * float64(in[1][0])
	case op.NearestTakenOp:
		return 2 * float64(out.TotalSize()) * float64(in[2].TotalSize())
	case op.TakeOp, op.ScatterTakenOp:
		return float64(out.TotalSize()) // the table is not read whole
	case op.DirichletOp, op.DirichletWithSlopesOp:
		return 70 * float64(in[0].TotalSize())
	case op.DirichletByFormOp, op.DirichletTimesGOp:
		return 95 * float64(in[0].TotalSize())
	}
	return max(float64(largest), networkWork(ours.Kernel, out, in))
}

// networkWork is work of the products of networks and kernels, or 0.
func networkWork(k op.Kernel, out tensor.Shape, in []tensor.Shape) float64 {
	switch k := k.(type) {
	case op.ConvOp:
		return 2 * float64(out.TotalSize()) * float64(in[1][1:].TotalSize())
	case op.ConvInputOp:
		return 2 * float64(in[0].TotalSize()) * float64(in[1][1:].TotalSize())
	case op.ConvKernelOp:
		return 2 * float64(in[1].TotalSize()) * float64(out[1:].TotalSize())
	case op.BlockMatMulOp:
		_, depth := oriented(block(k, in[0]), k.X)
		return 2 * float64(out.TotalSize()) * float64(depth)
	case op.HeadScoresOp:
		return 2 * float64(out.TotalSize()) * float64(in[0][1]/k.Heads)
	case op.HeadMixOp:
		return 2 * float64(out.TotalSize()) * float64(in[0][1])
	case op.HeadMixBackOp:
		return 2 * float64(in[0].TotalSize()) * float64(out[1]/k.Heads)
	case op.GaussianOp:
		return 2 * float64(out.TotalSize()) * float64(in[0][1])
	case op.PullOp:
		return 2 * float64(in[0].TotalSize()) * float64(out[1])
	}
	return 0
}
