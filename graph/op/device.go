package op

import (
	"calibra/graph/cuda"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Operand is a value on a device: float32 or int32 elements, row by row.
type Operand struct {
	cuda.Memory
	Shape tensor.Shape // empty for a scalar
}

// Size is the number of elements.
func (o Operand) Size() int { return o.Shape.TotalSize() }

func (o Operand) columns() int { return o.Shape[len(o.Shape)-1] }

// OnDevice tells whether a device can run o: any of ours, and Gorgonia's sum.
func OnDevice(o gorgonia.Op) bool {
	_, ours := o.(Op)
	return ours || isSum(o)
}

// Enqueue runs o on a device that has it. It panics if the device has not.
func Enqueue(d *cuda.Device, o gorgonia.Op, out Operand, in []Operand) {
	if isSum(o) {
		d.Combine(cuda.Plus, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), 0, 0)
		return
	}
	o.(Op).enqueue(d, out, in)
}

// isSum tells Gorgonia's own addition, by which it accumulates gradients.
func isSum(o gorgonia.Op) bool {
	_, ours := o.(Op)
	return !ours && o.Arity() == 2 && o.String() == "+ false"
}

// Work is the multiplications and additions of o on inputs of the given shapes: those of
// a product, distance or scatter; one per element of the largest value elsewhere, and
// what the functions of the Dirichlet scores take.
func Work(o gorgonia.Op, out tensor.Shape, in []tensor.Shape) float64 {
	largest := out.TotalSize()
	for _, s := range in {
		largest = max(largest, s.TotalSize())
	}
	ours, ok := o.(Op)
	if !ok {
		return float64(largest)
	}
	switch k := ours.kernel.(type) {
	case matMul:
		_, depth := oriented(in[0], k.X)
		return 2 * float64(out.TotalSize()) * float64(depth)
	case nearest:
		return 2 * float64(in[0].TotalSize()) * float64(in[1][0])
	case nearestTaken:
		return 2 * float64(out.TotalSize()) * float64(in[2].TotalSize())
	case take, scatterTaken:
		return float64(out.TotalSize()) // the table is not read whole
	case dirichlet, dirichletWithSlopes:
		return 70 * float64(in[0].TotalSize())
	case dirichletByForm, dirichletTimesG:
		return 95 * float64(in[0].TotalSize())
	}
	return max(float64(largest), networkWork(ours.kernel, out, in))
}

func (nearest) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Nearest(out.Memory, in[0].Memory, cuda.Memory{}, in[1].Memory, out.Shape[0], out.Shape[1], in[1].Shape[1], in[1].Shape[0])
}

func (nearestTaken) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Nearest(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, out.Shape[0], out.Shape[1], in[2].Shape[1], in[2].Shape[0])
}

func (scatterAdd) enqueue(d *cuda.Device, out Operand, in []Operand) {
	s := in[0].Shape
	d.ScatterAdd(out.Memory, in[0].Memory, in[1].Memory, cuda.Memory{}, s[0], s[1], out.Shape[1], out.Shape[0])
}

func (scatterTaken) enqueue(d *cuda.Device, out Operand, in []Operand) {
	s := in[0].Shape
	d.ScatterAdd(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, s[0], s[1], out.Shape[1], out.Shape[0])
}

func (count) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Count(out.Memory, in[0].Memory, in[0].Size(), out.Size())
}

func (o blend) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Combine(cuda.Blend, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), float32(o.Decay), float32(1-o.Decay))
}

func (o normalize) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Normalize(out.Memory, in[0].Memory, in[1].Memory, float32(o.Eps), out.Shape[1], out.Shape[0])
}

func (take) enqueue(d *cuda.Device, out Operand, in []Operand) {
	b := in[1].Size()
	d.Take(out.Memory, in[0].Memory, in[1].Memory, b, out.Size()/b)
}

func (gather) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Take(out.Memory, in[0].Memory, in[1].Memory, in[1].Size(), in[0].columns())
}

func (o mass) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Mass(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].Shape[1], o.K)
}

func (slotSum) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.SlotSum(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].Shape[1], in[1].columns())
}

func (tableSum) enqueue(d *cuda.Device, out Operand, in []Operand) {
	w := in[1].columns()
	d.TableSum(out.Memory, in[0].Memory, in[1].Memory, in[1].Shape[0], w, in[0].Shape[0]/w, in[0].columns())
}

func (o tableScatter) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.TableScatter(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].columns(), o.K, out.columns())
}

func (o matMul) enqueue(d *cuda.Device, out Operand, in []Operand) {
	m, k := oriented(in[0].Shape, o.X)
	d.Product(orientation(o.X, o.Y), out.Memory, in[0].Memory, in[1].Memory, m, out.columns(), k)
}

