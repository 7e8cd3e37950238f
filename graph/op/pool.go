package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// PlaneMean is the mean of each plane of images (N×C×H×W), an N×C matrix: global
// average pooling.
func PlaneMean() Op { return Op{PlaneMeanOp{}} }

// PlaneMeanOp is the op of [PlaneMean].
type PlaneMeanOp struct{}

func (PlaneMeanOp) Signature() []Kind { return []Kind{Images, Matrix} }

func (PlaneMeanOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][0], in[0][1]}, nil
}

func (PlaneMeanOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		planeMeans(Values[float32](out), Values[float32](in[0]))
	} else {
		planeMeans(Values[float64](out), Values[float64](in[0]))
	}
}

func planeMeans[F Float](mean, x []F) {
	area := len(x) / len(mean)
	for i := range mean {
		mean[i] = sumOf(x[i*area:(i+1)*area]) / F(area)
	}
}

func (PlaneMeanOp) WRT() []bool { return []bool{true} }

func (PlaneMeanOp) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c Grads
	s := in[0].Shape()
	return gorgonia.Nodes{c.Apply(Op{PlaneSpreadOp{s[2], s[3]}}, g)}, c.Err
}

// PlaneSpreadOp gives each place of a plane an equal part of g, the transpose of
// planeMean.
type PlaneSpreadOp struct{ H, W int }

func (PlaneSpreadOp) Signature() []Kind { return []Kind{Matrix, Images} }

func (o PlaneSpreadOp) Shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][0], in[0][1], o.H, o.W}, nil
}

func (o PlaneSpreadOp) Run(out gorgonia.Value, in []gorgonia.Value) {
	if IsFloat32(out) {
		spreadPlanes(Values[float32](out), Values[float32](in[0]))
	} else {
		spreadPlanes(Values[float64](out), Values[float64](in[0]))
	}
}

func spreadPlanes[F Float](out, g []F) {
	area := len(out) / len(g)
	for i, v := range g {
		fillWith(out[i*area:(i+1)*area], v/F(area))
	}
}
