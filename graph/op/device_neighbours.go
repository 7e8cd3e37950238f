package op

import (
	"calibra/graph/cuda"

	"gonum.org/v1/gonum/blas"
)

func (o gaussian) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Gaussian(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns(), in[0].columns(), float32(o.C))
}

func (o pull) enqueue(d *cuda.Device, out Operand, in []Operand) {
	rows, others := oriented(in[0].Shape, o.E)
	d.Pull(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, o.E == blas.Trans, rows, others, out.columns(), float32(2*o.C))
}

func (omitSelf) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.OmitSelf(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, out.Shape[0], out.columns())
}

func (shares) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Shares(out.Memory, in[0].Memory, out.Shape[0], out.columns())
}

func (sharesGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.SharesGrad(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns())
}

func (softmax) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Softmax(out.Memory, in[0].Memory, out.Shape[0], out.columns())
}

func (softmaxGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.SoftmaxGrad(out.Memory, in[0].Memory, in[1].Memory, out.Shape[0], out.columns())
}

func (jensenShannon) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.JensenShannon(out.Memory, in[0].Memory, in[1].Memory, in[0].Size())
}

func (jensenShannonGrad) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.JensenShannonGrad(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[0].Size())
}

// The draws are hashes of seed, step and place, by the same integers on a device: the same
// rows are drawn.
func (o background) enqueue(d *cuda.Device, out Operand, in []Operand) {
	d.Background(out.Memory, in[0].Memory, in[1].Memory, in[2].Memory, in[3].Memory, o.Seed, out.Size(), in[1].Size()-1)
}
