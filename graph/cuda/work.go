package cuda

import (
	"reflect"

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
		flops += effort(s.Op, p.Values[s.Output].Shape(), in)
	}
	return flops
}

// works are the multiplications and additions of products, distances and scatters, and what the
// functions of the Dirichlet scores take, in the words of the table.
var works = map[reflect.Type]string{
	reflect.TypeFor[op.MatMulOp]():                "2*size*k",
	reflect.TypeFor[op.NearestOp]():               "2*B*M*K",
	reflect.TypeFor[op.NearestTakenOp]():          "2*B*M*K",
	reflect.TypeFor[op.NearestInOp]():             "2*B*M*.To-2*B*M*.From",
	reflect.TypeFor[op.TakeOp]():                  "size", // the table is not read whole
	reflect.TypeFor[op.ScatterTakenOp]():          "size",
	reflect.TypeFor[op.DirichletOp]():             "70*size0",
	reflect.TypeFor[op.DirichletWithGradientOp](): "70*size0",
	reflect.TypeFor[op.DirichletByFormOp]():       "95*size0",
	reflect.TypeFor[op.DirichletTimesGOp]():       "95*size0",
	reflect.TypeFor[op.ConvOp]():                  "2*size*size1/rows1",
	reflect.TypeFor[op.ConvInputOp]():             "2*size0*size1/rows1",
	reflect.TypeFor[op.ConvKernelOp]():            "2*size1*size/rows",
	reflect.TypeFor[op.HeadScoresOp]():            "2*size*columns0/.Heads",
	reflect.TypeFor[op.HeadMixOp]():               "2*size*columns0",
	reflect.TypeFor[op.HeadMixBackOp]():           "2*size0*columns/.Heads",
	reflect.TypeFor[op.GaussianOp]():              "2*size*d",
	reflect.TypeFor[op.PullOp]():                  "2*size0*columns",
}

// effort is the multiplications and additions of o on inputs of the given shapes; where works does
// not have them, one per element of the largest value.
func effort(o gorgonia.Op, out tensor.Shape, in []tensor.Shape) float64 {
	largest := out.TotalSize()
	operands := make([]operand, len(in))
	for i, s := range in {
		largest = max(largest, s.TotalSize())
		operands[i].Shape = s
	}
	ours, ok := o.(op.Op)
	if !ok {
		return float64(largest)
	}
	if k, is := ours.Kernel.(op.BlockMatMulOp); is {
		_, depth := oriented(block(k, in[0]), k.X)
		return max(float64(largest), 2*float64(out.TotalSize())*float64(depth))
	}
	words, ok := works[reflect.TypeOf(ours.Kernel)]
	if !ok {
		return float64(largest)
	}
	n, _ := newCall(ours.Kernel, operand{Shape: out}, operands).lengths.Of(words)
	return float64(n)
}
