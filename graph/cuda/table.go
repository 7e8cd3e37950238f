package cuda

import (
	"reflect"

	"calibra/graph/op"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Operand is a value on a device: float32 or int32 elements, row by row.
type Operand struct {
	Memory
	Shape tensor.Shape // empty for a scalar
}

// Size is the number of elements.
func (o Operand) Size() int { return o.Shape.TotalSize() }

func (o Operand) columns() int { return o.Shape[len(o.Shape)-1] }

// row is how a device runs the ops of one kind.
type row struct {
	of      reflect.Type
	enqueue func(d *Device, o op.Kernel, out Operand, in []Operand)
}

func on[K op.Kernel](enqueue func(d *Device, o K, out Operand, in []Operand)) row {
	return row{reflect.TypeFor[K](), func(d *Device, o op.Kernel, out Operand, in []Operand) { enqueue(d, o.(K), out, in) }}
}

// table has a row for each kind of op that devices run. An op without one is run by this
// process (see program).
var table = func() map[reflect.Type]row {
	all := map[reflect.Type]row{}
	for _, list := range [][]row{rows, networkRows, neighbourRows} {
		for _, r := range list {
			all[r.of] = r
		}
	}
	return all
}()

// Has tells whether devices run o: it has a row, or it is Gorgonia's sum.
func Has(o gorgonia.Op) bool {
	ours, is := o.(op.Op)
	if !is {
		return op.IsSum(o)
	}
	_, has := table[reflect.TypeOf(ours.Kernel)]
	return has
}

// Enqueue runs o, which has a row, on d.
func (d *Device) Enqueue(o gorgonia.Op, out Operand, in []Operand) {
	ours, is := o.(op.Op)
	if !is {
		d.Combine(Plus, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), 0, 0)
		return
	}
	table[reflect.TypeOf(ours.Kernel)].enqueue(d, ours.Kernel, out, in)
}

// oriented is the rows and columns of a factor of a product.
func oriented(s tensor.Shape, t blas.Transpose) (rows, cols int) {
	if t == blas.Trans {
		return s[1], s[0]
	}
	return s[0], s[1]
}

// orientation is that of a product whose factors are not both transposed.
func orientation(x, y blas.Transpose) Orientation {
	switch {
	case x == blas.Trans:
		return XtY
	case y == blas.Trans:
		return XYt
	}
	return XY
}

// maps are the functions of [op.ElementwiseOp].
var maps = map[string]Map{
	"softplus": Softplus, "sigmoid": Sigmoid, "exp": Exp, "lgamma": Lgamma,
	"digamma": Digamma, "trigamma": Trigamma, "y(1-y)": LogisticSlope,
}

// combine takes in[1] again and again for all of in[0].
func combine(d *Device, f Combination, out Operand, in []Operand) {
	d.Combine(f, out.Memory, in[0].Memory, in[1].Memory, out.Size(), in[1].Size(), 0, 0)
}