func (outer) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Outer(out.Memory, in[0].Memory, in[1].Memory, in[0].Shape[0], in[0].columns(), in[1].columns())
}

func (outerLeft) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.OuterSides(out.Memory, cuda.Memory{}, in[0].Memory, cuda.Memory{}, in[1].Memory, out.Shape[0], out.columns(), in[1].columns())
}

func (outerRight) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.OuterSides(cuda.Memory{}, out.Memory, in[0].Memory, in[1].Memory, cuda.Memory{}, out.Shape[0], in[1].columns(), out.columns())
}

func (o dirichlet) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.DirichletScores(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns(), float32(o.Delta))
}

func (dirichletByForm) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.DirichletByForm(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[1].Shape[0], in[1].columns())
}

func (o dirichletByInput) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.DirichletByInput(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns(), float32(o.Delta))
}

func (logSoftmax) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.LogSoftmax(out.Memory, in[0].Memory, out.Size()/out.columns(), out.columns())
}

func (logSoftmaxGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.LogSoftmaxGrad(out.Memory, in[0].Memory, in[1].Memory, out.Size()/out.columns(), out.columns())
}

func (nll) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.NLL(out.Memory, in[0].Memory, in[1].Memory, cuda.Memory{}, in[0].Shape[0], in[0].columns())
}

func (nllGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.NLLGrad(out.Memory, in[1].Memory, cuda.Memory{}, in[2].Memory, out.Shape[0], out.columns())
}

func (weightedNLL) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.NLL(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[0].Shape[0], in[0].columns())
}

func (weightedNLLGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.NLLGrad(out.Memory, in[1].Memory, in[2].Memory, in[3].Memory, out.Shape[0], out.columns())
}

// deviceMaps are the functions of elementwise.
var deviceMaps = map[string]cuda.Map{
	"softplus": cuda.Softplus, "sigmoid": cuda.Sigmoid, "exp": cuda.Exp, "lgamma": cuda.Lgamma,
	"digamma": cuda.Digamma, "trigamma": cuda.Trigamma, "y(1-y)": cuda.LogisticSlope,
}

func (o elementwise) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Map(deviceMaps[o.F], out.Memory, in[0].Memory, out.Size(), 0)
}

func (relu) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Map(cuda.ReLU, out.Memory, in[0].Memory, out.Size(), 0)
}

func (reluGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Combine(cuda.PassAbove, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), 0, 0)
}

func (o scale) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Map(cuda.Scaled, out.Memory, in[0].Memory, out.Size(), float32(o.C))
}

func (o flooredLog) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Map(cuda.FlooredLog, out.Memory, in[0].Memory, out.Size(), float32(o.Floor))
}

func (o flooredLogGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Combine(cuda.DivideAbove, out.Memory, in[0].Memory, in[1].Memory, out.Size(), out.Size(), float32(o.Floor), 0)
}

func (plus) enqueue(d *cuda.Device, out Operand, in []Operand)     { combine(d, cuda.Plus, out, in) }
func (times) enqueue(d *cuda.Device, out Operand, in []Operand)    { combine(d, cuda.Times, out, in) }
func (addRow) enqueue(d *cuda.Device, out Operand, in []Operand)   { combine(d, cuda.Plus, out, in) }
func (timesRow) enqueue(d *cuda.Device, out Operand, in []Operand) { combine(d, cuda.Times, out, in) }
func (stretch) enqueue(d *cuda.Device, out Operand, in []Operand)  { combine(d, cuda.Times, out, in) }

// combine takes in[1] again and again for all of in[0].
func combine(d *cuda.Device, f cuda.Combination, out Operand, in []Operand) {
	d.Combine(f, out.Memory, in[0].Memory, in[1].Memory, out.Size(), in[1].Size(), 0, 0)
}

func (sumRows) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.SumRows(out.Memory, in[0].Memory, in[0].Shape[0], in[0].columns())
}

func (repeatedRow) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Repeat(out.Memory, in[0].Memory, out.Size(), in[0].Size())
}

func (spread) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Repeat(out.Memory, in[0].Memory, out.Size(), 1)
}

func (fill) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Repeat(out.Memory, in[1].Memory, out.Size(), 1)
}

func (sum) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Sum(out.Memory, in[0].Memory, cuda.Memory{}, in[0].Size())
}

func (gathered) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Sum(out.Memory, in[0].Memory, cuda.Memory{}, in[0].Size())
}

func (inner) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Sum(out.Memory, in[0].Memory, in[1].Memory, in[0].Size())
}