var rows = []row{
	on(func(d *Device, _ op.NearestOp, out Operand, in []Operand) {
		d.Nearest(out.Memory, in[0].Memory, Memory{}, in[1].Memory, out.Shape[0], out.Shape[1], in[1].Shape[1], in[1].Shape[0])
	}),
	on(func(d *Device, _ op.NearestTakenOp, out Operand, in []Operand) {
		d.Nearest(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, out.Shape[0], out.Shape[1], in[2].Shape[1], in[2].Shape[0])
	}),
	on(func(d *Device, _ op.ScatterAddOp, out Operand, in []Operand) {
		s := in[0].Shape
		d.ScatterAdd(out.Memory, in[0].Memory, in[1].Memory, Memory{}, s[0], s[1], out.Shape[1], out.Shape[0])
	}),
	on(func(d *Device, _ op.ScatterTakenOp, out Operand, in []Operand) {
		s := in[0].Shape
		d.ScatterAdd(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, s[0], s[1], out.Shape[1], out.Shape[0])
	}),
	on(func(d *Device, _ op.CountOp, out Operand, in []Operand) {
		d.Count(out.Memory, in[0].Memory, in[0].Size(), out.Size())
	}),
	on(func(d *Device, o op.BlendOp, out Operand, in []Operand) {
		d.Combine(Blend, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), float32(o.Decay), float32(1-o.Decay))
	}),
	on(func(d *Device, o op.NormalizeOp, out Operand, in []Operand) {
		d.Normalize(out.Memory, in[0].Memory, in[1].Memory, float32(o.Eps), out.Shape[1], out.Shape[0])
	}),
	on(func(d *Device, _ op.TakeOp, out Operand, in []Operand) {
		b := in[1].Size()
		d.Take(out.Memory, in[0].Memory, in[1].Memory, b, out.Size()/b)
	}),
	on(func(d *Device, _ op.GatherOp, out Operand, in []Operand) {
		d.Take(out.Memory, in[0].Memory, in[1].Memory, in[1].Size(), in[0].columns())
	}),
	on(func(d *Device, o op.MassOp, out Operand, in []Operand) {
		d.Mass(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].Shape[1], o.K)
	}),
	on(func(d *Device, _ op.SlotSumOp, out Operand, in []Operand) {
		d.SlotSum(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].Shape[1], in[1].columns())
	}),
	on(func(d *Device, _ op.TableSumOp, out Operand, in []Operand) {
		w := in[1].columns()
		d.TableSum(out.Memory, in[0].Memory, in[1].Memory, in[1].Shape[0], w, in[0].Shape[0]/w, in[0].columns())
	}),
	on(func(d *Device, o op.TableScatterOp, out Operand, in []Operand) {
		d.TableScatter(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].columns(), o.K, out.columns())
	}),
	on(func(d *Device, o op.MatMulOp, out Operand, in []Operand) {
		m, k := oriented(in[0].Shape, o.X)
		d.Product(orientation(o.X, o.Y), out.Memory, in[0].Memory, in[1].Memory, m, out.columns(), k)
	}),
	on(func(d *Device, _ op.OuterOp, out Operand, in []Operand) {
		d.Outer(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].columns(), in[1].columns())
	}),
	on(func(d *Device, _ op.OuterLeftOp, out Operand, in []Operand) {
		d.outerSides(out.Memory, Memory{}, in[0].Memory, Memory{}, in[1].Memory, out.Shape[0], out.columns(), in[1].columns())
	}),
	on(func(d *Device, _ op.OuterRightOp, out Operand, in []Operand) {
		d.outerSides(Memory{}, out.Memory, in[0].Memory, in[1].Memory, Memory{}, out.Shape[0], in[1].columns(), out.columns())
	}),
	on(func(d *Device, o op.DirichletOp, out Operand, in []Operand) {
		d.DirichletScores(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns(), float32(o.Delta))
	}),
	on(func(d *Device, _ op.DirichletByFormOp, out Operand, in []Operand) {
		d.dirichletByForm(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[1].Shape[0], in[1].columns())
	}),
	on(func(d *Device, o op.DirichletByInputOp, out Operand, in []Operand) {
		d.dirichletByInput(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns(), float32(o.Delta))
	}),
	on(func(d *Device, _ op.LogSoftmaxOp, out Operand, in []Operand) {
		d.LogSoftmax(out.Memory, in[0].Memory, out.Size()/out.columns(), out.columns())
	}),
	on(func(d *Device, _ op.LogSoftmaxGradOp, out Operand, in []Operand) {
		d.logSoftmaxGrad(out.Memory, in[0].Memory, in[1].Memory, out.Size()/out.columns(), out.columns())
	}),
	on(func(d *Device, _ op.NLLOp, out Operand, in []Operand) {
		d.NLL(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].columns())
	}),
	on(func(d *Device, _ op.NLLGradOp, out Operand, in []Operand) {
		d.nllGrad(out.Memory, in[1].Memory, in[2].Memory, out.Shape[0], out.columns())
	}),
	on(func(d *Device, o op.ElementwiseOp, out Operand, in []Operand) {
		d.Map(maps[o.F], out.Memory, in[0].Memory, out.Size(), 0)
	}),
	on(func(d *Device, _ op.ReLUOp, out Operand, in []Operand) {
		d.Map(ReLU, out.Memory, in[0].Memory, out.Size(), 0)
	}),
	on(func(d *Device, _ op.ReLUGradOp, out Operand, in []Operand) {
		d.Combine(PassAbove, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), 0, 0)
	}),
	on(func(d *Device, o op.ScaleOp, out Operand, in []Operand) {
		d.Map(Scaled, out.Memory, in[0].Memory, out.Size(), float32(o.C))
	}),
	on(func(d *Device, o op.FlooredLogOp, out Operand, in []Operand) {
		d.Map(FlooredLog, out.Memory, in[0].Memory, out.Size(), float32(o.Floor))
	}),
	on(func(d *Device, o op.FlooredLogGradOp, out Operand, in []Operand) {
		d.Combine(DivideAbove, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), float32(o.Floor), 0)
	}),
	on(func(d *Device, _ op.PlusOp, out Operand, in []Operand) {
		combine(d, Plus, out, in)
	}),
	on(func(d *Device, _ op.TimesOp, out Operand, in []Operand) {
		combine(d, Times, out, in)
	}),
	on(func(d *Device, _ op.AddRowOp, out Operand, in []Operand) {
		combine(d, Plus, out, in)
	}),
	on(func(d *Device, _ op.TimesRowOp, out Operand, in []Operand) {
		combine(d, Times, out, in)
	}),
	on(func(d *Device, _ op.StretchOp, out Operand, in []Operand) {
		combine(d, Times, out, in)
	}),
	on(func(d *Device, _ op.SumRowsOp, out Operand, in []Operand) {
		d.SumRows(out.Memory, in[0].Memory, in[0].Shape[0], in[0].columns())
	}),
	on(func(d *Device, _ op.RepeatedRowOp, out Operand, in []Operand) {
		d.Repeat(out.Memory, in[0].Memory, out.Size(), in[0].Size())
	}),
	on(func(d *Device, _ op.SpreadOp, out Operand, in []Operand) {
		d.Repeat(out.Memory, in[0].Memory, out.Size(), 1)
	}),
	on(func(d *Device, _ op.FillOp, out Operand, in []Operand) {
		d.Repeat(out.Memory, in[1].Memory, out.Size(), 1)
	}),
	on(func(d *Device, _ op.SumOp, out Operand, in []Operand) {
		d.Sum(out.Memory, in[0].Memory, Memory{}, in[0].Size())
	}),
	on(func(d *Device, _ op.GatheredOp, out Operand, in []Operand) {
		d.Sum(out.Memory, in[0].Memory, Memory{}, in[0].Size())
	}),
	on(func(d *Device, _ op.InnerOp, out Operand, in []Operand) {
		d.Sum(out.Memory, in[0].Memory, in[1].Memory, in[0].Size())
	}),
	on(func(d *Device, o op.DirichletWithSlopesOp, out Operand, in []Operand) { // each by itself
		d.DirichletScores(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns(), float32(o.Delta))
	}),
	on(func(d *Device, _ op.DirichletTimesGOp, out Operand, in []Operand) {
		d.dirichletByForm(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[1].Shape[0], in[1].columns())
	}),
}
